#pragma once

#include <map>
#include <string>
#include <minnow/tensor/device.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

/// Free text that travels with the tensors of a file.
using Metadata = std::map<std::string, std::string>;

/// Writes tensors as a safetensors file, which the Python package `safetensors` reads.  Tensors of any device
/// and strides are copied home; gradients are not written.  The file appears whole or not at all: until it is
/// complete and flushed, a file that was there before stays as it is.
///
/// ValueError for an undefined tensor or a name that is not UTF-8 or is reserved ("__metadata__"); IoError
/// when the system refuses to write.
void save(const StateDict& tensors, const std::string& path, const Metadata& metadata = {},
          SourceLocation where = SourceLocation::current());

/// Reads a safetensors file, in the order of its data.  Files never hold a device: the tensors come to
/// `device`. The whole file is checked before anything is allocated; it is not mapped, so it may change
/// later.
///
/// FormatError, with what was found and what was expected, for a file that is not valid or holds a dtype or
/// rank that Tensor does not; IoError when it cannot be read; DeviceError when this machine lacks the device.
StateDict load(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());

/// The metadata of a safetensors file.  Errors as of load.
Metadata load_metadata(const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow
