#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>
#include <minnow/tensor/kernels/unary_traits.h>

namespace minnow::detail::kernels {

/// Traits of a binary functor: value(a, b).  kDivides: for integers with b = 0 the functor gives 0 and the caller
/// reports the error.  Gradients are composed of operations in autograd.
template <Kind K = Kind::kNumeric, bool Divides = false> struct Binary {
  static constexpr Kind kKind = K;
  static constexpr bool kDivides = Divides;
  static constexpr bool kTakesBool = true;  // false: two bools are refused, as in PyTorch
};

namespace detail {

/// Integer arithmetic wraps around: it is done in unsigned integers.
MINNOW_HD std::uint64_t wrap(std::int64_t x) { return static_cast<std::uint64_t>(x); }
MINNOW_HD std::int64_t unwrap(std::uint64_t x) { return static_cast<std::int64_t>(x); }

/// a / b rounded towards 0; 0 if b = 0; the lowest integer / -1 wraps around.  32 bits divide as double, where
/// quotients are exact enough, because vectors have no division of integers.
template <class T> MINNOW_HD T quotient(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) == 4) {
    const T safe = ((b == 0) | (b == -1)) ? 1 : b;
    const T q = static_cast<T>(static_cast<double>(a) / static_cast<double>(safe));
    const T negative = static_cast<T>(U{0} - static_cast<U>(a));
    return b == 0 ? 0 : (b == -1 ? negative : q);
  } else {
    if (b == 0) return 0;
    return b == -1 ? static_cast<T>(U{0} - static_cast<U>(a)) : a / b;
  }
}
template <class T> MINNOW_HD T remainder(T a, T b) {
  if constexpr (sizeof(T) == 4) return ((b == 0) | (b == -1)) ? 0 : a - quotient(a, b) * b;
  else return b == 0 || b == -1 ? 0 : a % b;
}

/// x shifted by K if b has that bit.
template <bool Left, int K, class U> MINNOW_HD U shift_step(U x, U b) {
  return (b & K) != 0 ? static_cast<U>(Left ? x << K : x >> K) : x;
}

/// a 2^b, or a / 2^b rounded down.  By unsigned integers, and for small ones by powers of two, as vectors can.
template <bool Left, class T> MINNOW_HD T shifted(T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = std::numeric_limits<U>::digits;
  const U sign = Left || std::is_unsigned_v<T> ? U{0} : static_cast<U>(a >> (kBits - 1)), by = static_cast<U>(b);
  U x = static_cast<U>(a) ^ sign;
  if constexpr (sizeof(T) >= 4) {
    x = Left ? x << (by & (kBits - 1)) : x >> (by & (kBits - 1));
  } else {
    x = shift_step<Left, 1>(x, by);
    x = shift_step<Left, 2>(x, by);
    x = shift_step<Left, 4>(x, by);
    if constexpr (kBits > 8) x = shift_step<Left, 8>(x, by);
  }
  return static_cast<T>(((by & static_cast<U>(-kBits)) != 0 ? U{0} : x) ^ sign);
}

}  // namespace detail

