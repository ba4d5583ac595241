#pragma once

#include "tensor/io_support.h"

#ifndef _WIN32
#include <cstdlib>
#include <unistd.h>

namespace minnow::test {

/// Where the folders of these tests are: fsync takes no time in memory.
inline const bool folders_in_memory = access("/dev/shm", W_OK) == 0 && setenv("TMPDIR", "/dev/shm", 0) == 0;

}  // namespace minnow::test
#endif
