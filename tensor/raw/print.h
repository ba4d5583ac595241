#pragma once

#include <string>
#include <string_view>
#include <minnow/tensor/in.h>

namespace minnow::raw {

/// As PyTorch prints a tensor: four decimals, scientific where magnitudes need it, long tensors shortened; shape, dtype
/// and device where they are not the usual ones, and the note.  Waits for the device.
std::string to_string(const In& tensor, std::string_view note = "");

}  // namespace minnow::raw