/// a + b.
struct Add : Binary<> {
  static constexpr std::string_view kName = "add";
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) return detail::unwrap(detail::wrap(a) + detail::wrap(b));
    else return a + b;
  }
};
/// a - b.
struct Sub : Binary<> {
  static constexpr std::string_view kName = "sub";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) return detail::unwrap(detail::wrap(a) - detail::wrap(b));
    else return a - b;
  }
};
/// a b.
struct Mul : Binary<> {
  static constexpr std::string_view kName = "mul";
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) return detail::unwrap(detail::wrap(a) * detail::wrap(b));
    else return a * b;
  }
};
/// a / b.
struct Div : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "div";
  template <class T> MINNOW_HD static T value(T a, T b) { return a / b; }
};
/// a / b rounded towards -inf.
struct FloorDivide : Binary<Kind::kNumeric, true> {
  static constexpr std::string_view kName = "floor_divide";
  static constexpr bool kTakesBool = false;
  static constexpr bool kByFmod = true;
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      const T q = detail::quotient(a, b);
      return q - static_cast<T>((detail::remainder(a, b) != 0) & ((a < 0) != (b < 0)));
    } else {
      return of_mod(a, b, math::fmod(a, b));
    }
  }
  template <class T> MINNOW_HD static T of_mod(T a, T b, T mod) {
    const T whole = (a - mod) / b;
    const T q = ((mod != T(0)) & ((b < T(0)) != (mod < T(0)))) ? whole - T(1) : whole;
    const T low = math::floor(q), nearest = q - low > T(0.5) ? low + T(1) : low;
    const T result = q == T(0) ? math::copysign(T(0), a / b) : nearest;
    return b == T(0) ? a / b : result;
  }
};
/// The remainder of a / b, with the sign of a.
struct Fmod : Binary<Kind::kNumeric, true> {
  static constexpr std::string_view kName = "fmod";
  static constexpr bool kTakesBool = false;
  static constexpr bool kByFmod = true;
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) return detail::remainder(a, b);
    else return of_mod(a, b, math::fmod(a, b));
  }
  template <class T> MINNOW_HD static T of_mod(T, T, T mod) { return mod; }
};
/// The remainder of a / b, with the sign of b.
struct Remainder : Binary<Kind::kNumeric, true> {
  static constexpr std::string_view kName = "remainder";
  static constexpr bool kTakesBool = false;
  static constexpr bool kByFmod = true;
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) {  // without a branch, because signs are hard to predict
      const T mod = detail::remainder(a, b);
      return mod + (b & -static_cast<T>((mod != 0) & ((b < 0) != (mod < 0))));
    } else {
      return of_mod(a, b, math::fmod(a, b));
    }
  }
  template <class T> MINNOW_HD static T of_mod(T, T b, T mod) {
    return ((mod != T(0)) & ((b < T(0)) != (mod < T(0)))) ? mod + b : mod;
  }
};
/// a^b; for integers modulo 2^64.
struct Pow : Binary<> {
  static constexpr std::string_view kName = "pow";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b < 0) return a == 1 ? T(1) : (a == -1 ? ((b & 1) != 0 ? T(-1) : T(1)) : T(0));
      std::uint64_t result = 1;
      std::uint64_t base = detail::wrap(a);
      for (; b != 0; b >>= 1) {
        if ((b & 1) != 0) result *= base;
        base *= base;
      }
      return detail::unwrap(result);
    } else {
      return math::pow(a, b);
    }
  }
};
/// The larger one; NaN if one is NaN.
struct Maximum : Binary<> {
  static constexpr std::string_view kName = "maximum";
  template <class T> MINNOW_HD static T value(T a, T b) {
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
/// The smaller one; NaN if one is NaN.
struct Minimum : Binary<> {
  static constexpr std::string_view kName = "minimum";
  template <class T> MINNOW_HD static T value(T a, T b) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
/// The larger one; if one is NaN, the other.
struct Fmax : Binary<> {
  static constexpr std::string_view kName = "fmax";
  template <class T> MINNOW_HD static T value(T a, T b) {
    const T larger = a > b ? a : b;
    return b != b ? a : larger;
  }
};
/// The smaller one; if one is NaN, the other.
struct Fmin : Binary<> {
  static constexpr std::string_view kName = "fmin";
  template <class T> MINNOW_HD static T value(T a, T b) {
    const T smaller = a < b ? a : b;
    return b != b ? a : smaller;
  }
};
/// a where a > 0, else a b.
struct Prelu : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "prelu";
  template <class T> MINNOW_HD static T value(T a, T b) { return a > T(0) ? a : a * b; }
};
/// a b where b <= 0, else 0: the gradient a of Prelu for its weight, at b.
struct PreluWeight : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "prelu_backward";
  template <class T> MINNOW_HD static T value(T a, T b) { return b > T(0) ? T(0) : a * b; }
};
/// The angle of the point (b, a).
struct Atan2 : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "atan2";
  template <class T> MINNOW_HD static T value(T a, T b) { return math::atan2(a, b); }
};
/// sqrt(a^2 + b^2) without overflow.
struct Hypot : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "hypot";
  template <class T> MINNOW_HD static T value(T a, T b) { return math::hypot(a, b); }
};
/// |a| with the sign of b.
struct Copysign : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "copysign";
  template <class T> MINNOW_HD static T value(T a, T b) { return math::copysign(a, b); }
};
/// ln(e^a + e^b).
struct Logaddexp : Binary<Kind::kFloating> {
  static constexpr std::string_view kName = "logaddexp";
  template <class T> MINNOW_HD static T value(T a, T b) {
    const T far = Maximum::value(a, b) + math::log1p(math::exp(-math::abs(a - b)));
    return a == b ? a + T(0.693147180559945309) : far;
  }
};

