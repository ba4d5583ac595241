#pragma once

#include <cstdint>

namespace minnow {

/// What linear() and conv2d() apply to their results before they are stored, in the same kernel if possible.
enum class Activation : std::uint8_t { none, relu, gelu_tanh };

}  // namespace minnow
