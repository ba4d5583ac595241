#include <algorithm>
#include <limits>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/reductions/softmax.h>

namespace minnow::cuda {
namespace {

namespace math = kernels::math;

/// (x - mean) rstd as (x - about) scale + shift: about is the mean rounded to T, and shift what the rounding took away.
template <class T> struct Normal {
  T about, scale, shift;

  static __device__ __forceinline__ Normal of(double mean, double rstd) {
    const T about = static_cast<T>(mean);
    return {about, static_cast<T>(rstd), static_cast<T>((static_cast<double>(about) - mean) * rstd)};
  }
  __device__ __forceinline__ T operator()(T x) const { return (x - about) * scale + shift; }
};

/// nullptr: there is none, or it is not wanted.
template <class S> struct Forward {
  const S* __restrict__ x;
  const S* __restrict__ weight;
  const S* __restrict__ bias;
  S* __restrict__ y;
  double* __restrict__ stats;
  std::int64_t rows, n;
  double eps;
  bool centered;
};

/// `width` threads (a warp or the block) read a row three times, the second and third time mostly from the cache.
template <class S, class T> __global__ void normalize(Forward<S> a, unsigned width, bool vectors) {
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  const auto count = static_cast<double>(a.n);
  for (std::int64_t r = blockIdx.x * per_block + row; r < a.rows; r += gridDim.x * per_block) {
    const S* x = a.x + r * a.n;
    S* y = a.y + r * a.n;
    T about = 0;
    if (a.centered) {
      double sum = 0;
      for_some<S>(0, a.n, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
        T some[kCount], few = 0;
        load_some(x + i, some);
        for (int u = 0; u < kCount; ++u) few += some[u];
        sum += static_cast<double>(few);
      });
      about = static_cast<T>(group_join(width, sum, 0.0, Add()) / count);
    }
    TwoSums own{0, 0};  // of the distances from there, and of their squares
    for_some<S>(0, a.n, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
      T some[kCount], few = 0, squares = 0;
      load_some(x + i, some);
      for (int u = 0; u < kCount; ++u) {
        few += some[u] - about;
        squares += (some[u] - about) * (some[u] - about);
      }
      own = AddTwo()(own, {static_cast<double>(few), static_cast<double>(squares)});
    });
    own = group_join(width, own, TwoSums{0, 0}, AddTwo());
    const double rest = a.centered ? own.first / count : 0, variance = own.second / count - rest * rest;
    const double mean = static_cast<double>(about) + rest;
    double rstd = 1.0 / math::sqrt((variance < 0 ? 0 : variance) + a.eps);
    if (a.centered && rstd == 0) rstd = std::numeric_limits<double>::quiet_NaN();  // the squares overflow
    if (thread == 0 && a.stats != nullptr) {
      a.stats[r] = mean;
      a.stats[a.rows + r] = rstd;
    }
    const auto normal = Normal<T>::of(mean, rstd);
    for_some<S>(0, a.n, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
      T some[kCount], weights[kCount], biases[kCount];
      load_some(x + i, some);
      if (a.weight != nullptr) load_some(a.weight + i, weights);
      if (a.bias != nullptr) load_some(a.bias + i, biases);
      for (int u = 0; u < kCount; ++u) {
        some[u] = normal(some[u]);
        if (a.weight != nullptr) some[u] *= weights[u];
        if (a.bias != nullptr) some[u] += biases[u];
      }
      store_some(y + i, some);
    });
  }
}

template <class S> struct Backward {
  const S* __restrict__ grad;
  const S* __restrict__ x;
  const S* __restrict__ weight;  // nullptr: of ones
  const double* __restrict__ stats;
  std::int64_t rows, n;
  bool centered;
};

/// g = grad weight and h = (x - mean) rstd of neighboring elements.
template <class S, class T, int kCount>
__device__ __forceinline__ void load_pair(const Backward<S>& a, const Normal<T>& normal, std::int64_t row,
                                          std::int64_t i, T (&g)[kCount], T (&h)[kCount]) {
  load_some(a.grad + row * a.n + i, g);
  load_some(a.x + row * a.n + i, h);
  T weights[kCount];
  if (a.weight != nullptr) load_some(a.weight + i, weights);
  for (int u = 0; u < kCount; ++u) {
    if (a.weight != nullptr) g[u] *= weights[u];
    h[u] = normal(h[u]);
  }
}

/// rstd (g - mean(g) - h mean(g h)): `width` threads (a warp or the block) go along a row twice.
template <class S, class T>
__global__ void input_gradient(Backward<S> a, S* __restrict__ grad_x, unsigned width, bool vectors) {
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  const auto count = static_cast<double>(a.n);
  for (std::int64_t r = blockIdx.x * per_block + row; r < a.rows; r += gridDim.x * per_block) {
    const auto normal = Normal<T>::of(a.stats[r], a.stats[a.rows + r]);
    TwoSums own{0, 0};
    for_some<S>(0, a.n, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
      T g[kCount], h[kCount], few = 0, products = 0;
      load_pair(a, normal, r, i, g, h);
      for (int u = 0; u < kCount; ++u) {
        few += g[u];
        products += g[u] * h[u];
      }
      own = AddTwo()(own, {static_cast<double>(few), static_cast<double>(products)});
    });
    own = group_join(width, own, TwoSums{0, 0}, AddTwo());
    const T mean = a.centered ? static_cast<T>(own.first / count) : T(0), slope = static_cast<T>(own.second / count);
    for_some<S>(0, a.n, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
      T g[kCount], h[kCount];
      load_pair(a, normal, r, i, g, h);
      for (int u = 0; u < kCount; ++u) g[u] = normal.scale * (g[u] - mean - h[u] * slope);
      store_some(grad_x + r * a.n + i, g);
    });
  }
}

