#include <minnow/tensor/cpu/isa/avx512_math.h>
#include <minnow/tensor/cpu/isa/power.h>
#include <minnow/tensor/cpu/isa/roots.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/kernels/apply.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op, class T> void unary(const void* x, void* y, std::int64_t n, double p0, double p1) {
  using Out = decltype(kernels::Value::of<Op>(T(), T(), T()));
  const T* a = static_cast<const T*>(x);
  Out* out = static_cast<Out*>(y);
  const T q0 = parameter<T>(p0);
  const T q1 = parameter<T>(p1);
  if constexpr (std::is_same_v<Op, kernels::Sqrt>)
    return map_roots(a, out, n, [](T v) { return kernels::math::sqrt(v); });
  if constexpr (std::is_same_v<Op, kernels::PowScalar> && std::is_floating_point_v<T>) {
    if (q0 == T(0.5)) return map_roots(a, out, n, [](T v) { return positive_root(v); });
    return with_power(q0, [&](const auto& power) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = power(a[i]);
    });
  }
  if constexpr (requires { Op::kReach; }) {
    if (kernels::any_beyond<Op>(a, n)) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = kernels::apply<kernels::Value, Op>(a[i], q0, q1);
      return;
    }
  }
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Op, kernels::Erfinv> && std::is_same_v<T, double>) return map_erfinv(a, out, n);
  if constexpr (requires { lanes_of(Op(), load_lanes(a)); }) return map_lanes<Op>(a, out, n);
#endif
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = kernels::Value::of<Op>(a[i], q0, q1);
}

template <class T> void install(UnaryLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) table[I] = unary<Op, T>;
  });
}

/// Loops over elements of T that are integers, without conversion, for operations that need none.
template <class T> void install_own(UnaryLoop* table) {
  kernels::for_each(kernels::UnaryOps{}, [&]<class Op, int I>() {
    constexpr bool kInOwnType = Op::kParams == 0 || std::is_same_v<Op, kernels::Clamp>;
    if constexpr (takes<std::int64_t>(Op::kKind) && kInOwnType) table[I] = unary<Op, T>;
  });
}

/// x, without its sign or with the opposite one, of either half.
template <bool Negates> void half_bits(const void* x, void* y, std::int64_t n, double, double) {
  const auto* a = static_cast<const std::uint16_t*>(x);
  auto* out = static_cast<std::uint16_t*>(y);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint16_t>(Negates ? a[i] ^ 0x8000 : a[i] & 0x7fff);
}

/// Loops over halves of S as they are, of operations that take less time than a conversion of rows.
template <class S> void install_halves(UnaryLoop* table) {
  using namespace kernels;
  for_each(UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (kIsOneOf<Op, Relu, Hardtanh, Relu6, LeakyRelu, Hardswish, Hardsigmoid, Softshrink, Hardshrink,
                           Threshold, Sqrt, Rsqrt, Square, Reciprocal, Floor, Ceil, Round, Trunc, Frac, Clamp,
                           PowScalar>)
      table[I] = [](const void* x, void* y, std::int64_t n, double p0, double p1) {
        const float q0 = parameter<float>(p0), q1 = parameter<float>(p1);
        if constexpr (std::is_same_v<Op, PowScalar>)
          with_power(q0, [&](const auto& power) { map_halves<S>(power, y, n, x); });
        else map_halves<S>([q0, q1](float v) { return Value::of<Op>(v, q0, q1); }, y, n, x);
      };
  });
}

}  // namespace

template <> void install_loops<family::Unary>(Kernels& k) {
  install<float>(k.unary[static_cast<int>(Compute::kFloat)]);
  install<double>(k.unary[static_cast<int>(Compute::kDouble)]);
  if constexpr (kHalves) {
    install_halves<Half>(k.unary[own_loop_type(DType::float16)]);
    install_halves<std::uint16_t>(k.unary[own_loop_type(DType::bfloat16)]);
  }
  if constexpr (kWhole) {
    for (const DType half : {DType::float16, DType::bfloat16}) {
      k.unary[own_loop_type(half)][kernels::kIndexOf<kernels::UnaryOps, kernels::Neg>] = half_bits<true>;
      k.unary[own_loop_type(half)][kernels::kIndexOf<kernels::UnaryOps, kernels::Abs>] = half_bits<false>;
    }
    install<std::int64_t>(k.unary[static_cast<int>(Compute::kInt64)]);
    install_own<std::int32_t>(k.unary[loop_type(DType::int32)]);
    install_own<std::int16_t>(k.unary[loop_type(DType::int16)]);
    install_own<std::int8_t>(k.unary[loop_type(DType::int8)]);
    install_own<std::uint8_t>(k.unary[loop_type(DType::uint8)]);
    install_own<std::uint8_t>(k.unary[loop_type(DType::bool_)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
