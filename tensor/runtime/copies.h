#pragma once

namespace minnow::detail {

/// Called when this copy of the library is first used: warns if another file of the process (the program, a shared
/// library, a plugin) has a copy of its own that is in use, since these share no state.
void warn_of_copies() noexcept;

}  // namespace minnow::detail
