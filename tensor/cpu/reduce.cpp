#include <algorithm>
#include <cstring>
#include <string>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/rows.h>
#include <minnow/tensor/cpu/scratch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kRowBlock = 256;  // rows that one item of a column reduction joins
constexpr std::size_t kAcc = 8;          // bytes of an accumulator: double or int64

/// A reduction of [outer, n, inner]; strides in elements.
struct Job {
  const ReduceLoops* loops;
  const char* data;
  DType dtype;
  Compute compute;
  std::int64_t outer, n, inner;
  std::int64_t so, sn, si;
  double p;
  char* out;
  std::int64_t out_size;  // bytes of an element of it
  ConvertLoop store;

  /// Writes the results of outputs from `first` on, of which acc holds everything.
  void finish(char* acc, std::int64_t first, std::int64_t count) const {
    loops->finish(acc, count, n, p);
    store(acc, out + first * out_size, count);
  }
  std::int64_t item() const { return static_cast<std::int64_t>(size_of(dtype)); }
  bool converts() const { return dtype != dtype_of(compute); }
};

/// Joins n elements of each of `count` rows, `stride` elements apart, to their accumulators.
void join_rows(const Job& job, const char* from, std::int64_t stride, std::int64_t count, std::int64_t n, void* acc) {
  if (job.sn == 1 && !job.converts()) {
    job.loops->rows(from, stride, count, n, job.p, acc);
    return;
  }
  alignas(64) char buffer[kReduceBlock * 8];
  const std::int64_t fit = kReduceBlock / std::max<std::int64_t>(1, n);
  if (count > fit) {
    join_rows(job, from, stride, fit, n, acc);
    join_rows(job, from + fit * stride * job.item(), stride, count - fit, n,
              static_cast<char*>(acc) + static_cast<std::size_t>(fit) * kAcc);
    return;
  }
  const ConvertLoop load = loops().load[static_cast<int>(job.dtype)][static_cast<int>(job.compute)];
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype_of(job.compute)));
  if (job.sn == 1 && stride == n) {
    load(from, buffer, count * n);
  } else {
    for (std::int64_t r = 0; r < count; ++r) {
      char* to = buffer + r * n * size;
      const void* row = dense_row(from + r * stride * job.item(), job.sn, job.dtype, job.compute, to, n);
      if (row != to) std::memcpy(to, row, static_cast<std::size_t>(n * size));
    }
  }
  job.loops->rows(buffer, n, count, n, job.p, acc);
}

/// Joins rows [begin, end) of columns [left, left + cols) of slice o to their accumulators.
void join_columns(const Job& job, std::int64_t o, std::int64_t begin, std::int64_t end, std::int64_t left,
                  std::int64_t cols, void* acc) {
  const char* from = job.data + (o * job.so + left) * job.item();
  if (!job.converts()) {
    job.loops->columns(from + begin * job.sn * job.item(), job.sn, end - begin, cols, job.p, acc);
    return;
  }
  constexpr std::int64_t kStrip = 16;
  alignas(64) char buffer[kStrip * kReduceColumns * 8];
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype_of(job.compute)));
  const ConvertLoop load = loops().load[static_cast<int>(job.dtype)][static_cast<int>(job.compute)];
  for (std::int64_t r = begin; r < end; r += kStrip) {
    const std::int64_t rows = std::min(kStrip, end - r);
    for (std::int64_t k = 0; k < rows; ++k)
      load(from + (r + k) * job.sn * job.item(), buffer + k * kReduceColumns * size, cols);
    job.loops->columns(buffer, kReduceColumns, rows, cols, job.p, acc);
  }
}

/// Rows of an item of work: enough that its call is worth while, and that vectors of results are full.
std::int64_t rows_at_a_time(std::int64_t n) {
  return std::max<std::int64_t>(32, kReduceBlock / std::max<std::int64_t>(4, n));
}

/// Each output's row in one piece; short ones many at a time, so that a thread's share is worth its call.
void reduce_short_rows(const Job& job, std::int64_t bytes) {
  const std::int64_t group = rows_at_a_time(job.n);
  parallel_blocks(job.outer * job.inner, group, bytes, [&](std::int64_t first, std::int64_t last) {
    alignas(64) char acc[kReduceBlock / 4 * kAcc];
    job.loops->init(acc, last - first);
    for (std::int64_t k = first; k < last;) {
      const std::int64_t o = k / job.inner, i = k % job.inner;
      // Neighbouring outputs; where the inner dimension is 1 they are all of the outer one's.
      const std::int64_t count = job.inner == 1 ? last - k : std::min(last - k, job.inner - i);
      join_rows(job, job.data + (o * job.so + i * job.si) * job.item(), job.inner == 1 ? job.so : job.si, count, job.n,
                acc + static_cast<std::size_t>(k - first) * kAcc);
      k += count;
    }
    job.finish(acc, first, last - first);
  });
}

