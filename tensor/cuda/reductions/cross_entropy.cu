#include <algorithm>
#include <limits>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/libraries/dense_copy.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/cuda/reductions/softmax.h>

namespace minnow::cuda {
namespace {

/// A vector of any floating-point dtype.
struct Vector {
  void* data;
  DType dtype;
  std::int64_t stride;

  explicit Vector(const View& t)
      : data(t.raw_data()), dtype(t.dtype()), stride(t.dim() > 0 ? t.strides()[t.dim() - 1] : 1) {}
  __device__ __forceinline__ double get(std::int64_t i) const { return load_floating<double>(data, dtype, i * stride); }
  __device__ __forceinline__ void set(std::int64_t i, double x) const { store_as(data, dtype, i * stride, x); }
};

struct Targets {
  const std::int64_t* data;
  std::int64_t stride, ignored;

  Targets(const View& t, std::int64_t ignore_index)
      : data(static_cast<const std::int64_t*>(t.raw_data())), stride(t.strides()[0]), ignored(ignore_index) {}
  __device__ __forceinline__ std::int64_t operator[](std::int64_t row) const { return data[row * stride]; }
};

constexpr std::int64_t kMostTotalBlocks = 1024;  // if one of them combines the losses of all

/// The losses of some rows.
struct LossSum {
  double sum = 0, rows = 0;  ///< of the rows that are not ignored

  __device__ __forceinline__ LossSum over_block() const {
    return {block_join(sum, 0.0, Add()), block_join(rows, 0.0, Add())};
  }
};

/// Where the losses of all rows are combined.
struct Total {
  Vector out;
  bool wanted, mean;
  LossSum* parts;  ///< of each block
  std::uint32_t* counter;

  /// Called by all threads of all blocks; the last block stores the result.  The order of the additions is fixed.
  __device__ __forceinline__ void add(LossSum own, Vector sums, std::int64_t rows) const {
    LossSum all = own.over_block();
    if (gridDim.x > 1) {
      if (threadIdx.x == 0) parts[blockIdx.x] = all;
      if (!is_last_block(counter, gridDim.x)) return;
      const volatile LossSum* each = parts;
      own = LossSum();
      for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
        own.sum += each[k].sum;
        own.rows += each[k].rows;
      }
      all = own.over_block();
    }
    if (threadIdx.x != 0) return;
    sums.set(2 * rows, all.sum);
    sums.set(2 * rows + 1, all.rows);
    out.set(0, mean ? all.sum / all.rows : all.sum);
  }
};

/// `width` threads (a warp or the block) read a row once.
template <class S, class T>
__global__ void forward(const S* __restrict__ x, std::int64_t rows, std::int64_t n, Targets targets, Vector losses,
                        Vector sums, Total total, unsigned width, bool vectors, std::uint32_t* fault) {
  LossSum own;
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  for (std::int64_t r = blockIdx.x * per_block + row; r < rows; r += gridDim.x * per_block) {
    const std::int64_t target = targets[r];
    const bool ignored = target == targets.ignored;
    if (!ignored && (target < 0 || target >= n)) {
      if (thread == 0) *fault = 1;
      continue;
    }
    ExpSum<T> sum = ExpSum<T>::nothing();
    sum.add_row(x + r * n, thread, n, width, vectors);
    sum = group_join(width, sum, ExpSum<T>::nothing(), JoinExpSums());
    if (thread != 0) continue;
    sums.set(r, static_cast<double>(sum.most));
    sums.set(rows + r, sum.sum);
    const double loss = ignored ? 0.0 : sum.log_sum_exp_minus(widen<double>(x[r * n + target]));
    losses.set(r, loss);
    own.sum += loss;
    own.rows += ignored ? 0.0 : 1.0;
  }
  if (total.wanted) total.add(own, sums, rows);
}

/// grad (softmax(x) - [i == target]) for each row; long rows are shared by several blocks.
template <class S, class T>
__global__ void backward(const S* __restrict__ x, S* __restrict__ grad_x, std::int64_t rows, std::int64_t n,
                         std::int64_t chunk, Targets targets, Vector grad, Vector sums, bool mean, unsigned width,
                         bool vectors) {
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, per_block = blockDim.x / width;
  const std::int64_t begin = blockIdx.y * chunk, end = begin + chunk < n ? begin + chunk : n;
  for (std::int64_t r = blockIdx.x * per_block + row; r < rows; r += gridDim.x * per_block) {
    const std::int64_t target = targets[r];
    const bool none = target == targets.ignored || target < 0 || target >= n;
    const double of_row = none ? 0.0 : mean ? grad.get(r) / sums.get(2 * rows + 1) : grad.get(r);
    const T factor = static_cast<T>(of_row);
    const T shift = none ? T(0) : static_cast<T>(sums.get(r));
    // A row with a logit of infinity has no gradient, as log_softmax has none.
    using Limits = std::numeric_limits<T>;
    const T scale = none                          ? T(0)
                    : shift == Limits::infinity() ? Limits::quiet_NaN()
                                                  : static_cast<T>(of_row / sums.get(rows + r));
    const S* from = x + r * n;
    S* to = grad_x + r * n;
    for_some<S>(begin, end, thread, width, vectors, [&]<int kCount>(std::int64_t i) {
      T some[kCount];
      load_some(from + i, some);
      for (int u = 0; u < kCount; ++u) {
        some[u] = none ? T(0) : scale * kernels::math::exp(some[u] - shift);
        if (i + u == target) some[u] -= factor;
      }
      store_some(to + i, some);
    });
  }
}

/// [S, C, inner] as [S, inner, C].
View columns_last(const View& t) {
  const Shape& s = t.shape();
  return View(t.storage(), t.dtype(), {s[0], s[2], s[1]}, {s[1] * s[2], 1, s[2]}, t.storage_offset());
}
/// The rows [N, C] of such a contiguous tensor.
View as_rows(const View& t) {
  const std::int64_t n = t.shape()[2];
  return View(t.storage(), t.dtype(), {t.shape()[0] * t.shape()[1], n}, {n, 1}, t.storage_offset());
}

unsigned row_width(std::int64_t n) { return n <= 1024 ? kWarp : kThreads; }

}  // namespace

