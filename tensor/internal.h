#pragma once

// For the library's own sources, and no header of users': what minnow::detail declares is found without the prefix.

namespace minnow {
namespace detail {}
using namespace detail;
}  // namespace minnow
