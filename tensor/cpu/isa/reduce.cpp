#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Independent accumulators of a row: several vectors wide, so that the latency of an addition is hidden and
/// the rounding errors of a long sum stay small.
constexpr int kLanes = 64;

template <class T> using Acc = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

/// A float sum of pairs: each is rounded once, and joined to the others as a double.
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

template <class Op, class T> void row(const void* data, std::int64_t n, double p, void* acc) {
  const T* x = static_cast<const T*>(data);
  const T q = parameter<T>(p);
  Acc<T>* a = static_cast<Acc<T>*>(acc);
  if constexpr (Op::kAdds && std::is_same_v<T, float>) {
    *a += pair_sum<Op>(x, n, q);
    return;
  }
  T lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = Op::template init<T>();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = Op::combine(lane[l], Op::map(x[i + l], q));
  }
  const int rest = static_cast<int>(n - i);
  for (int l = 0; l < rest; ++l) lane[l] = Op::combine(lane[l], Op::map(x[i + l], q));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = Op::combine(lane[l], lane[l + width]);
  }
  *a = Op::combine(*a, static_cast<Acc<T>>(lane[0]));
}

/// The same over columns, two rows at a time.
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

template <class Op, class T>
void columns(const void* data, std::int64_t stride, std::int64_t rows, std::int64_t cols, double p, void* acc) {
  constexpr std::int64_t kRun = 16;  // rows that are joined in T before they go to the accumulators
  const T* x = static_cast<const T*>(data);
  const T q = parameter<T>(p);
  Acc<T>* a = static_cast<Acc<T>*>(acc);
  if constexpr (Op::kAdds && std::is_same_v<T, float>) {
    pair_columns<Op>(x, stride, rows, cols, q, a);
    return;
  }
  T run[kReduceColumns];
  for (std::int64_t r = 0; r < rows;) {
    const std::int64_t end = r + kRun < rows ? r + kRun : rows;
    for (std::int64_t j = 0; j < cols; ++j) run[j] = Op::template init<T>();
    for (; r < end; ++r) {
      const T* from = x + r * stride;
      for (std::int64_t j = 0; j < cols; ++j) run[j] = Op::combine(run[j], Op::map(from[j], q));
    }
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

template <class T> void install(ReduceLoops* table) {
  kernels::for_each(kernels::ReduceOps{}, [&]<class Op, int I>() {
    if constexpr (std::is_integral_v<T> && Op::kKind == kernels::ReduceKind::kFloating) {
      table[I] = {};
    } else {
      using A = Acc<T>;
      table[I] = {init<Op, A>, row<Op, T>, columns<Op, T>, merge<Op, A>, finish<Op, A>};
    }
  });
}

}  // namespace

void install_reduce(Kernels& k) {
  install<float>(k.reduce[static_cast<int>(Compute::kFloat)]);
  if constexpr (kWhole) {
    install<double>(k.reduce[static_cast<int>(Compute::kDouble)]);
    install<std::int64_t>(k.reduce[static_cast<int>(Compute::kInt64)]);
  }
}

}  // namespace minnow::cpu::MINNOW_ISA
