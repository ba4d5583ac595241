#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/elementwise.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>

namespace minnow::cuda {
namespace {

constexpr std::int64_t kChunk = std::int64_t{kThreads} * kPack * 4;  // elements of a block

/// Dense gradients.  Blocks are numbered over all of them; gradient k has those from first[k] on.
struct DenseTable {
  static constexpr std::size_t kItems = (4096 - 32 - 40) / (sizeof(std::int64_t) + sizeof(void*) + 8);
  std::uint32_t items, blocks;
  std::int64_t numel[kItems];
  void* data[kItems];
  std::uint32_t first[kItems];
  DType dtype[kItems];
  bool packed[kItems];  ///< aligned to packs
};
struct StridedItem {
  void* data;
  DType dtype;
  kernels::Narrow<1> layout;
};

/// The chunk of a block.
struct Chunk {
  void* data;
  DType dtype;
  std::int64_t begin, n, packed;
};

__device__ __forceinline__ Chunk chunk_of(const DenseTable& table) {
  std::uint32_t item = 0, end = table.items;
  while (end - item > 1) {
    const std::uint32_t middle = (item + end) / 2;
    if (table.first[middle] <= blockIdx.x) item = middle;
    else end = middle;
  }
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - table.first[item]) * kChunk;
  const std::int64_t left = table.numel[item] - begin, n = left < kChunk ? left : kChunk;
  return {table.data[item], table.dtype[item], begin, n, table.packed[item] ? n / kPack * kPack : 0};
}

/// Multiplies values, and notes whether one was not finite.
template <class T> struct Scaling {
  const void* factor;
  float* found_inf;
  bool divide, wide;  ///< wide: the factor is float64
  T value = T(0);

  __device__ __forceinline__ void start() {
    const double x =
        wide ? *static_cast<const double*>(factor) : static_cast<double>(*static_cast<const float*>(factor));
    value = divide ? static_cast<T>(static_cast<float>(1 / x)) : static_cast<T>(x);
  }
  template <int Count> __device__ __forceinline__ bool operator()(T (&v)[Count]) const {
    bool found = false;
    for (int u = 0; u < Count; ++u) {
      found = found || !(v[u] - v[u] == T(0));
      v[u] *= value;
    }
    return found;
  }
};

template <class T> __global__ void dense_scale_kernel(DenseTable table, Scaling<T> scaling) {
  scaling.start();
  const Chunk chunk = chunk_of(table);
  bool found = false;
  for (std::int64_t i = threadIdx.x * kPack; i < chunk.packed; i += blockDim.x * kPack) {
    T v[kPack];
    load_pack<Accepts::kSameFamily>(chunk.data, chunk.dtype, chunk.begin + i, v);
    found = scaling(v) || found;
    store_pack<Accepts::kSameFamily>(chunk.data, chunk.dtype, chunk.begin + i, v);
  }
  for (std::int64_t i = chunk.packed + threadIdx.x; i < chunk.n; i += blockDim.x) {
    T v[1] = {load_one<Accepts::kSameFamily, T>(chunk.data, chunk.dtype, chunk.begin + i)};
    found = scaling(v) || found;
    store_one<Accepts::kSameFamily>(chunk.data, chunk.dtype, chunk.begin + i, v[0]);
  }
  if (found && scaling.found_inf != nullptr) *scaling.found_inf = 1;
}

template <class T> __global__ void strided_scale_kernel(StridedItem item, Scaling<T> scaling) {
  scaling.start();
  bool found = false;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < item.layout.numel; i += step) {
    const kernels::Offsets<1> at = item.layout.offsets(i);
    T v[1];
    load_at<Accepts::kAll>(item.data, item.dtype, {at.at[0]}, 1, v);
    found = scaling(v) || found;
    store_at<Accepts::kAll>(item.data, item.dtype, {at.at[0]}, 1, v);
  }
  if (found && scaling.found_inf != nullptr) *scaling.found_inf = 1;
}

/// The sum of the squares of each chunk.
template <class T> __global__ void squares_kernel(DenseTable table, double* sums) {
  const Chunk chunk = chunk_of(table);
  double sum = 0;
  for (std::int64_t i = threadIdx.x * kPack; i < chunk.packed; i += blockDim.x * kPack) {
    T v[kPack];
    load_pack<Accepts::kSameFamily>(chunk.data, chunk.dtype, chunk.begin + i, v);
    for (int u = 0; u < kPack; ++u) sum += static_cast<double>(v[u]) * static_cast<double>(v[u]);
  }
  for (std::int64_t i = chunk.packed + threadIdx.x; i < chunk.n; i += blockDim.x) {
    const T x = load_one<Accepts::kSameFamily, T>(chunk.data, chunk.dtype, chunk.begin + i);
    sum += static_cast<double>(x) * static_cast<double>(x);
  }
  sum = block_join(sum, 0.0, Add());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// By one block.
template <class T>
__global__ void norm_kernel(const double* sums, std::int64_t count, double max_norm, T* norm, T* factor) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
  sum = block_join(sum, 0.0, Add());
  if (threadIdx.x > 0) return;
  *norm = static_cast<T>(sqrt(sum));
  const double wanted = max_norm / (static_cast<double>(*norm) + 1e-6);
  *factor = static_cast<T>(wanted > 1 ? 1.0 : wanted);
}