// The gradients of weight and bias are sums over all rows: of a chunk of them by each block of the first kernel, then
// of the chunks, in order.

constexpr unsigned kColumns = kWarp, kSharing = kThreads / kColumns;  // threads that share a column
constexpr unsigned kTile = 64;                                        // rows whose numbers a block keeps

/// parts: [chunks, 2, n], grad h and grad over the rows of a chunk.
template <class S, class T>
__global__ void chunk_gradients(Backward<S> a, double* __restrict__ parts, std::int64_t chunk) {
  __shared__ Normal<T> normals[kTile];
  const unsigned column = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
  const std::int64_t begin = blockIdx.y * chunk, end = begin + chunk < a.rows ? begin + chunk : a.rows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kColumns;
  for (std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * kColumns; left < a.n; left += step) {
    const std::int64_t j = left + column;
    TwoSums own{0, 0};
    for (std::int64_t first = begin; first < end; first += kTile) {
      const auto rows = static_cast<unsigned>(end - first < kTile ? end - first : kTile);
      __syncthreads();  // the numbers of the last tile have been read
      if (threadIdx.x < rows)
        normals[threadIdx.x] = Normal<T>::of(a.stats[first + threadIdx.x], a.stats[a.rows + first + threadIdx.x]);
      __syncthreads();
      if (j >= a.n) continue;
      T products = 0, few = 0;
#pragma unroll 4
      for (unsigned k = row; k < rows; k += kSharing) {
        const std::int64_t at = (first + k) * a.n + j;
        const T g = widen<T>(a.grad[at]);
        products += g * normals[k](widen<T>(a.x[at]));
        few += g;
      }
      own = AddTwo()(own, {static_cast<double>(products), static_cast<double>(few)});
    }
    own = columns_join(kSharing, own, AddTwo());
    if (row != 0 || j >= a.n) continue;
    parts[2 * blockIdx.y * a.n + j] = own.first;
    parts[(2 * blockIdx.y + 1) * a.n + j] = own.second;
  }
}

/// grad_weight and grad_bias, of which one may be nullptr.
template <class S>
__global__ void join_chunks(const double* __restrict__ parts, std::int64_t chunks, std::int64_t n,
                            S* __restrict__ grad_weight, S* __restrict__ grad_bias) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < 2 * n; i += step) {
    S* out = i < n ? grad_weight : grad_bias;
    if (out == nullptr) continue;
    double sum = 0;
#pragma unroll 8
    for (std::int64_t k = 0; k < chunks; ++k) sum += parts[2 * k * n + i];
    out[i < n ? i : i - n] = narrow<S>(sum);
  }
}

unsigned row_width(std::int64_t n) { return n <= 1024 ? kWarp : kThreads; }

template <class S> S* data_of(const View& t) { return t.defined() ? static_cast<S*>(t.raw_data()) : nullptr; }

/// By the shape alone, so that the order of the sums is too: as many blocks as fill any GPU.
std::int64_t rows_of_chunk(std::int64_t rows, std::int64_t n) {
  constexpr std::int64_t kBlocks = 512;
  const std::int64_t wanted = std::max<std::int64_t>(1, kBlocks * kColumns / n), least = (rows + wanted - 1) / wanted;
  return (least + kTile - 1) / kTile * kTile;
}

template <class S, class T> void weight_gradients(const Call& call, const Backward<S>& a, S* weight, S* bias) {
  const std::int64_t chunk = rows_of_chunk(a.rows, a.n), chunks = (a.rows + chunk - 1) / chunk;
  const Scratch parts(call, static_cast<std::size_t>(chunks * 2 * a.n) * sizeof(double));
  const dim3 blocks(blocks_for(a.n, kColumns), static_cast<unsigned>(chunks));
  launch(call, chunk_gradients<S, T>, blocks, kThreads, a, parts.as<double>(), chunk);
  launch(call, join_chunks<S>, blocks_for(2 * a.n), kThreads, parts.as<double>(), chunks, a.n, weight, bias);
}

}  // namespace

template <> void execute(const calls::LayerNorm& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1];
  const Call call(args);
  const unsigned width = row_width(n);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Forward<S> a{data_of<S>(args.x),
                       data_of<S>(args.weight),
                       data_of<S>(args.bias),
                       data_of<S>(args.y),
                       data_of<double>(args.stats),
                       rows,
                       n,
                       args.eps,
                       args.centered};
    launch(call, normalize<S, T>, blocks_for(rows, kThreads / width), kThreads, a, width,
           takes_vectors<S>(n, {a.x, a.weight, a.bias, a.y}));
  });
}

template <> void execute(const calls::LayerNormBackward& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1];
  const Call call(args);
  const unsigned width = row_width(n);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Backward<S> a{
        data_of<S>(args.grad), data_of<S>(args.x), data_of<S>(args.weight), data_of<double>(args.stats), rows, n,
        args.centered};
    S* const grad_x = data_of<S>(args.grad_x);
    if (grad_x != nullptr)
      launch(call, input_gradient<S, T>, blocks_for(rows, kThreads / width), kThreads, a, grad_x, width,
             takes_vectors<S>(n, {a.grad, a.x, a.weight, grad_x}));
    if (args.grad_weight.defined() || args.grad_bias.defined())
      weight_gradients<S, T>(call, a, data_of<S>(args.grad_weight), data_of<S>(args.grad_bias));
  });
}

}  // namespace minnow::cuda
