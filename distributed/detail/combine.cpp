#include <minnow/distributed/detail/combine.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <minnow/tensor/dtype_switch.h>

namespace minnow::dist {
namespace {

template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>, float,
                               std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::uint64_t, T>>;

template <class A> bool is_nan(A x) {
  if constexpr (std::is_floating_point_v<A>) return std::isnan(x);
  else return false;
}

template <ReduceOp Op, class A> A combined(A a, A b) {
  if constexpr (Op == ReduceOp::max) return is_nan(a) || (!is_nan(b) && a >= b) ? a : b;
  else if constexpr (Op == ReduceOp::min) return is_nan(a) || (!is_nan(b) && a <= b) ? a : b;
  else if constexpr (std::is_same_v<A, bool>) return a || b;
  else return a + b;
}

template <ReduceOp Op, class T> void combine_as(const T* parts, int count, std::int64_t n, T* out) {
  // Sums of integers wrap around; the order of integers needs their own type.
  constexpr bool kOrders = Op == ReduceOp::max || Op == ReduceOp::min;
  using A = std::conditional_t<kOrders && std::is_integral_v<T>, T, Sum<T>>;
  constexpr std::int64_t kBlock = 1024;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t some = std::min(kBlock, n - first);
    A sums[kBlock];
    for (std::int64_t i = 0; i < some; ++i) sums[i] = static_cast<A>(parts[first + i]);
    for (int p = 1; p < count; ++p) {
      const T* part = parts + p * n + first;
      for (std::int64_t i = 0; i < some; ++i) sums[i] = combined<Op>(sums[i], static_cast<A>(part[i]));
    }
    if constexpr (Op == ReduceOp::mean) {
      if constexpr (!std::is_integral_v<T>)
        for (std::int64_t i = 0; i < some; ++i) sums[i] /= static_cast<A>(count);
    }
    for (std::int64_t i = 0; i < some; ++i) out[first + i] = static_cast<T>(sums[i]);
  }
}

}  // namespace

void combine(ReduceOp op, DType dtype, const std::byte* parts, int count, std::int64_t n, std::byte* out) {
  detail::dtype_switch(dtype, [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(parts);
    T* to = reinterpret_cast<T*>(out);
    switch (op) {
      case ReduceOp::sum: return combine_as<ReduceOp::sum>(from, count, n, to);
      case ReduceOp::mean: return combine_as<ReduceOp::mean>(from, count, n, to);
      case ReduceOp::max: return combine_as<ReduceOp::max>(from, count, n, to);
      case ReduceOp::min: break;
    }
    combine_as<ReduceOp::min>(from, count, n, to);
  });
}

}  // namespace minnow::dist
