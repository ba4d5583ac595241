#include <minnow/tensor/cuda/reductions/softmax.h>

#include <minnow/tensor/cuda/cuda_backend.h>

namespace minnow::cuda {
namespace {

namespace math = kernels::math;

/// y from x minus the row's largest element: e^x / sum, or x - log(sum).
template <class T> struct Normalize {
  T factor, log_sum;
  bool log;

  __device__ __forceinline__ Normalize(double sum, bool to_log)
      : factor(static_cast<T>(1.0 / sum)), log_sum(to_log ? static_cast<T>(math::log(sum)) : T(0)), log(to_log) {}
  __device__ __forceinline__ T operator()(T x) const { return log ? x - log_sum : math::exp(x) * factor; }
};

/// Rows that fit into registers: read once, written once.
template <class S, class T, int kItems>
__global__ void softmax_kept(const S* __restrict__ x, S* __restrict__ y, std::int64_t rows, int n, unsigned width,
                             bool vectors, bool log) {
  const KeptItems<S, kItems> items{n, static_cast<int>(threadIdx.x % width), static_cast<int>(width), vectors};
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  for (std::int64_t r = blockIdx.x * per_block + row; r < rows; r += gridDim.x * per_block) {
    T kept[kItems];
    items.load(x + r * n, -math::kInfinity<T>, kept);
    T most = -math::kInfinity<T>;
#pragma unroll
    for (int k = 0; k < kItems; ++k) most = Larger()(most, kept[k]);
    most = group_join(width, most, -math::kInfinity<T>, Larger());
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      kept[k] -= most;
      if (items.place(k) < n) sum += math::exp(kept[k]);
    }
    const Normalize<T> normal(static_cast<double>(group_join(width, sum, T(0), Add())), log);
#pragma unroll
    for (int k = 0; k < kItems; ++k) kept[k] = normal(kept[k]);
    items.store(y + r * n, kept);
  }
}

/// Longer rows, a block for each: read twice, the second time mostly from the cache.
template <class S, class T>
__global__ void __launch_bounds__(kLongRowThreads)
    softmax_long(const S* __restrict__ x, S* __restrict__ y, std::int64_t rows, std::int64_t n, bool vectors,
                 bool log) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const S* from = x + r * n;
    S* to = y + r * n;
    ExpSum<T> sum = ExpSum<T>::nothing();
    sum.add_row(from, threadIdx.x, n, blockDim.x, vectors);
    sum = block_join(sum, ExpSum<T>::nothing(), JoinExpSums());
    const Normalize<T> normal(sum.over_most(), log);
    for_some<S>(0, n, threadIdx.x, blockDim.x, vectors, [&]<int kCount>(std::int64_t i) {
      T some[kCount];
      load_some(from + i, some);
      for (int u = 0; u < kCount; ++u) some[u] = normal(some[u] - sum.most);
      store_some(to + i, some);
    });
  }
}

/// A dimension before the last: adjacent threads have adjacent columns.
template <class S, class T>
__global__ void softmax_columns(const S* __restrict__ x, S* __restrict__ y, Extents e, unsigned width, bool log) {
  for_columns(e, width, [&](std::int64_t at, std::int64_t first) {
    ExpSum<T> sum = ExpSum<T>::nothing();
    if (at >= 0) sum.add(x + at, e.inner, first, e.n, width);
    sum = columns_join(width, sum, JoinExpSums());
    if (at < 0) return;
    const Normalize<T> normal(sum.over_most(), log);
    for (std::int64_t k = first; k < e.n; k += width) {
      const std::int64_t i = at + k * e.inner;
      y[i] = narrow<S>(normal(widen<T>(x[i]) - sum.most));
    }
  });
}

}  // namespace

template <> void execute(const calls::Softmax& args) {
  const View &x = args.x, &y = args.y;
  const int dim = args.dim;
  const bool log = args.log;
  if (x.numel() == 0) return;
  const Call call(args);
  const Extents e = extents(x, dim);
  visit_floating(x.dtype(), [&]<class S, class T>() {
    const auto* from = static_cast<const S*>(x.raw_data());
    auto* to = static_cast<S*>(y.raw_data());
    const bool vectors = takes_vectors<S>(e.n, {from, to});
    if (e.inner > 1) {
      const ColumnLayout layout = column_layout(e.outer * e.inner, e.n, true);
      launch(call, softmax_columns<S, T>, blocks_for(e.outer * e.inner, layout.columns), layout.threads(), from, to, e,
             layout.width, log);
    } else if (e.n > kKeptRow) {
      launch(call, softmax_long<S, T>, blocks_for(e.outer, 1), kLongRowThreads, from, to, e.outer, e.n, vectors, log);
    } else {
      visit_kept(e.n, [&]<int kItems>(unsigned width) {
        launch(call, softmax_kept<S, T, kItems>, blocks_for(e.outer, kThreads / width), kThreads, from, to, e.outer,
               e.n, width, vectors, log);
      });
    }
  });
}

}  // namespace minnow::cuda
