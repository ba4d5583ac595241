#pragma once

#include <map>
#include <string>
#include <minnow/tensor/device.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

/// Text that is stored with the tensors of a file.
using Metadata = std::map<std::string, std::string>;

/// Writes a safetensors file, which the Python package `safetensors` can read.  Tensors on any device and with any
/// strides are copied to the host; gradients are not written.  The file is replaced atomically: until the new one is
/// complete and flushed, an old file stays as it is.
///
/// ValueError for an undefined tensor, a name that is not UTF-8, or the reserved name "__metadata__"; IoError if the
/// file cannot be written.
void save(const StateDict& tensors, const std::string& path, const Metadata& metadata = {},
          SourceLocation where = SourceLocation::current());

/// Reads a safetensors file, in the order of its data, to `device` (files do not store devices).  The whole header is
/// checked before anything is allocated.  The file is not mapped, so it may change later.
///
/// FormatError, with what was found and what was expected, for a file that is not valid or has a dtype or rank that
/// Tensor does not support; IoError if it cannot be read; DeviceError if the device does not exist; OutOfMemoryError.
StateDict load(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());

/// The metadata of a safetensors file.  The same errors as load().
Metadata load_metadata(const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow
