#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>
#include <minnow/tensor/io/load.h>

namespace minnow::io::detail {

/// A tensor of a file that is to be read, and its name in the result.
struct Selected {
  std::size_t index;
  std::string name;
};

/// What the options choose of a file's names, which are different.  ValueError if nothing has the prefix, or two get
/// the same name.
std::vector<Selected> select(const LoadOptions& options, const std::vector<std::string>& names, const std::string& path,
                             SourceLocation where);

/// "'a', 'b' and 3 more", for messages.
std::string listed(std::span<const std::string> names);

}  // namespace minnow::io::detail
