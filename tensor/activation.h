#pragma once

#include <cstdint>

namespace minnow {

/// What a linear layer does to its result before it stores it, in the same kernel where a library can.
enum class Activation : std::uint8_t { none, relu, gelu_tanh };

}  // namespace minnow
