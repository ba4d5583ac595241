#include <minnow/tensor/cpu/isa/row_vectors.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Independent accumulators of a row: several vectors wide, so that the latency of an addition is hidden and
/// the rounding errors of a long sum stay small.
constexpr int kLanes = 64;
constexpr std::int64_t kMaxSequential = 32;  // elements of rows that are reduced sequentially

template <class T> using Acc = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
/// What some elements are combined in: their own type, but int32 for sums of small integers.
template <class Op, class T>
using Run = std::conditional_t<Op::kAdds && std::is_integral_v<T> && sizeof(T) < 4, std::int32_t, T>;

/// Sums whose map is arithmetic, so that it can be applied to vectors.
template <class Op> constexpr bool kVectorSum = kIsOneOf<Op, kernels::Sum, kernels::NanSum, kernels::Norm2>;
/// The operation whose loops serve Op: a mean is a sum up to its end.
template <class Op> using SumOf = std::conditional_t<std::is_same_v<Op, kernels::Mean>, kernels::Sum, Op>;
template <class Op> constexpr bool kVectorExtreme = kIsOneOf<Op, kernels::Max, kernels::Min>;

/// detail::larger and smaller for each lane; NaN if one is NaN.
template <class Op> struct Extreme {
  MINNOW_HD Vector operator()(Vector a, Vector b) const {
    const IntVector replaces = std::is_same_v<Op, kernels::Max> ? b > a : b < a;
    return (replaces | (b != b)) ? b : a;
  }
};

/// A sum of floats: pairs are added as floats, which rounds once, and then as doubles.
template <class Op> double pair_sum(const float* x, std::int64_t n, float q) {
  double lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    for (int l = 0; l < kLanes; ++l)
      lane[l] += static_cast<double>(Op::map(x[i + l], q) + Op::map(x[i + kLanes + l], q));
  }
  for (int l = 0; i < n; ++i, l = (l + 1) % kLanes) lane[l] += static_cast<double>(Op::map(x[i], q));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}

template <class Op, class T> Acc<T> lane_row(const T* x, std::int64_t n, T p) {
  using R = Run<Op, T>;
  constexpr int kCount = sizeof(T) == 8 ? kLanes / 2 : kLanes;  // that are in registers
  const R q = static_cast<R>(p);
  R lane[kCount];
  for (int l = 0; l < kCount; ++l) lane[l] = Op::template init<R>();
  std::int64_t i = 0;
  for (; i + kCount <= n; i += kCount) {
    for (int l = 0; l < kCount; ++l) lane[l] = Op::combine(lane[l], Op::map(static_cast<R>(x[i + l]), q));
  }
  const int rest = static_cast<int>(n - i);
  for (int l = 0; l < rest; ++l) lane[l] = Op::combine(lane[l], Op::map(static_cast<R>(x[i + l]), q));
  for (int width = kCount / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = Op::combine(lane[l], lane[l + width]);
  }
  return static_cast<Acc<T>>(lane[0]);
}

template <class Op, class T> Acc<T> sequential_row(const T* x, std::int64_t n, T q) {
  if (n <= kMaxSequential) {
    Acc<T> sum = Op::template init<Acc<T>>();
    for (std::int64_t i = 0; i < n; ++i) sum = Op::combine(sum, static_cast<Acc<T>>(Op::map(x[i], q)));
    return sum;
  }
  if constexpr (Op::kAdds && std::is_same_v<T, float>) return pair_sum<Op>(x, n, q);
  else return lane_row<Op>(x, n, q);
}

constexpr std::int64_t kRows = 64;  // rows whose sums are folded together

