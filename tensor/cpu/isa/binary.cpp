#include <minnow/tensor/cpu/isa/power.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class Op> constexpr bool kShifts = kIsOneOf<Op, kernels::LeftShift, kernels::RightShift>;

/// Quotients of smaller integers are computed in int32 or in float, where they are vectors' work and the same; shifts
/// as they are.
template <class Op, class T> MINNOW_HD auto value_of(T x, T y) {
  if constexpr (std::is_same_v<Op, kernels::Pow> && std::is_floating_point_v<T>) {
    return power_of(x, y);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < 4 && Op::kDivides) {
    const float a = y == 0 ? 0.0f : static_cast<float>(x), b = y == 0 ? 1.0f : static_cast<float>(y);
    if constexpr (std::is_same_v<Op, kernels::FloorDivide>)
      return static_cast<std::int32_t>(kernels::math::floor(a / b));
    else return static_cast<std::int32_t>(Op::of_mod(a, b, a - kernels::math::trunc(a / b) * b));
  } else {
    using W = std::conditional_t<kShifts<Op> || (sizeof(T) == 4 && Op::kDivides), T, Wide<T>>;
    return Op::value(static_cast<W>(x), static_cast<W>(y));
  }
}

template <class Op, class T> bool binary(const void* a, const void* b, void* out, std::int64_t n) {
  using Out = ResultOf<decltype(value_of<Op>(T(), T())), T>;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  Out* z = static_cast<Out*>(out);
  if constexpr (std::is_floating_point_v<T> && requires { Op::kByFmod; }) {
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
  } else {
    int zeros = 0;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (Op::kDivides && std::is_integral_v<T>) zeros |= y[i] == 0 ? 1 : 0;
      z[i] = static_cast<Out>(value_of<Op>(x[i], y[i]));
    }
    return zeros == 0;
  }
}

/// Loops over elements of T that are integers, without conversion; not of powers, which gain nothing.  Of bool not of
/// sums, whose 2 is true.
template <class T, bool IsBool> void install_own(BinaryLoop* table) {
  kernels::for_each(kernels::BinaryOps{}, [&]<class Op, int I>() {
    constexpr bool kNotOfBool = !Op::kTakesBool || std::is_same_v<Op, kernels::Add>;
    constexpr bool kSlow = std::is_same_v<Op, kernels::Pow>;
    if constexpr (takes<std::int64_t>(Op::kKind) && !kSlow && !(IsBool && kNotOfBool)) table[I] = binary<Op, T>;
  });
}

/// The same if one operand is a single element, of operations that take less time than to fill a row with it.
template <class Op, class T, int One> bool binary_one(const void* a, const void* b, void* out, std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  using Out = ResultOf<decltype(Op::value(T(), T())), T>;
  Out* z = static_cast<Out*>(out);
  const T one = One == 0 ? *x : *y;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) z[i] = One == 0 ? Op::value(one, y[i]) : Op::value(x[i], one);
  return true;
}

template <class Op, class T>
void ternary(const void* a, const void* b, const void* c, void* out, std::int64_t n, double p, bool one_c) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T* z = static_cast<const T*>(c);
  T* r = static_cast<T*>(out);
  const T q = parameter<T>(p), one = *z;
  if (one_c) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) r[i] = Op::value(x[i], y[i], one, q);
    return;
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) r[i] = Op::value(x[i], y[i], z[i], q);
}

template <class T> void install(Kernels& k, Compute compute) {
  using namespace kernels;
  const int type = static_cast<int>(compute);
  for_each(BinaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) k.binary[type][I] = binary<Op, T>;
    if constexpr (takes<T>(Op::kKind) && (Op::kKind == Kind::kPredicate ||
                                          kIsOneOf<Op, Add, Sub, Mul, Div, Maximum, Minimum, Fmax, Fmin, Prelu,
                                                   BitwiseAnd, BitwiseOr, BitwiseXor, LeftShift, RightShift>)) {
      k.binary_one[0][type][I] = binary_one<Op, T, 0>;
      k.binary_one[1][type][I] = binary_one<Op, T, 1>;
    }
  });
  for_each(TernaryOps{}, [&]<class Op, int I>() {
    if constexpr (takes<T>(Op::kKind)) k.ternary[type][I] = ternary<Op, T>;
  });
}

/// x with the sign of y, of either half.
[[maybe_unused]] bool half_copysign(const void* x, const void* y, void* out, std::int64_t n) {
  const auto *a = static_cast<const std::uint16_t*>(x), *b = static_cast<const std::uint16_t*>(y);
  auto* r = static_cast<std::uint16_t*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) r[i] = static_cast<std::uint16_t>((a[i] & 0x7fff) | (b[i] & 0x8000));
  return true;
}

/// Loops over halves as they are, of operations that take less time than a conversion of rows.
template <class S> void install_halves(Kernels& k, DType dtype) {
  using namespace kernels;
  const int type = own_loop_type(dtype);
  for_each(BinaryOps{}, [&]<class Op, int I>() {
    if constexpr (kIsOneOf<Op, Add, Sub, Mul, Div, Maximum, Minimum, Fmax, Fmin, Prelu, PreluWeight>)
      k.binary[type][I] = [](const void* a, const void* b, void* out, std::int64_t n) {
        map_halves<S>([](float x, float y) { return Op::value(x, y); }, out, n, a, b);
        return true;
      };
  });
  for_each(TernaryOps{}, [&]<class Op, int I>() {
    k.ternary[type][I] = [](const void* a, const void* b, const void* c, void* out, std::int64_t n, double p, bool) {
      const float q = parameter<float>(p);
      map_halves<S>([q](float x, float y, float z) { return Op::value(x, y, z, q); }, out, n, a, b, c);
    };
  });
}

}  // namespace

template <> void install_loops<family::Binary>(Kernels& k) {
  install<float>(k, Compute::kFloat);
  install<double>(k, Compute::kDouble);
  install<std::int64_t>(k, Compute::kInt64);
  if constexpr (kHalves) {
    install_halves<Half>(k, DType::float16);
    install_halves<std::uint16_t>(k, DType::bfloat16);
  }
  if constexpr (kWhole) {
    for (const DType half : {DType::float16, DType::bfloat16})
      k.binary[own_loop_type(half)][kernels::kIndexOf<kernels::BinaryOps, kernels::Copysign>] = half_copysign;
    install_own<std::int32_t, false>(k.binary[loop_type(DType::int32)]);
    install_own<std::int16_t, false>(k.binary[loop_type(DType::int16)]);
    install_own<std::int8_t, false>(k.binary[loop_type(DType::int8)]);
    install_own<std::uint8_t, false>(k.binary[loop_type(DType::uint8)]);
    install_own<std::uint8_t, true>(k.binary[loop_type(DType::bool_)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
