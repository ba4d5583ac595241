#pragma once

#include <string>

namespace minnow::io::detail {

/// What a user may do about an errno; the last line of an error.
const char* hint_of(int error);

/// A file with a unique name.  It is locked as long as one of its descriptors is open, which shows that its writer
/// runs.
struct Temporary {
  int fd = -1;  // -1 if it could not be created; errno has the reason
  std::string path;
};
Temporary make_temporary(const std::string& directory, unsigned mode);

/// Removes the temporary files of killed writers.  It leaves files that are locked, those of other users, and for a day
/// those of other machines, whose locks may not be visible here.
void sweep_temporaries(const std::string& directory) noexcept;

}  // namespace minnow::io::detail
