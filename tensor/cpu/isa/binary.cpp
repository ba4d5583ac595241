#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op, class T> bool binary(const void* a, const void* b, void* out, std::int64_t n) {
  using Out = decltype(Op::value(T(), T()));
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  Out* z = static_cast<Out*>(out);
  if constexpr (Op::kDivides && std::is_integral_v<T>) {
    bool whole = true;
    for (std::int64_t i = 0; i < n; ++i) {
      whole = whole && y[i] != 0;
      z[i] = Op::value(x[i], y[i]);
    }
    return whole;
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) z[i] = Op::value(x[i], y[i]);
    return true;
  }
}

template <class Op, class T>
void ternary(const void* a, const void* b, const void* c, void* out, std::int64_t n, double p) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T* z = static_cast<const T*>(c);
  T* r = static_cast<T*>(out);
  const T q = parameter<T>(p);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) r[i] = Op::value(x[i], y[i], z[i], q);
}

template <class T> void install(BinaryLoop* two, TernaryLoop* three) {
  kernels::for_each(kernels::BinaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) two[I] = binary<Op, T>;
    else two[I] = nullptr;
  });
  kernels::for_each(kernels::TernaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) three[I] = ternary<Op, T>;
    else three[I] = nullptr;
  });
}

}  // namespace

void install_binary(Kernels& k) {
  install<float>(k.binary[static_cast<int>(Compute::kFloat)], k.ternary[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<double>(k.binary[static_cast<int>(Compute::kDouble)], k.ternary[static_cast<int>(Compute::kDouble)]);
    install<std::int64_t>(k.binary[static_cast<int>(Compute::kInt64)], k.ternary[static_cast<int>(Compute::kInt64)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