template <class Op, class S>
void sum_rows(const S* x, std::int64_t stride, std::int64_t count, std::int64_t n, float q, double* a) {
  const Vector p = splat(q);
  double sums[kRows];
  for (std::int64_t r = 0; r < count; r += kRows) {
    const std::int64_t m = count - r < kRows ? count - r : kRows;
    fold_rows<DoubleVector>(
        m,
        [&](std::int64_t k) {
          const S* row = x + (r + k) * stride;
          return row_sum(n, [&](std::int64_t i, int some) { return Op::map(load_some(row + i, some), p); });
        },
        Plus(), sums);
    for (std::int64_t k = 0; k < m; ++k) a[r + k] += sums[k];
  }
}

template <class Op, class S>
void extreme_rows(const S* x, std::int64_t stride, std::int64_t count, std::int64_t n, double* a) {
  float best[kRows];
  for (std::int64_t r = 0; r < count; r += kRows) {
    const std::int64_t m = count - r < kRows ? count - r : kRows;
    fold_rows<Vector>(
        m, [&](std::int64_t k) { return row_join(x + (r + k) * stride, n, Op::template init<float>(), Extreme<Op>()); },
        Extreme<Op>(), best);
    for (std::int64_t k = 0; k < m; ++k) a[r + k] = Op::combine(a[r + k], static_cast<double>(best[k]));
  }
}

template <class Op, class T>
void rows(const void* data, std::int64_t stride, std::int64_t count, std::int64_t n, double p, void* acc) {
  const T* x = static_cast<const T*>(data);
  const T q = parameter<T>(p);
  Acc<T>* a = static_cast<Acc<T>*>(acc);
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (kVectorSum<Op>) return sum_rows<Op>(x, stride, count, n, q, a);
    else if constexpr (kVectorExtreme<Op>) return extreme_rows<Op>(x, stride, count, n, a);
  }
  for (std::int64_t r = 0; r < count; ++r) a[r] = Op::combine(a[r], sequential_row<Op>(x + r * stride, n, q));
}

/// The same over columns, four rows at a time.
template <class Op>
void pair_columns(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, float q,
                  double* __restrict a) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x0 = x + r * stride;
    const float* x1 = x0 + stride;
    const float* x2 = x1 + stride;
    const float* x3 = x2 + stride;
    for (std::int64_t j = 0; j < cols; ++j)
      a[j] += static_cast<double>(Op::map(x0[j], q) + Op::map(x1[j], q)) +
              static_cast<double>(Op::map(x2[j], q) + Op::map(x3[j], q));
  }
  for (; r < rows; ++r) {
    for (std::int64_t j = 0; j < cols; ++j) a[j] += static_cast<double>(Op::map(x[r * stride + j], q));
  }
}

/// Calls add(value, j) for sums of rows of vectors, eight rows together; read(r, j) gives them.  Row after row: a
/// column of rows that are a page apart is read slowly.
template <class Read, class Add>
MINNOW_HD void sum_vectors(std::int64_t rows, std::int64_t cols, const Read& read, const Add& add) {
  std::int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    for (std::int64_t j = 0; j < cols; j += kLanes32) {
      const auto two = [&](std::int64_t at) { return read(at, j) + read(at + 1, j); };
      add((two(r) + two(r + 2)) + (two(r + 4) + two(r + 6)), j);
    }
  }
  for (; r < rows; ++r) {
    for (std::int64_t j = 0; j < cols; j += kLanes32) add(read(r, j), j);
  }
}

template <class Op, class S>
void vector_columns(const S* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, float q, double* a) {
  const Vector p = splat(q);
  const int rest = static_cast<int>(cols % kLanes32);
  const std::int64_t whole = cols - rest;
  sum_vectors(
      rows, whole, [&](std::int64_t r, std::int64_t j) { return Op::map(load(x + r * stride + j), p); },
      [&](Vector v, std::int64_t j) { add_some(v, a + j, kLanes32); });
  if (rest == 0) return;
  // The last vector of a row, which begins before the rest where there is one.
  const int before = whole > 0 ? kLanes32 - rest : 0;
  const S* last = x + whole - before;
  DoubleVector lower{}, upper{};
  sum_vectors(
      rows, 1,
      [&](std::int64_t r, std::int64_t) {
        return Op::map(whole > 0 ? load(last + r * stride) : load_some(last + r * stride, rest), p);
      },
      [&](Vector v, std::int64_t) { lower += low(v), upper += high(v); });
  double lanes[kLanes32];
  std::memcpy(lanes, &lower, sizeof lower);
  std::memcpy(lanes + kLanes64, &upper, sizeof upper);
  for (int l = 0; l < rest; ++l) a[whole + l] += lanes[before + l];
}

