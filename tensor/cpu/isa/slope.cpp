#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Slope or curve of a functor.
template <class Op, bool Curve, class T> MINNOW_HD T derivative(T s, T p0, T p1) {
  static_cast<void>(p0), static_cast<void>(p1);
  if constexpr (Curve) {
    if constexpr (Op::kParams == 0) return Op::curve(s);
    else if constexpr (Op::kParams == 1) return Op::curve(s, p0);
    else return Op::curve(s, p0, p1);
  } else {
    if constexpr (Op::kParams == 0) return Op::slope(s);
    else if constexpr (Op::kParams == 1) return Op::slope(s, p0);
    else return Op::slope(s, p0, p1);
  }
}

template <class Op, bool Curve, class T>
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
        y[i] = g[i] * static_cast<float>(derivative<Op, Curve>(static_cast<double>(s[i]), p0, p1));
      }
      return;
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = g[i] * derivative<Op, Curve>(s[i], q0, q1);
}

template <bool Curve, class T> void install(SlopeLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kOrder >= (Curve ? 2 : 1)) table[I] = slope<Op, Curve, T>;
    else table[I] = nullptr;
  });
}

}  // namespace

void install_slope(Kernels& k) {
  install<false, float>(k.slope[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<false, double>(k.slope[static_cast<int>(Compute::kDouble)]);
    install<true, float>(k.curve[static_cast<int>(Compute::kFloat)]);
    install<true, double>(k.curve[static_cast<int>(Compute::kDouble)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
