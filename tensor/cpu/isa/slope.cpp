#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/kernels/apply.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Form is kernels::Slope or kernels::Curve.
template <class Op, class Form, class T>
void slope(const void* grad, const void* saved, void* out, std::int64_t n, double p0, double p1) {
  const T* g = static_cast<const T*>(grad);
  const T* s = static_cast<const T*>(saved);
  T* y = static_cast<T*>(out);
  const T q0 = static_cast<T>(p0);
  const T q1 = static_cast<T>(p1);
  if constexpr (std::is_same_v<T, float> && Op::kSaves == kernels::Saves::kInput && requires { Op::kReach; }) {
    int beyond = 0;
    for (std::int64_t i = 0; i < n; ++i) beyond |= kernels::math::abs(s[i]) <= Op::kReach ? 0 : 1;
    if (beyond != 0) {
      for (std::int64_t i = 0; i < n; ++i) {
        y[i] = g[i] * static_cast<float>(Form::template of<Op>(static_cast<double>(s[i]), p0, p1));
      }
      return;
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = g[i] * Form::template of<Op>(s[i], q0, q1);
}

template <class Form, class T> void install(SlopeLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kOrder >= (std::is_same_v<Form, kernels::Curve> ? 2 : 1)) table[I] = slope<Op, Form, T>;
    else table[I] = nullptr;
  });
}

}  // namespace

template <> void install_loops<family::Slope>(Kernels& k) {
  install<kernels::Slope, float>(k.slope[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<kernels::Slope, double>(k.slope[static_cast<int>(Compute::kDouble)]);
    install<kernels::Curve, float>(k.curve[static_cast<int>(Compute::kFloat)]);
    install<kernels::Curve, double>(k.curve[static_cast<int>(Compute::kDouble)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
