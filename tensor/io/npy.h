#pragma once

#include <string>
#include <minnow/tensor/device.h>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// Reads a .npy file of NumPy (versions 1 to 3) to `device`: bool and numbers of our dtypes, in either byte order, in C
/// or Fortran order; the result is contiguous.
///
/// FormatError, with what was found and expected, for a damaged or longer file, Python objects, structures, text, and
/// dtypes or ranks that Tensor does not have; IoError; DeviceError; OutOfMemoryError.
Tensor load_npy(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());

/// Writes a tensor on any device, with any strides, as a .npy file in C order, atomically.  DTypeError for bfloat16,
/// which NumPy does not have; IoError.
void save_npy(const Tensor& tensor, const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow
