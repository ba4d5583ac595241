#pragma once

#include <map>
#include <string>

namespace minnow {

/// Text that is stored with the tensors of a file.
using Metadata = std::map<std::string, std::string>;

}  // namespace minnow
