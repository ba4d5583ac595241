#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/products/quantize_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(QuantizeLoops, quantize_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

constexpr int kLanes = 64;  // of several vectors, so that a loop does not wait for the last result

void range(const float* x, std::int64_t n, float* least, float* most) {
  float low[kLanes] = {}, high[kLanes] = {}, bad[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      const float v = x[i + l];
      low[l] = v < low[l] ? v : low[l];
      high[l] = v > high[l] ? v : high[l];
      bad[l] += v - v;  // 0, or NaN
    }
  for (int l = 0; i < n; ++i, ++l) {
    low[l] = x[i] < low[l] ? x[i] : low[l];
    high[l] = x[i] > high[l] ? x[i] : high[l];
    bad[l] += x[i] - x[i];
  }
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l) {
      low[l] = low[l + half] < low[l] ? low[l + half] : low[l];
      high[l] = high[l + half] > high[l] ? high[l + half] : high[l];
      bad[l] += bad[l + half];
    }
  *least = low[0] + bad[0];
  *most = high[0] + bad[0];
}

void round(const float* __restrict x, std::uint8_t* __restrict bytes, std::int64_t n, float factor, int zero,
           int highest) {
  // In a float between 2^23 and 2^24 the last bit counts ones: adding 1.5 * 2^23 rounds to the nearest integer.
  constexpr float kOnes = 12582912.0f;
  const auto low = static_cast<float>(-zero), high = static_cast<float>(highest - zero);
  std::int32_t base;
  __builtin_memcpy(&base, &kOnes, sizeof base);
  base -= zero;
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i] * factor;
    v = v < low ? low : v;
    v = v > high ? high : v;
    v += kOnes;
    std::int32_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    bytes[i] = static_cast<std::uint8_t>(bits - base);
  }
}

template <bool Add, bool Bias, bool Relu>
void finish_row(const std::int32_t* __restrict sums, const QuantizedRow& row, float* __restrict y, std::int64_t n) {
  const std::int32_t* const __restrict columns = row.columns;
  const float* const __restrict scale = row.scale, * const __restrict bias = row.bias;
  const float by = row.by;
  const std::int32_t zero = row.zero;
  for (std::int64_t j = 0; j < n; ++j) {
    float v = static_cast<float>(sums[j] - zero * columns[j]) * (by * scale[j]);
    if constexpr (Bias) v += bias[j];
    if constexpr (Add) v += y[j];
    if constexpr (Relu) v = v < 0 ? 0 : v;
    y[j] = v;
  }
}

void finish(const std::int32_t* sums, const QuantizedRow& row, float* y, std::int64_t n) {
  if (row.add && row.bias != nullptr) finish_row<true, true, false>(sums, row, y, n);
  else if (row.add) finish_row<true, false, false>(sums, row, y, n);
  else if (row.bias == nullptr) finish_row<false, false, false>(sums, row, y, n);
  else if (row.relu) finish_row<false, true, true>(sums, row, y, n);
  else finish_row<false, true, false>(sums, row, y, n);
}

}  // namespace

const QuantizeLoops quantize_table = {range, round, finish};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const QuantizeLoops& quantize_loops() { return MINNOW_ISA_LOOPS(quantize_table); }

}  // namespace minnow::cpu
#endif
