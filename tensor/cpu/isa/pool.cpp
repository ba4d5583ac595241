#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/pool_loops.h>

MINNOW_ISA_TABLE(HalfPoolLoops, half_pool_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

void take_largest(const float* __restrict x, float* __restrict y, std::int32_t* __restrict index, std::int64_t n,
                  std::int32_t position) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = x[i], best = y[i];
    const bool take = (value > best) | (value != value);
    y[i] = take ? value : best;
    index[i] = take ? position : index[i];
  }
}

template <int Step>
MINNOW_HD void take_each(const float* __restrict x, float* __restrict y, std::int32_t* __restrict index, std::int64_t n,
                         std::int32_t position) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = x[i * Step], best = y[i];
    const bool take = (value > best) | (value != value);
    y[i] = take ? value : best;
    index[i] = take ? position + static_cast<std::int32_t>(i) * Step : index[i];
  }
}

void take_from_row(const float* x, int step, float* y, std::int32_t* index, std::int64_t n, std::int32_t position) {
  if (step == 1) take_each<1>(x, y, index, n, position);
  else take_each<2>(x, y, index, n, position);
}

void give_chosen(const float* __restrict grad, const std::int32_t* __restrict index, float* __restrict grad_x,
                 std::int64_t n, std::int32_t position) {
  for (std::int64_t i = 0; i < n; ++i) grad_x[i] += index[i] == position ? grad[i] : 0.0f;
}

MINNOW_HD float widen(std::uint16_t bfloat16) { return kernels::math::host::from_bits(std::uint32_t{bfloat16} << 16); }

void take_largest_half(const std::uint16_t* __restrict x, std::uint16_t* __restrict y, std::int32_t* __restrict index,
                       std::int64_t n, std::int32_t position) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = widen(x[i]), best = widen(y[i]);
    const bool take = (value > best) | (value != value);
    y[i] = take ? x[i] : y[i];
    index[i] = take ? position : index[i];
  }
}

void give_chosen_half(const std::uint16_t* __restrict grad, const std::int32_t* __restrict index,
                      std::uint16_t* __restrict grad_x, std::int64_t n, std::int32_t position) {
  for (std::int64_t i = 0; i < n; ++i) grad_x[i] = index[i] == position ? grad[i] : grad_x[i];
}

}  // namespace

template <> void install_loops<family::Pool>(Kernels& k) { k.pool = {take_largest, take_from_row, give_chosen}; }

const HalfPoolLoops half_pool_table = {take_largest_half, give_chosen_half};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const HalfPoolLoops& half_pool_loops() { return MINNOW_ISA_LOOPS(half_pool_table); }

}  // namespace minnow::cpu
#endif
