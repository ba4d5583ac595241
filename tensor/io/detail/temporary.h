#pragma once

#include <string>

namespace minnow::io::detail {

/// A file under a name that nobody else has, locked as long as one of its descriptors is open: so others see that its
/// writer is alive.
struct Temporary {
  int fd = -1;  // -1: it could not be made, and errno says why
  std::string path;
};
Temporary make_temporary(const std::string& directory, unsigned mode);

/// Removes the temporary files of writers that were killed.  A file that somebody may still write to stays: one that is
/// locked, one of another user, and for a day one of another machine, whose locks need not be seen here.
void sweep_temporaries(const std::string& directory) noexcept;

}  // namespace minnow::io::detail