template <class Op, class S>
void extreme_columns(const S* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, double* a) {
  float best[kReduceColumns];
  for (std::int64_t j = 0; j < cols; ++j) best[j] = Op::template init<float>();
  for (std::int64_t r = 0; r < rows; ++r, x += stride)
    for_some<float>(cols, [&](std::int64_t j, int m) {
      store_some(Extreme<Op>()(load_some(best + j, m), load_some(x + j, m)), best + j, m);
    });
  for (std::int64_t j = 0; j < cols; ++j) a[j] = Op::combine(a[j], static_cast<double>(best[j]));
}

template <class Op, class T>
void columns(const void* data, std::int64_t stride, std::int64_t rows, std::int64_t cols, double p, void* acc) {
  // Rows that are combined in T before they are combined with the accumulators: all, of what is never rounded.
  const std::int64_t run_rows = kIsOneOf<Op, kernels::Max, kernels::Min, kernels::Any, kernels::All> ? rows : 16;
  const T* x = static_cast<const T*>(data);
  const T q = parameter<T>(p);
  Acc<T>* a = static_cast<Acc<T>*>(acc);
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (kVectorSum<Op>) return vector_columns<Op>(x, stride, rows, cols, q, a);
    else if constexpr (kVectorExtreme<Op>) return extreme_columns<Op>(x, stride, rows, cols, a);
    else if constexpr (Op::kAdds) return pair_columns<Op>(x, stride, rows, cols, q, a);
  }
  using R = Run<Op, T>;
  R run[kReduceColumns];
  for (std::int64_t r = 0; r < rows;) {
    const std::int64_t end = r + run_rows < rows ? r + run_rows : rows;
    for (std::int64_t j = 0; j < cols; ++j) run[j] = Op::template init<R>();
    const auto mapped = [&](const T* from, std::int64_t j) {
      return Op::map(static_cast<R>(from[j]), static_cast<R>(q));
    };
    for (; r + 4 <= end; r += 4) {  // in order, with one pass over `run`
      const T *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
      for (std::int64_t j = 0; j < cols; ++j) {
        const R two = Op::combine(Op::combine(run[j], mapped(x0, j)), mapped(x1, j));
        run[j] = Op::combine(Op::combine(two, mapped(x2, j)), mapped(x3, j));
      }
    }
    for (; r < end; ++r)
      for (std::int64_t j = 0; j < cols; ++j) run[j] = Op::combine(run[j], mapped(x + r * stride, j));
    for (std::int64_t j = 0; j < cols; ++j) a[j] = Op::combine(a[j], static_cast<Acc<T>>(run[j]));
  }
}

template <class Op, class A> void init(void* acc, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) static_cast<A*>(acc)[i] = Op::template init<A>();
}
template <class Op, class A> void merge(const void* from, void* acc, std::int64_t n) {
  const A* f = static_cast<const A*>(from);
  A* a = static_cast<A*>(acc);
  for (std::int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], f[i]);
}
template <class Op, class A> void finish(void* acc, std::int64_t n, std::int64_t count, double p) {
  A* a = static_cast<A*>(acc);
  for (std::int64_t i = 0; i < n; ++i) a[i] = Op::finish(a[i], count, parameter<A>(p));
}

template <int... I> MINNOW_HD IntVector count_up(std::integer_sequence<int, I...>) { return IntVector{I...}; }

