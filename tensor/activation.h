#pragma once

#include <cstdint>

namespace minnow {

/// What linear() applies to its result before it is stored, in the same kernel if the library can.
enum class Activation : std::uint8_t { none, relu, gelu_tanh };

}  // namespace minnow
