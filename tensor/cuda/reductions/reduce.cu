#include <minnow/tensor/cuda/reductions/reduce.h>

#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>

namespace minnow::cuda {
namespace {

constexpr std::int64_t kShortRow = 16;     // up to here one thread reduces a row
constexpr std::int64_t kWarpRow = 1024;    // up to here one warp does
constexpr std::int64_t kManyBlocks = 512;  // enough for any GPU
constexpr std::int64_t kMostBlocks = 2048;
constexpr std::int64_t kMostParts = 16 * 1024;  // that one block combines
static_assert(kManyBlocks <= kBlockCounters);
constexpr std::int64_t kAlign = 16;

std::int64_t round_up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Splits rows if there are too few blocks, into `most` chunks.  A chunk has at least `least` elements and is a
/// multiple of kAlign.
void split(ReduceLayout& layout, std::int64_t outputs, std::int64_t n, std::int64_t least, std::int64_t most) {
  const std::int64_t blocks = (outputs + layout.per_block - 1) / layout.per_block;
  layout.chunk = std::max<std::int64_t>(n, 1);
  if (blocks >= kManyBlocks || n < 2 * least) return;
  const std::int64_t wanted = std::min({kMostBlocks / blocks, n / least, most});
  layout.chunk = round_up((n + wanted - 1) / wanted, kAlign);
  layout.chunks = (n + layout.chunk - 1) / layout.chunk;
}

bool starts_aligned(const View& x) {
  const auto item = static_cast<std::int64_t>(x.itemsize());
  const auto fits = [&](int d) { return x.shape()[d] == 1 || x.strides()[d] * item % kAlign == 0; };
  return reinterpret_cast<std::uintptr_t>(x.raw_data()) % kAlign == 0 && fits(0) && fits(2);
}

}  // namespace

ReduceLayout reduce_layout(const View& x, bool shared_columns) {
  const std::int64_t n = x.shape()[1], inner = x.shape()[2], outputs = x.shape()[0] * inner;
  ReduceLayout layout{};
  layout.chunks = 1;
  const bool across = inner > 1 && std::abs(x.strides()[2]) < std::abs(x.strides()[1]);
  layout.by_rows = !across && n > kShortRow;
  if (layout.by_rows) {
    layout.threads = kThreads;
    layout.width = n <= kWarpRow ? 32 : kThreads;
    layout.per_block = kThreads / layout.width;
    layout.vectors = x.strides()[1] == 1 && starts_aligned(x);
    split(layout, outputs, n, 8 * 1024, kMostBlocks);
    return layout;
  }
  const ColumnLayout columns = column_layout(outputs, n, shared_columns);
  layout.width = columns.width;
  layout.threads = columns.threads();
  layout.per_block = columns.columns;
  // One block combines the parts of shared columns.
  split(layout, outputs, n, columns.width * 32, shared_columns ? kMostParts / columns.columns : kMostBlocks);
  return layout;
}

ReduceJob reduce_job(const View& x, double p, const View& out, const ReduceLayout& layout) {
  const Shape &shape = x.shape(), &strides = x.strides();
  return {x.raw_data(), x.dtype(), shape[0] * shape[2], shape[1],    shape[2], strides[0], strides[1], strides[2],
          layout.chunk, p,         out.raw_data(),      out.dtype(), nullptr,  nullptr};
}

template <> void execute(const calls::Reduce& args) {
  const View &x = args.x, &out = args.out;
  const int op = args.op;
  const double p = args.p;
  if (out.numel() == 0) return;
  const Call call(args);
  const ReduceLayout layout = reduce_layout(x, true);
  const ReduceJob job = reduce_job(x, p, out, layout);
  if (x.dtype() == DType::float64) reduce_as<double>(call, op, job, layout);
  else if (is_floating_point(x.dtype())) reduce_as<float>(call, op, job, layout);
  else reduce_as<std::int64_t>(call, op, job, layout);
}

}  // namespace minnow::cuda
