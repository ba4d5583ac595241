#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <typeinfo>
#include <minnow/tensor/source_location.h>

namespace minnow::detail {

/// The name of a type without namespaces, for messages: "Conv2d".
std::string type_name(const std::type_info& type);

/// "512 B", "1.5 MB".
std::string format_bytes(std::int64_t bytes);

/// A place in a source file, for messages: "train.cpp:42".
std::string file_and_line(SourceLocation where);

/// Writes a whole text, padded to the stream's width.  Exceptions of the stream's buffer are passed on; `out << text`
/// would swallow them and leave the text incomplete if memory runs out.
void write_text(std::ostream& out, std::string_view text);

}  // namespace minnow::detail