struct Lower {
  MINNOW_HD IntVector operator()(IntVector a, IntVector b) const { return b < a ? b : a; }
};

/// For each lane, the first position of `best` in a row; if best is NaN, of any NaN.
MINNOW_HD IntVector positions_of(const float* x, std::int64_t n, float best) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes32>();
  const Vector wanted = splat(best);
  const IntVector none = IntVector{} + std::numeric_limits<std::int32_t>::max();
  IntVector at = count_up(kAll), first = none;
  std::int64_t i = 0;
  for (; i + kLanes32 <= n; i += kLanes32, at += kLanes32) {
    const Vector v = load(x + i);
    first = Lower()(first, ((v == wanted) | (v != v)) ? at : none);
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    const Vector v = load_first(x + i, rest);
    first = Lower()(first, (below(rest, kAll) & ((v == wanted) | (v != v))) ? at : none);
  }
  return first;
}

template <class Op, std::same_as<float> T>
void arg_of_rows(const T* x, std::int64_t stride, std::int64_t count, std::int64_t n, T* values, std::int64_t* places) {
  fold_rows<Vector>(
      count, [&](std::int64_t r) { return row_join(x + r * stride, n, Op::template init<float>(), Extreme<Op>()); },
      Extreme<Op>(), values);
  std::int32_t at[kRows];
  for (std::int64_t r = 0; r < count; r += kRows) {
    const std::int64_t m = count - r < kRows ? count - r : kRows;
    fold_rows<IntVector>(
        m, [&](std::int64_t k) { return positions_of(x + (r + k) * stride, n, values[r + k]); }, Lower(), at);
    for (std::int64_t k = 0; k < m; ++k) places[r + k] = at[k];
    for (std::int64_t k = 0; k < m; ++k)
      values[r + k] = x[(r + k) * stride + at[k]];  // 0 has the sign of the first one
  }
}

/// The same of other elements: the value first, then where it is.
template <class Op, class T>
void arg_of_rows(const T* x, std::int64_t stride, std::int64_t count, std::int64_t n, T* values, std::int64_t* places) {
  for (std::int64_t r = 0; r < count; ++r, x += stride) {
    const T best = static_cast<T>(sequential_row<Op>(x, n, T()));
    const auto is_best = [best](T v) { return (v == best) | (v != v); };
    std::int64_t i = 0;
    for (int some = 0; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) some |= is_best(x[i + l]) ? 1 : 0;
      if (some != 0) break;
    }
    while (!is_best(x[i])) ++i;
    values[r] = x[i], places[r] = i;
  }
}

template <class T>
void arg_rows(const void* x, std::int64_t stride, std::int64_t count, std::int64_t n, bool largest, void* values,
              std::int64_t* places) {
  const T* from = static_cast<const T*>(x);
  if (largest) arg_of_rows<kernels::Max>(from, stride, count, n, static_cast<T*>(values), places);
  else arg_of_rows<kernels::Min>(from, stride, count, n, static_cast<T*>(values), places);
}

template <class Op, class T>
void arg_of_columns(const T* x, std::int64_t stride, std::int64_t first, std::int64_t rows, std::int64_t cols,
                    T* __restrict best, std::int64_t* __restrict at) {
  for (std::int64_t i = first; i < first + rows; ++i, x += stride) {
    for (std::int64_t j = 0; j < cols; ++j) {
      const bool better = std::is_same_v<Op, kernels::Max> ? x[j] > best[j] : x[j] < best[j];
      const bool take = (better | (x[j] != x[j])) & (best[j] == best[j]);
      best[j] = take ? x[j] : best[j];
      at[j] = take ? i : at[j];
    }
  }
}

template <class T>
void arg_columns(const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows, std::int64_t cols,
                 bool largest, void* values, std::int64_t* places) {
  const auto of = largest ? arg_of_columns<kernels::Max, T> : arg_of_columns<kernels::Min, T>;
  of(static_cast<const T*>(x), stride, first, rows, cols, static_cast<T*>(values), places);
}

