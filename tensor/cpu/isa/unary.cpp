#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op, class T> MINNOW_HD auto apply(T x, T p0, T p1) {
  static_cast<void>(p0), static_cast<void>(p1);
  if constexpr (Op::kParams == 0) return Op::value(x);
  else if constexpr (Op::kParams == 1) return Op::value(x, p0);
  else return Op::value(x, p0, p1);
}

/// Whether some element is beyond the reach of the float32 formula.
template <class Op> bool beyond_reach(const float* x, std::int64_t n) {
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i) beyond |= kernels::math::abs(x[i]) <= Op::kReach ? 0 : 1;
  return beyond != 0;
}

template <class Op, class T> void unary(const void* x, void* y, std::int64_t n, double p0, double p1) {
  using Out = decltype(apply<Op>(T(), T(), T()));
  const T* a = static_cast<const T*>(x);
  Out* out = static_cast<Out*>(y);
  const T q0 = parameter<T>(p0);
  const T q1 = parameter<T>(p1);
  if constexpr (std::is_same_v<T, float> && requires { Op::kReach; }) {
    if (beyond_reach<Op>(a, n)) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(Op::value(static_cast<double>(a[i])));
      return;
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = apply<Op>(a[i], q0, q1);
}

template <class T> void install(UnaryLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) table[I] = unary<Op, T>;
    else table[I] = nullptr;
  });
}

}  // namespace

void install_unary(Kernels& k) {
  install<float>(k.unary[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<double>(k.unary[static_cast<int>(Compute::kDouble)]);
    install<std::int64_t>(k.unary[static_cast<int>(Compute::kInt64)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
