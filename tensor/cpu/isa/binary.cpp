#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op, class T> bool binary(const void* a, const void* b, void* out, std::int64_t n) {
  using Out = decltype(Op::value(T(), T()));
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  Out* z = static_cast<Out*>(out);
  if constexpr (std::is_same_v<T, float> && requires { Op::kByFmod; }) {
    // libm's fmod takes a hundred times as long.
    constexpr std::int64_t kBlock = 256;
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t end = i + kBlock < n ? i + kBlock : n;
      int far = 0;
      for (std::int64_t k = i; k < end; ++k) far |= kernels::math::host::is_far(x[k], y[k]) ? 1 : 0;
      if (far != 0) {
        for (std::int64_t k = i; k < end; ++k) z[k] = Op::value(x[k], y[k]);
      } else {
#pragma GCC ivdep
        for (std::int64_t k = i; k < end; ++k)
          z[k] = Op::of_mod(x[k], y[k], kernels::math::host::fmod_near(x[k], y[k]));
      }
    }
    return true;
  } else if constexpr (Op::kDivides && std::is_integral_v<T>) {
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

/// The same if one operand is a single element.
template <class Op, int One> bool binary_one(const void* a, const void* b, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  float* z = static_cast<float*>(out);
  const float one = One == 0 ? *x : *y;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) z[i] = One == 0 ? Op::value(one, y[i]) : Op::value(x[i], one);
  return true;
}

template <class Op, class... Ops> constexpr bool kIsOneOf = (std::is_same_v<Op, Ops> || ...);

void install_one(BinaryLoop (*one)[kernels::BinaryOps::kSize]) {
  kernels::for_each(kernels::BinaryOps{}, [&]<class Op, int I>() {
    if constexpr (kIsOneOf<Op, kernels::Add, kernels::Sub, kernels::Mul, kernels::Div>) {
      one[0][I] = binary_one<Op, 0>;
      one[1][I] = binary_one<Op, 1>;
    } else {
      one[0][I] = one[1][I] = nullptr;
    }
  });
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

template <> void install_loops<family::Binary>(Kernels& k) {
  install_one(k.binary_one);
  install<float>(k.binary[static_cast<int>(Compute::kFloat)], k.ternary[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<double>(k.binary[static_cast<int>(Compute::kDouble)], k.ternary[static_cast<int>(Compute::kDouble)]);
    install<std::int64_t>(k.binary[static_cast<int>(Compute::kInt64)], k.ternary[static_cast<int>(Compute::kInt64)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
