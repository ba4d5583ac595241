#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/own/byte_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(ByteLoops, byte_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

std::int32_t dot(const std::uint8_t* __restrict x, const std::int8_t* __restrict w, std::int64_t n) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int16_t a = x[i], b = w[i];
    sum += a * b;
  }
  return sum;
}

template <class From> void to_float(const From* __restrict from, float* __restrict to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

void add(const float* __restrict part, std::int32_t* __restrict sums, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<std::int32_t>(part[i]);
}

}  // namespace

extern const ByteLoops byte_table = {dot, to_float<std::uint8_t>, to_float<std::int8_t>, add};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const ByteLoops& byte_loops() { return MINNOW_ISA_LOOPS(byte_table); }

}  // namespace minnow::cpu
#endif