/// a == b, as bool.
struct Eq : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "eq";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a == b; }
};
/// a != b.
struct Ne : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "ne";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a != b; }
};
/// a < b.
struct Lt : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "lt";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a < b; }
};
/// a <= b.
struct Le : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "le";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a <= b; }
};
/// a > b.
struct Gt : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "gt";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a > b; }
};
/// a >= b.
struct Ge : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "ge";
  template <class T> MINNOW_HD static bool value(T a, T b) { return a >= b; }
};
/// a != 0 and b != 0.
struct LogicalAnd : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "logical_and";
  template <class T> MINNOW_HD static bool value(T a, T b) { return (a != T(0)) & (b != T(0)); }
};
/// a != 0 or b != 0.
struct LogicalOr : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "logical_or";
  template <class T> MINNOW_HD static bool value(T a, T b) { return (a != T(0)) | (b != T(0)); }
};
/// Exactly one of a and b is not 0.
struct LogicalXor : Binary<Kind::kPredicate> {
  static constexpr std::string_view kName = "logical_xor";
  template <class T> MINNOW_HD static bool value(T a, T b) { return (a != T(0)) != (b != T(0)); }
};

/// a & b, bit by bit.
struct BitwiseAnd : Binary<Kind::kIntegral> {
  static constexpr std::string_view kName = "bitwise_and";
  template <class T> MINNOW_HD static T value(T a, T b) { return a & b; }
};
/// a | b, bit by bit.
struct BitwiseOr : Binary<Kind::kIntegral> {
  static constexpr std::string_view kName = "bitwise_or";
  template <class T> MINNOW_HD static T value(T a, T b) { return a | b; }
};
/// a ^ b, bit by bit.
struct BitwiseXor : Binary<Kind::kIntegral> {
  static constexpr std::string_view kName = "bitwise_xor";
  template <class T> MINNOW_HD static T value(T a, T b) { return a ^ b; }
};
/// a 2^b; 0 for shifts outside of [0, bits of T).
struct LeftShift : Binary<Kind::kIntegral> {
  static constexpr std::string_view kName = "left_shift";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T a, T b) { return detail::shifted<true>(a, b); }
};
/// a / 2^b rounded down; shifts outside of [0, bits of T) give the sign.
struct RightShift : Binary<Kind::kIntegral> {
  static constexpr std::string_view kName = "right_shift";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T a, T b) { return detail::shifted<false>(a, b); }
};

/// All binary operations.  An operation's index in this list is its number.
using BinaryOps = List<Add, Sub, Mul, Div, FloorDivide, Fmod, Remainder, Pow, Maximum, Minimum, Fmax, Fmin, Prelu,
                       PreluWeight, Atan2, Hypot, Copysign, Logaddexp, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr,
                       LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor, LeftShift, RightShift>;

}  // namespace minnow::detail::kernels