/// Each output's row in blocks of a fixed size; the blocks' results are joined in order.
void reduce_long_rows(const Job& job, std::int64_t bytes) {
  const std::int64_t outputs = job.outer * job.inner;
  const std::int64_t blocks = (job.n + kReduceBlock - 1) / kReduceBlock;
  char* acc = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAcc));
  char* parts = acc + static_cast<std::size_t>(outputs) * kAcc;
  job.loops->init(parts, outputs * blocks);
  parallel_for(outputs * blocks, bytes, [&](std::int64_t k) {
    const std::int64_t o = k / blocks / job.inner, i = k / blocks % job.inner, begin = k % blocks * kReduceBlock;
    join_rows(job, job.data + (o * job.so + i * job.si + begin * job.sn) * job.item(), 0, 1,
              std::min(job.n - begin, kReduceBlock), parts + static_cast<std::size_t>(k) * kAcc);
  });
  job.loops->init(acc, outputs);
  for (std::int64_t k = 0; k < outputs * blocks; ++k)
    job.loops->merge(parts + static_cast<std::size_t>(k) * kAcc, acc + static_cast<std::size_t>(k / blocks) * kAcc, 1);
  job.finish(acc, 0, outputs);
}

/// Dense columns: row after row is joined to a strip of accumulators.
void reduce_columns(const Job& job, std::int64_t bytes) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (job.n + kRowBlock - 1) / kRowBlock);
  const std::int64_t strips = (job.inner + kReduceColumns - 1) / kReduceColumns;
  if (blocks == 1) {
    parallel_for(job.outer * strips, bytes, [&](std::int64_t k) {
      const std::int64_t left = k % strips * kReduceColumns, o = k / strips;
      const std::int64_t cols = std::min(kReduceColumns, job.inner - left);
      alignas(64) char acc[kReduceColumns * kAcc];
      job.loops->init(acc, cols);
      join_columns(job, o, 0, job.n, left, cols, acc);
      job.finish(acc, o * job.inner + left, cols);
    });
    return;
  }
  const std::int64_t outputs = job.outer * job.inner;
  char* acc = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAcc));
  char* parts = acc + static_cast<std::size_t>(outputs) * kAcc;
  job.loops->init(parts, outputs * blocks);
  parallel_for(job.outer * blocks * strips, bytes, [&](std::int64_t k) {
    const std::int64_t left = k % strips * kReduceColumns;
    const std::int64_t block = k / strips % blocks;
    const std::int64_t o = k / strips / blocks;
    join_columns(job, o, block * kRowBlock, std::min(job.n, (block + 1) * kRowBlock), left,
                 std::min(kReduceColumns, job.inner - left),
                 parts + static_cast<std::size_t>((o * blocks + block) * job.inner + left) * kAcc);
  });
  job.loops->init(acc, outputs);
  for (std::int64_t k = 0; k < job.outer * blocks; ++k) {
    job.loops->merge(parts + static_cast<std::size_t>(k * job.inner) * kAcc,
                     acc + static_cast<std::size_t>(k / blocks * job.inner) * kAcc, job.inner);
  }
  job.finish(acc, 0, outputs);
}

}  // namespace

template <> void execute(const calls::Reduce& args) {
  const View &x = args.x, &out = args.out;
  const int op = args.op;
  const Shape& shape = x.shape();
  const std::int64_t outputs = out.numel();
  if (outputs == 0) return;
  const Compute compute = compute_of(x.dtype());
  const ReduceLoops& l = loops().reduce[static_cast<int>(compute)][op];
  if (l.rows == nullptr)
    throw BackendError("reduce: operation " + std::to_string(op) + " has no loop for " +
                       std::string(name_of(x.dtype())) +
                       "\nthis is an error in minnow: the front end should have refused");
  const Compute accumulated = compute == Compute::kInt64 ? Compute::kInt64 : Compute::kDouble;
  const Job job{&l,
                static_cast<const char*>(x.raw_data()),
                x.dtype(),
                compute,
                shape[0],
                shape[1],
                shape[2],
                x.strides()[0],
                x.strides()[1],
                x.strides()[2],
                args.p,
                static_cast<char*>(out.raw_data()),
                static_cast<std::int64_t>(out.itemsize()),
                loops().store[static_cast<int>(accumulated)][static_cast<int>(out.dtype())]};
  const std::int64_t bytes = x.numel() * job.item();
  if (job.inner > 1 && job.si == 1 && job.sn != 1) reduce_columns(job, bytes);
  else if (job.n <= kReduceBlock) reduce_short_rows(job, bytes);
  else reduce_long_rows(job, bytes);
}

