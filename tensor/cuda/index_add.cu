#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elements.h>
#include <minnow/tensor/cuda/launch.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/strided.h>

namespace minnow::cuda {
namespace {

/// out[line, index[line, i]] += x[line, i] for i in order: the same sum on every run.  No atomics are needed, because
/// the first source that names an element adds all that name it.
struct Sum {
  kernels::Narrow<3> lines;  ///< of out, x, index: all dimensions but the indexed one
  char* out;
  const char* x;
  const char* index;
  std::int64_t n, limit;                      ///< sources and elements of a line
  std::int64_t out_step, x_step, index_step;  ///< along a line, in bytes
  DType dtype;
  bool shared;  ///< all lines have one index
  std::uint32_t* fault;
};

template <class T> __device__ __forceinline__ T load(const char* at, DType dtype) {
  return visit_stored<T>(dtype, [&](auto s) { return widen<T>(*reinterpret_cast<const decltype(s)*>(at)); });
}
template <class T> __device__ __forceinline__ void store(char* at, DType dtype, T value) {
  visit_stored<T>(dtype, [&](auto s) { *reinterpret_cast<decltype(s)*>(at) = narrow<decltype(s)>(value); });
}

__device__ __forceinline__ std::int64_t index_at(const Sum& s, const char* line, std::int64_t i) {
  return *reinterpret_cast<const std::int64_t*>(line + i * s.index_step);
}

/// A thread for each source: for short lines.
template <class T> __global__ void short_sum_kernel(Sum s) {
  const std::int64_t work = s.n * s.lines.numel, step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < work; w += step) {
    const std::int64_t i = w / s.lines.numel;
    const kernels::Offsets<3> at = s.lines.offsets(static_cast<std::uint32_t>(w - i * s.lines.numel));
    const char* const line = s.index + at.at[2];
    const std::int64_t target = index_at(s, line, i);
    if (target < 0 || target >= s.limit) {
      *s.fault = 1;
      continue;
    }
    std::int64_t j = 0;
    while (j < i && index_at(s, line, j) != target) ++j;
    if (j < i) continue;  // an earlier source does it
    char* const out = s.out + at.at[0] + target * s.out_step;
    T sum = load<T>(out, s.dtype);
    for (; j < s.n; ++j) {
      if (index_at(s, line, j) != target) continue;
      sum = kernels::Add::value(sum, load<T>(s.x + at.at[1] + j * s.x_step, s.dtype));
    }
    store(out, s.dtype, sum);
  }
}

/// Whether a source before i has the target; the whole block asks.
__device__ __forceinline__ bool is_taken(const Sum& s, const char* line, std::int64_t i, std::int64_t target) {
  for (std::int64_t j = 0; j < i; j += blockDim.x) {
    const std::int64_t mine = j + threadIdx.x;
    if (__syncthreads_or(mine < i && index_at(s, line, mine) == target)) return true;
  }
  return false;
}

/// A block for each source, its threads at neighbouring lines where these share the index.
template <class T> __global__ void long_sum_kernel(Sum s) {
  __shared__ bool hits[kThreads];
  const std::int64_t tiles = s.shared ? (s.lines.numel + kThreads - 1) / kThreads : s.lines.numel;
  for (std::int64_t w = blockIdx.x; w < s.n * tiles; w += gridDim.x) {
    const std::int64_t i = w / tiles, first = (w - i * tiles) * (s.shared ? kThreads : 1);
    const char* const line = s.index + s.lines.offsets(static_cast<std::uint32_t>(first)).at[2];
    const std::int64_t target = index_at(s, line, i);
    if (target < 0 || target >= s.limit) {
      *s.fault = 1;
      continue;
    }
    if (is_taken(s, line, i, target)) continue;
    const std::int64_t mine = first + threadIdx.x;
    const bool works = s.shared ? mine < s.lines.numel : threadIdx.x == 0;
    const kernels::Offsets<3> at = s.lines.offsets(static_cast<std::uint32_t>(works ? mine : first));
    char* const out = s.out + at.at[0] + target * s.out_step;
    T sum = works ? load<T>(out, s.dtype) : T(0);
    for (std::int64_t j = i; j < s.n; j += kThreads) {
      const std::int64_t other = j + threadIdx.x;
      const bool hit = other < s.n && index_at(s, line, other) == target;
      hits[threadIdx.x] = hit;
      if (!__syncthreads_or(hit)) continue;
      for (int k = 0; works && k < static_cast<int>(kThreads); ++k)
        if (hits[k]) sum = kernels::Add::value(sum, load<T>(s.x + at.at[1] + (j + k) * s.x_step, s.dtype));
      __syncthreads();
    }
    if (works) store(out, s.dtype, sum);
  }
}

template <class T> void run(const Call& call, const Sum& sum) {
  // Up to here a thread reads the index faster than a block agrees on it.
  constexpr std::int64_t kShort = 128;
  if (sum.n <= kShort) {
    launch(call, short_sum_kernel<T>, blocks_for(sum.n * sum.lines.numel), kThreads, sum);
  } else {
    const std::int64_t tiles = sum.shared ? (sum.lines.numel + kThreads - 1) / kThreads : sum.lines.numel;
    launch(call, long_sum_kernel<T>, blocks_for(sum.n * tiles, 1), kThreads, sum);
  }
}

Shape without(const Shape& sizes, int dim) {
  Shape rest = sizes;
  if (rest.rank() > 0) rest.erase(dim);
  return rest;
}
std::int64_t step_of(const Tensor& t, int dim) {
  return t.dim() == 0 ? 0 : t.strides()[dim] * static_cast<std::int64_t>(t.itemsize());
}

/// `along` are the index's strides over x's dimensions.
void add(const Call& call, const Tensor& x, int dim, const Tensor& index, const Strides& along, const Tensor& out) {
  const std::int64_t size = static_cast<std::int64_t>(out.itemsize()), index_size = sizeof(std::int64_t);
  const Strides out_rest = without(out.strides(), dim), x_rest = without(x.strides(), dim);
  const Strides index_rest = without(along, dim);
  Sum sum{};
  sum.n = x.dim() == 0 ? 1 : x.shape()[dim];
  sum.limit = out.dim() == 0 ? 1 : out.shape()[dim];
  sum.out_step = step_of(out, dim), sum.x_step = step_of(x, dim);
  sum.index_step = x.dim() == 0 ? 0 : along[dim] * index_size;
  sum.dtype = out.dtype();
  sum.shared = index.numel() == sum.n;
  sum.fault = call.fault_flag(Fault::index_out_of_range);
  const auto layout =
      kernels::collapse<3>(without(x.shape(), dim), {{out_rest, size}, {x_rest, size}, {index_rest, index_size}});
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<3>& part, const kernels::Base<3>& base) {
    Sum piece = sum;
    piece.lines = part;
    piece.out = static_cast<char*>(out.raw_data()) + base.at[0];
    piece.x = static_cast<const char*>(x.raw_data()) + base.at[1];
    piece.index = static_cast<const char*>(index.raw_data()) + base.at[2];
    switch (compute_of(out.dtype())) {
      case Compute::kFloat: return run<float>(call, piece);
      case Compute::kDouble: return run<double>(call, piece);
      case Compute::kInt64: return run<std::int64_t>(call, piece);
    }
  });
}

}  // namespace

bool CudaBackend::scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  if (index.numel() == 0) return true;
  const Call call("scatter_add", out, {&x, &index});
  add(call, x, dim, index, index.strides(), out);
  return true;
}

bool CudaBackend::index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  if (x.numel() == 0) return true;
  const Call call("index_add", out, {&x, &index});
  Strides along = Shape::filled(x.dim(), 0);
  if (x.dim() > 0) along[dim] = index.dim() == 0 ? 0 : index.strides()[0];
  add(call, x, dim, index, along, out);
  return true;
}

}  // namespace minnow::cuda
