#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/copy_unit.h>
#include <minnow/tensor/cuda/elementwise/elementwise_kernels.h>
#include <minnow/tensor/kernels/rounded.h>

namespace minnow::cuda {
namespace {

struct Identity : Body<1, Accepts::kAll, Accepts::kAll> {
  template <class T> MINNOW_HD static T value(T x, T, T) { return x; }
};

/// Copies elements of any dtype unchanged.
template <class Unit> __global__ void move_kernel(kernels::Narrow<2> layout, char* to, const char* from) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < layout.numel; i += step) {
    const kernels::Offsets<2> at = layout.offsets(i);
    *reinterpret_cast<Unit*>(to + at.at[0]) = *reinterpret_cast<const Unit*>(from + at.at[1]);
  }
}

/// A batch of matrices with dense rows in one tensor and dense columns in the other: to[r, c] = from[c, r].  Strides
/// are in bytes.
struct Transpose {
  std::int64_t rows, cols;
  std::int64_t to_row, from_col;
  std::int64_t tiles_down, tiles_across;
  kernels::Narrow<2> batch;
};

constexpr int kTile = 32;

/// Reads and writes whole rows of tiles; tiles are transposed in shared memory.
template <class Unit> __global__ void transpose_kernel(Transpose t, char* to, const char* from) {
  __shared__ Unit tile[kTile][kTile + 1];
  constexpr std::int64_t kSize = sizeof(Unit);
  const int lane = static_cast<int>(threadIdx.x) % kTile, line = static_cast<int>(threadIdx.x) / kTile;
  const int lines = static_cast<int>(blockDim.x) / kTile;
  const std::int64_t tiles = t.tiles_down * t.tiles_across * t.batch.numel;
  for (std::int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const std::int64_t c0 = i % t.tiles_across * kTile, r0 = i / t.tiles_across % t.tiles_down * kTile;
    const kernels::Offsets<2> at = t.batch.offsets(static_cast<std::uint32_t>(i / (t.tiles_across * t.tiles_down)));
    for (int k = line; k < kTile; k += lines) {
      const std::int64_t r = r0 + lane, c = c0 + k;
      if (r < t.rows && c < t.cols)
        tile[k][lane] = *reinterpret_cast<const Unit*>(from + at.at[1] + c * t.from_col + r * kSize);
    }
    __syncthreads();
    for (int k = line; k < kTile; k += lines) {
      const std::int64_t r = r0 + k, c = c0 + lane;
      if (r < t.rows && c < t.cols) *reinterpret_cast<Unit*>(to + at.at[0] + r * t.to_row + c * kSize) = tile[lane][k];
    }
    __syncthreads();
  }
}

/// Whether a copy is a transpose: different dimensions are dense.  `batch` gets the other dimensions.
bool find_transpose(const kernels::Layout<2>& layout, std::int64_t itemsize, Transpose& t, kernels::Layout<2>& batch) {
  constexpr std::int64_t kLeast = 8;
  const int last = layout.rank - 1;
  int turned = -1;
  for (int d = 0; d < last; ++d)
    if (layout.strides[1][d] == itemsize && layout.sizes[d] >= kLeast) turned = d;
  if (turned < 0 || layout.sizes[last] < kLeast || layout.strides[0][last] != itemsize) return false;
  t.rows = layout.sizes[turned], t.cols = layout.sizes[last];
  t.to_row = layout.strides[0][turned], t.from_col = layout.strides[1][last];
  t.tiles_down = (t.rows + kTile - 1) / kTile, t.tiles_across = (t.cols + kTile - 1) / kTile;
  for (int d = 0; d < last; ++d) {
    if (d == turned) continue;
    batch.sizes[batch.rank] = layout.sizes[d];
    batch.numel *= layout.sizes[d];
    for (int k = 0; k < 2; ++k) batch.strides[k][batch.rank] = layout.strides[k][d];
    ++batch.rank;
  }
  if (batch.rank == 0) batch.rank = 1, batch.sizes[0] = 1;
  return true;
}

