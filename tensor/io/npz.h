#pragma once

#include <string>
#include <minnow/tensor/device.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

/// Reads the arrays of a .npz file (a zip archive of .npy files, stored or deflated) by name, to `device`.  Checksums
/// are compared.  The errors of load_npy().
StateDict load_npz(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());
/// Some of the arrays, or under other names: as load().
StateDict load_npz(const std::string& path, const LoadOptions& options,
                   SourceLocation where = SourceLocation::current());

struct NpzOptions {
  bool compress = false;  ///< as numpy.savez_compressed
};

/// Writes tensors as numpy.savez does, atomically.  ValueError for an undefined tensor, a name that is empty or not
/// UTF-8, and for 4 GiB or more, or 65535 tensors; DTypeError for bfloat16; IoError.
void save_npz(const StateDict& tensors, const std::string& path, const NpzOptions& options = {},
              SourceLocation where = SourceLocation::current());

}  // namespace minnow