template <> Outcome execute(const calls::CrossEntropy& args) {
  const View &logits = args.logits, &target = args.target, &losses = args.losses, &exp_sums = args.exp_sums;
  const std::int64_t rows = logits.shape()[0], n = logits.shape()[1];
  if (rows == 0) return Outcome::ok;
  const Call call(args);
  if (logits.dim() == 3) {
    const View each = as_rows(packed(call, columns_last(logits)));
    return execute(calls::CrossEntropy{each, target, losses, args.total, exp_sums, args.ignore_index, args.mean});
  }
  const unsigned width = row_width(n);
  const bool with_total = args.total.defined();
  const unsigned blocks =
      with_total ? blocks_for(rows, kThreads / width, kMostTotalBlocks) : blocks_for(rows, kThreads / width);
  const bool shared = with_total && blocks > 1;
  const Scratch parts(call, shared ? blocks * sizeof(LossSum) : 0);
  const Total total{Vector(with_total ? args.total : losses), with_total, args.mean, parts.as<LossSum>(),
                    shared ? block_counters(call) : nullptr};
  visit_floating(logits.dtype(), [&]<class S, class T>() {
    const auto* x = static_cast<const S*>(logits.raw_data());
    launch(call, forward<S, T>, blocks, kThreads, x, rows, n, Targets(target, args.ignore_index), Vector(losses),
           Vector(exp_sums), total, width, takes_vectors<S>(n, {x}), call.fault_flag(Fault::target_out_of_range));
  });
  return Outcome::ok;
}

template <> void execute(const calls::CrossEntropyBackward& args) {
  const View &grad = args.grad, &logits = args.logits, &target = args.target, &exp_sums = args.exp_sums,
             &grad_logits = args.grad_logits;
  if (logits.numel() == 0) return;
  const std::int64_t rows = logits.shape()[0], n = logits.shape()[1];
  const Call call(args);
  if (logits.dim() == 3) {
    const View from = packed(call, columns_last(logits)), to = scratch(call, from.shape(), logits.dtype());
    execute(
        calls::CrossEntropyBackward{grad, as_rows(from), target, exp_sums, as_rows(to), args.ignore_index, args.mean});
    return convert(to, columns_last(grad_logits));
  }
  constexpr std::int64_t kChunk = 8192, kMostChunks = 1024, kAlign = 16;
  const std::int64_t chunks = std::clamp<std::int64_t>((n + kChunk - 1) / kChunk, 1, kMostChunks);
  const std::int64_t chunk = (n + chunks * kAlign - 1) / (chunks * kAlign) * kAlign;
  const unsigned width = row_width(n);
  const dim3 blocks(blocks_for(rows, kThreads / width), static_cast<unsigned>(chunks));
  visit_floating(logits.dtype(), [&]<class S, class T>() {
    const auto* x = static_cast<const S*>(logits.raw_data());
    auto* grad_x = static_cast<S*>(grad_logits.raw_data());
    launch(call, backward<S, T>, blocks, kThreads, x, grad_x, rows, n, chunk, Targets(target, args.ignore_index),
           Vector(grad), Vector(exp_sums), args.mean, width, takes_vectors<S>(n, {x, grad_x}));
  });
}

}  // namespace minnow::cuda