void copy_same_dtype(const Call& call, const View& from, const View& to) {
  if (same_dense_layout(to.shape(), from.strides(), to.strides())) {
    check(cudaMemcpyAsync(to.raw_data(), from.raw_data(), static_cast<std::size_t>(to.nbytes()),
                          cudaMemcpyDeviceToDevice, call.stream()),
          "copy");
    return;
  }
  const std::int64_t itemsize = static_cast<std::int64_t>(to.itemsize());
  kernels::Layout<2> layout = kernels::collapse<2>(to.shape(), {{to.strides(), itemsize}, {from.strides(), itemsize}});
  char* target = static_cast<char*>(to.raw_data());
  const char* source = static_cast<const char*>(from.raw_data());
  Transpose t{};
  kernels::Layout<2> batch;
  if (find_transpose(layout, itemsize, t, batch)) {
    kernels::for_narrow_parts(batch, [&](const kernels::Narrow<2>& part, const kernels::Base<2>& base) {
      t.batch = part;
      const std::int64_t tiles = t.tiles_down * t.tiles_across * part.numel;
      visit_unit(itemsize, [&]<class Unit>(Unit) {
        launch(call, transpose_kernel<Unit>, blocks_for(tiles, 1), kThreads, t, target + base.at[0],
               source + base.at[1]);
      });
    });
    return;
  }
  const std::int64_t unit = kernels::widen<2, 2>(layout, itemsize, {target, source});
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<2>& part, const kernels::Base<2>& base) {
    visit_unit(unit, [&]<class Unit>(Unit) {
      launch(call, move_kernel<Unit>, blocks_for(part.numel), kThreads, part, target + base.at[0], source + base.at[1]);
    });
  });
}

template <class T> __device__ T element(std::int64_t i, T start, T by) {
  if constexpr (std::is_integral_v<T>) return start + i * by;
  else return kernels::mul_add(static_cast<T>(i), by, start);
}

template <class T>
__global__ void arange_kernel(void* out, DType dtype, std::int64_t n, T start, T by, std::int64_t first) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    store_one<Accepts::kAll>(out, dtype, i, element<T>(first + i, start, by));
}

}  // namespace

template <class T> const Loops<1>& copy_loops() {
  static constexpr Loops<1> loops = loops_of<Identity, T>();
  return loops;
}
template const Loops<1>& copy_loops<float>();
template const Loops<1>& copy_loops<double>();
template const Loops<1>& copy_loops<std::int64_t>();

template <> void execute(const calls::Copy& args) {
  const View &from = args.from, &to = args.to;
  if (to.numel() == 0) return;
  const Call call(args);
  if (from.dtype() == to.dtype()) return copy_same_dtype(call, from, to);
  copier(compute_of(from.dtype()))(call, to.shape(), Elements(to), {Elements(from)});
}

template <> void execute(const calls::Fill& args) {
  const View& out = args.out;
  const Scalar value = args.value;
  const Call call(args);
  const Compute compute = is_floating_point(value.dtype()) ? Compute::kDouble : Compute::kInt64;
  copier(compute)(call, out.shape(), Elements(out), {Elements(value, out.dim())});
}

template <> void execute(const calls::Arange& args) {
  const View& out = args.out;
  const double start = args.start, step = args.step;
  if (out.numel() == 0) return;
  const Call call(args);
  const unsigned blocks = blocks_for(out.numel());
  if (is_integral(out.dtype()))
    launch(call, arange_kernel<std::int64_t>, blocks, kThreads, out.raw_data(), out.dtype(), out.numel(), start, step,
           args.first);
  else
    launch(call, arange_kernel<double>, blocks, kThreads, out.raw_data(), out.dtype(), out.numel(), start, step,
           args.first);
}

}  // namespace minnow::cuda
