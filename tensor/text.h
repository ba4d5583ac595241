#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <typeinfo>

namespace minnow::detail {

/// "Conv2d", without namespaces: how messages name a type of the user's.
std::string type_name(const std::type_info& type);

/// Writes a whole text, padded to the stream's width; what the stream's buffer throws is not swallowed, as `out << text`
/// would do, which leaves a text cut short when memory ends.
void write_text(std::ostream& out, std::string_view text);

}  // namespace minnow::detail