/// Calls f(table) for the dense gradients that are computed in T, as many at once as a table has room for, and g(grad)
/// for each other one.
template <class T, class F, class G> void for_tables(std::span<const UpdateItem> items, const F& f, const G& g) {
  constexpr Compute kCompute = std::is_same_v<T, double> ? Compute::kDouble : Compute::kFloat;
  DenseTable table{};
  const auto flush = [&] {
    if (table.items > 0) f(table);
    table.items = 0;
    table.blocks = 0;
  };
  for (const UpdateItem& item : items) {
    const View& grad = *item.grad;
    const std::int64_t n = grad.numel();
    if (n == 0 || compute_of(grad.dtype()) != kCompute) continue;
    if (!is_dense(grad.shape(), grad.strides())) {
      g(grad);
      continue;
    }
    const std::int64_t blocks = (n + kChunk - 1) / kChunk;
    if (table.items == DenseTable::kItems || table.blocks + blocks > (std::int64_t{1} << 31) - 1) flush();
    const std::uint32_t at = table.items++;
    table.first[at] = table.blocks;
    table.numel[at] = n;
    table.data[at] = grad.raw_data();
    table.dtype[at] = grad.dtype();
    table.packed[at] = reinterpret_cast<std::uintptr_t>(grad.raw_data()) % kPackAlignment == 0;
    table.blocks += static_cast<std::uint32_t>(blocks);
  }
  flush();
}

template <class T> void scale(const Call& call, const calls::ScaleGradients& args) {
  const View& found = args.found_inf;
  const Scaling<T> scaling{args.factor.raw_data(), found.defined() ? static_cast<float*>(found.raw_data()) : nullptr,
                           args.divide, args.factor.dtype() == DType::float64};
  for_tables<T>(
      args.items,
      [&](const DenseTable& table) { launch(call, dense_scale_kernel<T>, table.blocks, kThreads, table, scaling); },
      [&](const View& grad) {
        const kernels::Layout<1> layout = kernels::collapse<1>(
            grad.shape(), {kernels::Walk{grad.strides(), static_cast<std::int64_t>(grad.itemsize())}});
        kernels::for_narrow_parts(layout, [&](const kernels::Narrow<1>& part, const kernels::Base<1>& base) {
          const StridedItem item{static_cast<char*>(grad.raw_data()) + base.at[0], grad.dtype(), part};
          launch(call, strided_scale_kernel<T>, blocks_for(part.numel), kThreads, item, scaling);
        });
      });
}

template <class T> void norm(const Call& call, const calls::GradientNorm& args) {
  std::int64_t blocks = 0;
  for (const UpdateItem& item : args.items) blocks += (item.grad->numel() + kChunk - 1) / kChunk;
  const Scratch sums(call, static_cast<std::size_t>(blocks) * sizeof(double));
  std::int64_t at = 0;
  for_tables<T>(
      args.items,
      [&](const DenseTable& table) {
        launch(call, squares_kernel<T>, table.blocks, kThreads, table, sums.as<double>() + at);
        at += table.blocks;
      },
      [](const View&) {});
  launch(call, norm_kernel<T>, 1, kThreads, sums.as<double>(), at, args.max_norm, static_cast<T*>(args.norm.raw_data()),
         static_cast<T*>(args.factor.raw_data()));
}

__global__ void update_scale_kernel(float* scale, std::int32_t* tracker, const float* found_inf, double growth,
                                    double backoff, std::int64_t interval) {
  if (*found_inf != 0) {
    *scale = static_cast<float>(static_cast<double>(*scale) * backoff);
    *tracker = 0;
  } else if (++*tracker >= interval) {
    const auto grown = static_cast<float>(static_cast<double>(*scale) * growth);
    if (grown - grown == 0) *scale = grown;
    *tracker = 0;
  }
}

}  // namespace

template <> void execute(const calls::ScaleGradients& args) {
  if (args.items.empty()) return;
  const Call call(args);
  scale<float>(call, args);
  scale<double>(call, args);
}

template <> void execute(const calls::GradientNorm& args) {
  const Call call(args);
  if (args.norm.dtype() == DType::float64) norm<double>(call, args);
  else norm<float>(call, args);
}

template <> void execute(const calls::UpdateScale& args) {
  const Call call(args);
  launch(call, update_scale_kernel, 1, 1, static_cast<float*>(args.scale.raw_data()),
         static_cast<std::int32_t*>(args.growth_tracker.raw_data()),
         static_cast<const float*>(args.found_inf.raw_data()), args.growth_factor, args.backoff_factor,
         args.growth_interval);
}

}  // namespace minnow::cuda
