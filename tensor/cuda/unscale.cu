#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/elementwise.h>

namespace minnow::cuda {
namespace {

constexpr std::int64_t kChunk = std::int64_t{kThreads} * kPack * 4;  // elements of a block

/// Dense gradients.  Blocks are numbered over all of them; gradient k has those from first[k] on.
struct DenseTable {
  static constexpr std::size_t kItems = (4096 - 32) / (sizeof(std::int64_t) + sizeof(void*) + 8);
  const float* scale;
  float* found_inf;
  std::uint32_t items, blocks;
  std::int64_t numel[kItems];
  void* data[kItems];
  std::uint32_t first[kItems];
  DType dtype[kItems];
  bool packed[kItems];  ///< aligned to packs
};
struct StridedItem {
  const float* scale;
  float* found_inf;
  void* data;
  DType dtype;
  kernels::Narrow<1> layout;
};

/// Multiplies values and returns whether one was not finite.
template <class T, int Count> __device__ __forceinline__ bool multiply(T (&v)[Count], T factor) {
  bool found = false;
  for (int u = 0; u < Count; ++u) {
    found = found || !(v[u] - v[u] == T(0));
    v[u] *= factor;
  }
  return found;
}

template <class T> __device__ __forceinline__ T factor_of(const float* scale) {
  return static_cast<T>(static_cast<float>(1 / static_cast<double>(*scale)));
}

template <class T> __global__ void dense_unscale_kernel(DenseTable table) {
  const T factor = factor_of<T>(table.scale);
  std::uint32_t item = 0, end = table.items;
  while (end - item > 1) {
    const std::uint32_t middle = (item + end) / 2;
    if (table.first[middle] <= blockIdx.x) item = middle;
    else end = middle;
  }
  void* const data = table.data[item];
  const DType dtype = table.dtype[item];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - table.first[item]) * kChunk;
  const std::int64_t left = table.numel[item] - begin;
  const std::int64_t n = left < kChunk ? left : kChunk;
  const std::int64_t packed = table.packed[item] ? n / kPack * kPack : 0;
  bool found = false;
  for (std::int64_t i = threadIdx.x * kPack; i < packed; i += blockDim.x * kPack) {
    T v[kPack];
    load_pack<Accepts::kSameFamily>(data, dtype, begin + i, v);
    found = multiply(v, factor) || found;
    store_pack<Accepts::kSameFamily>(data, dtype, begin + i, v);
  }
  for (std::int64_t i = packed + threadIdx.x; i < n; i += blockDim.x) {
    T v[1] = {load_one<Accepts::kSameFamily, T>(data, dtype, begin + i)};
    found = multiply(v, factor) || found;
    store_one<Accepts::kSameFamily>(data, dtype, begin + i, v[0]);
  }
  if (found) *table.found_inf = 1;
}

template <class T> __global__ void strided_unscale_kernel(StridedItem item) {
  const T factor = factor_of<T>(item.scale);
  bool found = false;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < item.layout.numel; i += step) {
    const kernels::Offsets<1> at = item.layout.offsets(i);
    T v[1];
    load_at<Accepts::kAll>(item.data, item.dtype, {at.at[0]}, 1, v);
    found = multiply(v, factor) || found;
    store_at<Accepts::kAll>(item.data, item.dtype, {at.at[0]}, 1, v);
  }
  if (found) *item.found_inf = 1;
}

template <class T> void run_strided(const Call& call, const calls::Unscale& args, const View& grad) {
  const kernels::Layout<1> layout =
      kernels::collapse<1>(grad.shape(), {kernels::Walk{grad.strides(), static_cast<std::int64_t>(grad.itemsize())}});
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<1>& part, const kernels::Base<1>& base) {
    const StridedItem item{static_cast<const float*>(args.scale.raw_data()),
                           static_cast<float*>(args.found_inf.raw_data()),
                           static_cast<char*>(grad.raw_data()) + base.at[0], grad.dtype(), part};
    launch(call, strided_unscale_kernel<T>, blocks_for(part.numel), kThreads, item);
  });
}

/// All gradients that are computed in T, the dense ones in as few launches as their table allows.
template <class T> void run(const Call& call, const calls::Unscale& args) {
  constexpr Compute kCompute = std::is_same_v<T, double> ? Compute::kDouble : Compute::kFloat;
  DenseTable table{};
  static_assert(sizeof(table) <= 4096);
  table.scale = static_cast<const float*>(args.scale.raw_data());
  table.found_inf = static_cast<float*>(args.found_inf.raw_data());
  const auto flush = [&] {
    if (table.items > 0) launch(call, dense_unscale_kernel<T>, table.blocks, kThreads, table);
    table.items = 0;
    table.blocks = 0;
  };
  for (const UpdateItem& item : args.items) {
    const View& grad = *item.grad;
    const std::int64_t n = grad.numel();
    if (n == 0 || compute_of(grad.dtype()) != kCompute) continue;
    if (!is_dense(grad.shape(), grad.strides())) {
      run_strided<T>(call, args, grad);
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

template <> void execute(const calls::Unscale& args) {
  if (args.items.empty()) return;
  const Call call(args);
  run<float>(call, args);
  run<double>(call, args);
}

template <> void execute(const calls::UpdateScale& args) {
  const Call call(args);
  launch(call, update_scale_kernel, 1, 1, static_cast<float*>(args.scale.raw_data()),
         static_cast<std::int32_t*>(args.growth_tracker.raw_data()),
         static_cast<const float*>(args.found_inf.raw_data()), args.growth_factor, args.backoff_factor,
         args.growth_interval);
}

}  // namespace minnow::cuda
