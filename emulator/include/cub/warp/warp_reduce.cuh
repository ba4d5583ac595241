#pragma once

#include <emulator/device.h>

namespace cub {

/// CUB's reduction over the lanes of a (logical) warp, in CUB's order.  Lane 0 gets the result.
template <class T, int kLanes = 32, int = 0> class WarpReduce {
  static_assert(kLanes >= 1 && kLanes <= 32);

 public:
  struct TempStorage {};

  explicit WarpReduce(TempStorage&) {}

  template <class Op>
  T Reduce(T input, Op op, int valid = kLanes, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const int lane = emulator::lane(), own = lane % kLanes;
    const int last = lane - own + valid;
    const unsigned ones = kLanes == 32 ? 0xffffffffu : (1u << (kLanes % 32)) - 1;
    const unsigned mask = ones << (lane - own);
    T total = input;
    for (int step = 1; step < kLanes; step *= 2) {
      const int from = lane + step;
      const T other = emulator::shuffle({file, line}, mask, total, from < last ? from : lane);
      if (from < last) total = op(total, other);
    }
    return total;
  }
  T Sum(T input, int valid = kLanes, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Reduce(
        input, [](T a, T b) { return static_cast<T>(a + b); }, valid, file, line);
  }
};

}  // namespace cub