namespace {

/// The place of the first largest (or smallest) element of a row; NaN wins.
template <class T> struct Best {
  T value{};
  std::int64_t index = -1;

  void join(T x, std::int64_t at, bool largest) {
    const bool better = largest ? x > value : x < value;
    const bool take = (index < 0) | better | ((x != x) & (value == value));
    value = take ? x : value;
    index = take ? at : index;
  }
};

/// Rows of one job, whose results go to `values` (where wanted) and `indices`.
struct ArgJob {
  const Job& job;
  bool largest;
  const View& values;
  std::int64_t* indices;
  ConvertLoop store;

  const char* row(std::int64_t k) const {
    return job.data + (k / job.inner * job.so + k % job.inner * job.si) * job.item();
  }
  void put(std::int64_t k, const void* best, std::int64_t count) const {
    if (values.defined())
      store(best, static_cast<char*>(values.raw_data()) + k * static_cast<std::int64_t>(values.itemsize()), count);
  }
};

/// One row, in blocks.
template <class T> void arg_row(const ArgJob& a, std::int64_t k) {
  const Job& job = a.job;
  Best<T> best;
  for (std::int64_t at = 0; at < job.n; at += kReduceBlock) {
    alignas(64) char buffer[kReduceBlock * 8];
    const std::int64_t m = std::min(kReduceBlock, job.n - at);
    const T* x = static_cast<const T*>(
        dense_row(a.row(k) + at * job.sn * job.item(), job.sn, job.dtype, job.compute, buffer, m));
    if constexpr (std::is_same_v<T, float>) {
      T value;
      std::int64_t place;
      loops().arg_rows(x, 0, 1, m, a.largest, &value, &place);
      best.join(value, at + place, a.largest);
    } else {
      for (std::int64_t i = 0; i < m; ++i) best.join(x[i], at + i, a.largest);
    }
  }
  a.indices[k] = best.index;
  a.put(k, &best.value, 1);
}

template <class T> void arg_rows(const ArgJob& a) {
  const Job& job = a.job;
  const std::int64_t group = rows_at_a_time(job.n);
  const bool dense = job.dtype == DType::float32 && job.sn == 1 && job.inner == 1 && job.n <= kReduceBlock;
  parallel_blocks(job.outer * job.inner, group, job.outer * job.n * job.inner * job.item(),
                  [&](std::int64_t first, std::int64_t last) {
                    if (dense) {
                      float best[kReduceBlock / 4];
                      loops().arg_rows(reinterpret_cast<const float*>(a.row(first)), job.so, last - first, job.n,
                                       a.largest, best, a.indices + first);
                      a.put(first, best, last - first);
                    } else {
                      for (std::int64_t k = first; k < last; ++k) arg_row<T>(a, k);
                    }
                  });
}

}  // namespace

template <> void execute(const calls::ArgReduce& args) {
  const View &x = args.x, &values = args.values, &indices = args.indices;
  if (indices.numel() == 0) return;
  const Shape& s = x.shape();
  const Compute compute = compute_of(x.dtype());
  const Job job{nullptr,
                static_cast<const char*>(x.raw_data()),
                x.dtype(),
                compute,
                s[0],
                s[1],
                s[2],
                x.strides()[0],
                x.strides()[1],
                x.strides()[2],
                0,
                nullptr,
                0,
                nullptr};
  const ArgJob a{job, args.largest, values, static_cast<std::int64_t*>(indices.raw_data()),
                 loops().store[static_cast<int>(compute)][values.defined() ? static_cast<int>(values.dtype()) : 0]};
  switch (compute) {
    case Compute::kFloat: return arg_rows<float>(a);
    case Compute::kDouble: return arg_rows<double>(a);
    case Compute::kInt64: return arg_rows<std::int64_t>(a);
  }
}

}  // namespace minnow::cpu
