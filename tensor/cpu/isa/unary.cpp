#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/kernels/apply.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Whether some element is outside of the range of the float32 formula.
template <class Op> bool any_needs_double(const float* x, std::int64_t n) {
  int exceeds = 0;
  for (std::int64_t i = 0; i < n; ++i) exceeds |= kernels::math::abs(x[i]) <= Op::kReach ? 0 : 1;
  return exceeds != 0;
}

template <class Op, class T> void unary(const void* x, void* y, std::int64_t n, double p0, double p1) {
  using Out = decltype(kernels::Value::of<Op>(T(), T(), T()));
  const T* a = static_cast<const T*>(x);
  Out* out = static_cast<Out*>(y);
  const T q0 = parameter<T>(p0);
  const T q1 = parameter<T>(p1);
  if constexpr (std::is_same_v<T, float> && requires { Op::kReach; }) {
    if (any_needs_double<Op>(a, n)) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(Op::value(static_cast<double>(a[i])));
      return;
    }
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = kernels::Value::of<Op>(a[i], q0, q1);
}

template <class T> void install(UnaryLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) table[I] = unary<Op, T>;
    else table[I] = nullptr;
  });
}

}  // namespace

template <> void install_loops<family::Unary>(Kernels& k) {
  install<float>(k.unary[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<double>(k.unary[static_cast<int>(Compute::kDouble)]);
    install<std::int64_t>(k.unary[static_cast<int>(Compute::kInt64)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
