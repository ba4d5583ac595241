#pragma once

#include <string>
#include <string_view>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// As PyTorch prints a tensor: four decimals, scientific where magnitudes need it, long tensors shortened; shape, dtype
/// and device where they are not the usual ones, and the note.  Waits for the device.
std::string to_string(const In& tensor, std::string_view note = "");

}  // namespace minnow::detail::raw
