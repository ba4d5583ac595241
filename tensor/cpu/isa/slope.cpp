#include <minnow/tensor/cpu/isa/power.h>
#include <minnow/tensor/kernels/apply.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op, class T>
void slope(const void* grad, const void* saved, void* out, std::int64_t n, double p0, double p1) {
  const T* g = static_cast<const T*>(grad);
  const T* s = static_cast<const T*>(saved);
  T* y = static_cast<T*>(out);
  const T q0 = static_cast<T>(p0);
  const T q1 = static_cast<T>(p1);
  if constexpr (Op::kSaves == kernels::Saves::kInput && requires { Op::kReach; }) {
    if (kernels::any_beyond<Op>(s, n)) {
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = kernels::by_slope(g[i], kernels::apply<kernels::Slope, Op>(s[i], q0, q1));
      return;
    }
  }
  if constexpr (std::is_same_v<Op, kernels::PowScalar>) {
    if (q0 != T(0)) {
      return with_power(q0 - T(1), [&](const auto& power) {
        for (std::int64_t i = 0; i < n; ++i) y[i] = kernels::by_slope(g[i], q0 * power(s[i]));
      });
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = kernels::by_slope(g[i], kernels::Slope::of<Op>(s[i], q0, q1));
}

template <class T> void install(SlopeLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kOrder >= 1) table[I] = slope<Op, T>;
  });
}

}  // namespace

template <> void install_loops<family::Slope>(Kernels& k) {
  install<float>(k.slope[static_cast<int>(Compute::kFloat)]);
  install<double>(k.slope[static_cast<int>(Compute::kDouble)]);
}

}  // namespace minnow::cpu::MINNOW_ISA