template <class T> void install_arg(Kernels& k, Compute compute) {
  k.arg_rows[static_cast<int>(compute)] = arg_rows<T>;
  k.arg_columns[static_cast<int>(compute)] = arg_columns<T>;
}

template <class T> void install(ReduceLoops* table) {
  kernels::for_each(kernels::ReduceOps{}, [&]<class Op, int I>() {
    if constexpr (std::is_integral_v<T> && Op::kKind == kernels::ReduceKind::kFloating) {
      table[I] = {};
    } else {
      using A = Acc<T>;
      using Inner = SumOf<Op>;
      table[I] = {init<Inner, A>, rows<Inner, T>, columns<Inner, T>, merge<Inner, A>, finish<Op, A>};
    }
  });
}

/// Loops over halves of S, without conversion: sums and extremes.
template <class S> void install_halves(ReduceLoops* table) {
  kernels::for_each(kernels::ReduceOps{}, [&]<class Op, int I>() {
    using Inner = SumOf<Op>;
    if constexpr (kVectorSum<Inner> || kVectorExtreme<Op>) {
      constexpr auto kRowLoop = [](const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double p,
                                   void* acc) {
        const S* from = static_cast<const S*>(x);
        if constexpr (kVectorExtreme<Op>) extreme_rows<Op>(from, stride, rows, n, static_cast<double*>(acc));
        else sum_rows<Inner>(from, stride, rows, n, parameter<float>(p), static_cast<double*>(acc));
      };
      constexpr auto kColumnLoop = [](const void* x, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                                      double p, void* acc) {
        const S* from = static_cast<const S*>(x);
        if constexpr (kVectorExtreme<Op>) extreme_columns<Op>(from, stride, rows, cols, static_cast<double*>(acc));
        else vector_columns<Inner>(from, stride, rows, cols, parameter<float>(p), static_cast<double*>(acc));
      };
      table[I] = {init<Inner, double>, kRowLoop, kColumnLoop, merge<Inner, double>, finish<Op, double>};
    }
  });
}

/// Loops over elements of T that are integers, without conversion: sums of small ones, and where the result is one of
/// them or a bool.
template <class T> void install_own(ReduceLoops* table) {
  using namespace kernels;
  for_each(ReduceOps{}, [&]<class Op, int I>() {
    using A = std::int64_t;
    if constexpr (kIsOneOf<Op, Max, Min, Any, All> || (std::is_same_v<Op, Sum> && sizeof(T) < 4))
      table[I] = {init<Op, A>, rows<Op, T>, columns<Op, T>, merge<Op, A>, finish<Op, A>};
  });
}

}  // namespace

template <> void install_loops<family::Reduce>(Kernels& k) {
  install<float>(k.reduce[static_cast<int>(Compute::kFloat)]);
  install<double>(k.reduce[static_cast<int>(Compute::kDouble)]);
  install<std::int64_t>(k.reduce[static_cast<int>(Compute::kInt64)]);
  if constexpr (kHalves) {
    install_halves<Half>(k.reduce[own_loop_type(DType::float16)]);
    install_halves<std::uint16_t>(k.reduce[own_loop_type(DType::bfloat16)]);
  }
  install_arg<float>(k, Compute::kFloat);
  install_arg<double>(k, Compute::kDouble);
  install_arg<std::int64_t>(k, Compute::kInt64);
  if constexpr (kWhole) {
    install_own<std::int32_t>(k.reduce[loop_type(DType::int32)]);
    install_own<std::int16_t>(k.reduce[loop_type(DType::int16)]);
    install_own<std::int8_t>(k.reduce[loop_type(DType::int8)]);
    install_own<std::uint8_t>(k.reduce[loop_type(DType::uint8)]);
    install_own<std::uint8_t>(k.reduce[loop_type(DType::bool_)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
