#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/reductions/softmax.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

namespace math = kernels::math;

/// softmax: y (g - sum(g y));  log_softmax: g - e^y sum(g).
template <class T> __device__ __forceinline__ T part(T g, T y, bool log) { return log ? g : g * y; }
template <class T> __device__ __forceinline__ T slope(T g, T y, T sum, bool log) {
  return log ? g - math::exp(y) * sum : y * (g - sum);
}

template <class S> struct Arrays {
  const S* __restrict__ grad;
  const S* __restrict__ y;
  S* __restrict__ grad_x;
};

/// Rows that fit into registers: read once, written once.
template <class S, class T, int kItems, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    backward_kept(Arrays<S> a, std::int64_t rows, int n, unsigned width, bool vectors, bool log) {
  const KeptItems<S, kItems> items{n, static_cast<int>(threadIdx.x % width), static_cast<int>(width), vectors};
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  for (std::int64_t r = blockIdx.x * per_block + row; r < rows; r += gridDim.x * per_block) {
    T g[kItems], y[kItems];
    items.load(a.grad + r * n, T(0), g);
    items.load(a.y + r * n, T(0), y);
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) sum += part(g[k], y[k], log);
    sum = group_join(width, sum, T(0), Add());
#pragma unroll
    for (int k = 0; k < kItems; ++k) g[k] = slope(g[k], y[k], sum, log);
    items.store(a.grad_x + r * n, g);
  }
}

/// The sum over elements k = first, first + step, ... below n, which are `stride` apart.
template <class S, class T>
__device__ __forceinline__ double column_sum(const Arrays<S>& a, std::int64_t at, std::int64_t stride,
                                             std::int64_t first, std::int64_t n, std::int64_t step, bool log) {
  double sum = 0;
#pragma unroll 4
  for (std::int64_t k = first; k < n; k += step) {
    const std::int64_t i = at + k * stride;
    sum += static_cast<double>(part(widen<T>(a.grad[i]), widen<T>(a.y[i]), log));
  }
  return sum;
}
template <class S, class T>
__device__ __forceinline__ void column_slope(const Arrays<S>& a, std::int64_t at, std::int64_t stride,
                                             std::int64_t first, std::int64_t n, std::int64_t step, double sum,
                                             bool log) {
  for (std::int64_t k = first; k < n; k += step) {
    const std::int64_t i = at + k * stride;
    a.grad_x[i] = narrow<S>(slope(widen<T>(a.grad[i]), widen<T>(a.y[i]), static_cast<T>(sum), log));
  }
}

/// Longer rows, a block for each: read twice, the second time mostly from the cache.
template <class S, class T>
__global__ void __launch_bounds__(kLongRowThreads)
    backward_long(Arrays<S> a, std::int64_t rows, std::int64_t n, bool vectors, bool log) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const S *grad = a.grad + r * n, *y = a.y + r * n;
    S* grad_x = a.grad_x + r * n;
    double own = 0;
    for_some<S>(0, n, threadIdx.x, blockDim.x, vectors, [&]<int kCount>(std::int64_t i) {
      T gs[kCount], ys[kCount];
      load_some(grad + i, gs);
      load_some(y + i, ys);
      for (int u = 0; u < kCount; ++u) own += static_cast<double>(part(gs[u], ys[u], log));
    });
    const T sum = static_cast<T>(block_join(own, 0.0, Add()));
    for_some<S>(0, n, threadIdx.x, blockDim.x, vectors, [&]<int kCount>(std::int64_t i) {
      T gs[kCount], ys[kCount];
      load_some(grad + i, gs);
      load_some(y + i, ys);
      for (int u = 0; u < kCount; ++u) gs[u] = slope(gs[u], ys[u], sum, log);
      store_some(grad_x + i, gs);
    });
  }
}

/// A dimension before the last: adjacent threads have adjacent columns.
template <class S, class T> __global__ void backward_columns(Arrays<S> a, Extents e, unsigned width, bool log) {
  for_columns(e, width, [&](std::int64_t at, std::int64_t first) {
    double sum = at < 0 ? 0.0 : column_sum<S, T>(a, at, e.inner, first, e.n, width, log);
    sum = columns_join(width, sum, Add());
    if (at >= 0) column_slope<S, T>(a, at, e.inner, first, e.n, width, sum, log);
  });
}

/// Rows up to this length fit into registers.
template <class T> inline constexpr std::int64_t kKeptPairs = sizeof(T) == 4 ? 8192 : 1024;

/// Calls f.template operator()<kItems, kBlock>(width) for rows in registers: `width` threads of a block have kItems
/// elements each, of both operands.  With at most 64 registers several blocks share a multiprocessor, so that one reads
/// while another adds.
template <class T, class F> void visit_kept_pairs(std::int64_t n, const F& f) {
  constexpr int kItems = sizeof(T) == 4 ? 8 : 2;
  if (n <= kWarp) f.template operator()<1, 256>(kWarp);
  else if (n <= kItems * kWarp) f.template operator()<kItems, 256>(kWarp);
  else if (n <= kItems * 128) f.template operator()<kItems, 128>(128);
  else if (n <= kItems * 256) f.template operator()<kItems, 256>(256);
  else if (n <= kItems * 512) f.template operator()<kItems, 512>(512);
  else if constexpr (sizeof(T) == 4) f.template operator()<16, 512>(512);
}

}  // namespace

template <> void execute(const calls::SoftmaxBackward& args) {
  const View &grad = args.grad, &y = args.y, &grad_x = args.grad_x;
  const int dim = args.dim;
  const bool log = args.log;
  if (y.numel() == 0) return;
  if (grad.dtype() != y.dtype())
    throw DTypeError("softmax_backward: gradient and result have different dtypes\nthis is an error in minnow");
  const Call call(args);
  const Extents e = extents(y, dim);
  visit_floating(y.dtype(), [&]<class S, class T>() {
    const Arrays<S> arrays{static_cast<const S*>(grad.raw_data()), static_cast<const S*>(y.raw_data()),
                           static_cast<S*>(grad_x.raw_data())};
    const bool vectors = takes_vectors<S>(e.n, {arrays.grad, arrays.y, arrays.grad_x});
    if (e.inner > 1) {
      const ColumnLayout layout = column_layout(e.outer * e.inner, e.n, true);
      launch(call, backward_columns<S, T>, blocks_for(e.outer * e.inner, layout.columns), layout.threads(), arrays, e,
             layout.width, log);
    } else if (e.n > kKeptPairs<T>) {
      launch(call, backward_long<S, T>, blocks_for(e.outer, 1), kLongRowThreads, arrays, e.outer, e.n, vectors, log);
    } else {
      visit_kept_pairs<T>(e.n, [&]<int kItems, unsigned kBlock>(unsigned width) {
        launch(call, backward_kept<S, T, kItems, kBlock>, blocks_for(e.outer, kBlock / width), kBlock, arrays, e.outer,
               e.n, width, vectors, log);
      });
    }
  });
}

}  // namespace minnow::cuda
