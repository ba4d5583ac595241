#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::detail::kernels {

/// The element types of a reduction and its result.  Numeric: all, sums and products of integers are int64; floating:
/// floating-point only; predicate: all, the result is bool.
enum class ReduceKind : std::uint8_t { kNumeric, kFloating, kPredicate };

/// Traits of a reduction.
///   init<T>()        the result for no elements
///   map(x, p)        the contribution of an element
///   combine(a, b)    joins two contributions; associative, so that it may be split into blocks
///   finish(a, n, p)  the result from the joined contributions of n elements
template <ReduceKind K = ReduceKind::kNumeric> struct Reduction {
  static constexpr ReduceKind kKind = K;
  static constexpr bool kAdds = false;  // whether combine is an addition, which is more accurate in a wider type
  template <class T> MINNOW_HD static T map(T x, T) { return x; }
  template <class T> MINNOW_HD static T finish(T a, std::int64_t, T) { return a; }
};

namespace detail {

/// Combines by addition; integers wrap around.
template <ReduceKind K = ReduceKind::kNumeric> struct Additive : Reduction<K> {
  static constexpr bool kAdds = true;
  template <class T> MINNOW_HD static T init() { return T(0); }
  template <class T> MINNOW_HD static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return a + b;
  }
};
template <class T> MINNOW_HD T larger(T a, T b) { return b > a || b != b ? b : a; }
template <class T> MINNOW_HD T smaller(T a, T b) { return b < a || b != b ? b : a; }
template <class T> MINNOW_HD T lowest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  else return -math::kInfinity<T>;
}
template <class T> MINNOW_HD T highest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
  else return math::kInfinity<T>;
}

}  // namespace detail

/// The sum of the elements; 0 for none.
struct Sum : detail::Additive<> {
  static constexpr std::string_view kName = "sum";
};
/// The sum of the elements that are not NaN.
struct NanSum : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "nansum";
  template <class T> MINNOW_HD static T map(T x, T) { return x == x ? x : T{}; }
};
/// The sum over the number of elements; NaN for none.
struct Mean : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "mean";
  template <class T> MINNOW_HD static T finish(T a, std::int64_t n, T) { return a / static_cast<T>(n); }
};
/// The product; 1 for none.
struct Prod : Reduction<> {
  static constexpr std::string_view kName = "prod";
  template <class T> MINNOW_HD static T init() { return T(1); }
  template <class T> MINNOW_HD static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else return a * b;
  }
};
/// The largest element; NaN if one is NaN.  The caller refuses to reduce no elements.
struct Max : Reduction<> {
  static constexpr std::string_view kName = "amax";
  template <class T> MINNOW_HD static T init() { return detail::lowest<T>(); }
  template <class T> MINNOW_HD static T combine(T a, T b) { return detail::larger(a, b); }
};
/// The smallest element; NaN if one is NaN.
struct Min : Reduction<> {
  static constexpr std::string_view kName = "amin";
  template <class T> MINNOW_HD static T init() { return detail::highest<T>(); }
  template <class T> MINNOW_HD static T combine(T a, T b) { return detail::smaller(a, b); }
};
/// Whether an element is not zero; NaN is not zero.
struct Any : Reduction<ReduceKind::kPredicate> {
  static constexpr std::string_view kName = "any";
  template <class T> MINNOW_HD static T init() { return T(0); }
  template <class T> MINNOW_HD static T map(T x, T) { return x != T(0) ? T(1) : T(0); }
  template <class T> MINNOW_HD static T combine(T a, T b) { return detail::larger(a, b); }
};
/// Whether no element is zero.
struct All : Reduction<ReduceKind::kPredicate> {
  static constexpr std::string_view kName = "all";
  template <class T> MINNOW_HD static T init() { return T(1); }
  template <class T> MINNOW_HD static T map(T x, T) { return x != T(0) ? T(1) : T(0); }
  template <class T> MINNOW_HD static T combine(T a, T b) { return detail::smaller(a, b); }
};
/// The sum of |x|.
struct Norm1 : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "norm";
  template <class T> MINNOW_HD static T map(T x, T) { return math::abs(x); }
};
/// The root of the sum of squares.
struct Norm2 : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "norm";
  template <class T> MINNOW_HD static T map(T x, T) { return x * x; }
  template <class T> MINNOW_HD static T finish(T a, std::int64_t, T) { return math::sqrt(a); }
};
/// (sum |x|^p)^(1/p).
struct NormP : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "norm";
  template <class T> MINNOW_HD static T map(T x, T p) {
    const T size = math::abs(x);
    return p == T(3) ? size * size * size : math::pow(size, p);
  }
  template <class T> MINNOW_HD static T finish(T a, std::int64_t, T p) { return math::pow(a, T(1) / p); }
};
/// The number of elements that are not zero.
struct Norm0 : detail::Additive<ReduceKind::kFloating> {
  static constexpr std::string_view kName = "norm";
  template <class T> MINNOW_HD static T map(T x, T) { return x != T(0) ? T(1) : T(0); }
};

/// All reductions.  A reduction's index in this list is its number.
using ReduceOps = List<Sum, Mean, Prod, Max, Min, Any, All, Norm1, Norm2, NormP, Norm0, NanSum>;

}  // namespace minnow::detail::kernels
