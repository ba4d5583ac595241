#include <minnow/tensor/cpu/isa/power.h>
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
  if constexpr (Op::kSaves == kernels::Saves::kInput && requires { Op::kReach; }) {
    if (kernels::any_beyond<Op>(s, n)) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = g[i] * kernels::apply<Form, Op>(s[i], q0, q1);
      return;
    }
  }
  if constexpr (std::is_same_v<Op, kernels::PowScalar>) {
    constexpr bool kFirst = std::is_same_v<Form, kernels::Slope>;
    const T factor = kFirst ? q0 : q0 * (q0 - T(1));
    if (factor != T(0)) {
      return with_power(kFirst ? q0 - T(1) : q0 - T(2), [&](const auto& power) {
        for (std::int64_t i = 0; i < n; ++i) y[i] = g[i] * (factor * power(s[i]));
      });
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = g[i] * Form::template of<Op>(s[i], q0, q1);
}

template <class Form, class T> void install(SlopeLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kOrder >= (std::is_same_v<Form, kernels::Curve> ? 2 : 1)) table[I] = slope<Op, Form, T>;
  });
}

}  // namespace

template <> void install_loops<family::Slope>(Kernels& k) {
  install<kernels::Slope, float>(k.slope[static_cast<int>(Compute::kFloat)]);
  install<kernels::Slope, double>(k.slope[static_cast<int>(Compute::kDouble)]);
  if constexpr (kVectorBytes == 16) {  // second derivatives are rare
    install<kernels::Curve, float>(k.curve[static_cast<int>(Compute::kFloat)]);
    install<kernels::Curve, double>(k.curve[static_cast<int>(Compute::kDouble)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
