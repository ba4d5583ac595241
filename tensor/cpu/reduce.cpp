#include <algorithm>
#include <cstring>
#include <string>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/rows.h>
#include <minnow/tensor/cpu/scratch.h>
#include <minnow/tensor/error.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kRowBlock = 1024;  // rows that one item of a column reduction joins
constexpr std::size_t kAcc = 8;           // bytes of an accumulator: double or int64

/// A reduction of [outer, n, inner]; strides in elements.
struct Job {
  const ReduceLoops* loops;
  const char* data;
  DType dtype;
  Compute compute;
  std::int64_t outer, n, inner;
  std::int64_t so, sn, si;
  double p;
  char* acc;  // [outer * inner] accumulators, or those of the blocks

  std::int64_t item() const { return static_cast<std::int64_t>(size_of(dtype)); }
  bool converts() const { return dtype != dtype_of(compute); }
};

/// Joins elements [begin, end) of the row of output (o, i) to one accumulator.
void join_row(const Job& job, std::int64_t o, std::int64_t i, std::int64_t begin, std::int64_t end, void* acc) {
  const char* from = job.data + (o * job.so + i * job.si + begin * job.sn) * job.item();
  alignas(64) char buffer[kReduceBlock * 8];
  const void* row = dense_row(from, job.sn, job.dtype, job.compute, buffer, end - begin);
  job.loops->row(row, end - begin, job.p, acc);
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

/// Each output's row in blocks of a fixed size; the blocks' results are joined in order.
void reduce_rows(Job& job, std::int64_t bytes) {
  const std::int64_t outputs = job.outer * job.inner;
  const std::int64_t blocks = std::max<std::int64_t>(1, (job.n + kReduceBlock - 1) / kReduceBlock);
  char* parts = job.acc;
  if (blocks > 1)
    parts = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAcc)) +
            static_cast<std::size_t>(outputs) * kAcc;
  job.loops->init(parts, outputs * blocks);
  // Short rows are taken many at a time, so that a thread's share is worth its call.
  const std::int64_t group =
      blocks > 1 ? 1 : std::max<std::int64_t>(1, kReduceBlock / std::max<std::int64_t>(1, job.n));
  parallel_blocks(outputs * blocks, group, bytes, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t output = k / blocks;
      const std::int64_t begin = k % blocks * kReduceBlock;
      join_row(job, output / job.inner, output % job.inner, begin, std::min(job.n, begin + kReduceBlock),
               parts + static_cast<std::size_t>(k) * kAcc);
    }
  });
  if (blocks == 1) return;
  job.loops->init(job.acc, outputs);
  for (std::int64_t k = 0; k < outputs * blocks; ++k) {
    job.loops->merge(parts + static_cast<std::size_t>(k) * kAcc, job.acc + static_cast<std::size_t>(k / blocks) * kAcc,
                     1);
  }
}

/// Dense columns: row after row is joined to a strip of accumulators.
void reduce_columns(Job& job, std::int64_t bytes) {
  const std::int64_t blocks = (job.n + kRowBlock - 1) / kRowBlock;
  const std::int64_t strips = (job.inner + kReduceColumns - 1) / kReduceColumns;
  const std::int64_t outputs = job.outer * job.inner;
  char* parts = job.acc;
  if (blocks > 1)
    parts = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAcc)) +
            static_cast<std::size_t>(outputs) * kAcc;
  job.loops->init(parts, outputs * blocks);
  parallel_for(job.outer * blocks * strips, bytes, [&](std::int64_t k) {
    const std::int64_t left = k % strips * kReduceColumns;
    const std::int64_t block = k / strips % blocks;
    const std::int64_t o = k / strips / blocks;
    join_columns(job, o, block * kRowBlock, std::min(job.n, (block + 1) * kRowBlock), left,
                 std::min(kReduceColumns, job.inner - left),
                 parts + static_cast<std::size_t>((o * blocks + block) * job.inner + left) * kAcc);
  });
  if (blocks == 1) return;
  job.loops->init(job.acc, outputs);
  for (std::int64_t k = 0; k < job.outer * blocks; ++k) {
    job.loops->merge(parts + static_cast<std::size_t>(k * job.inner) * kAcc,
                     job.acc + static_cast<std::size_t>(k / blocks * job.inner) * kAcc, job.inner);
  }
}

}  // namespace

void CpuBackend::reduce(const ReduceParams& params, const Tensor& x, const Tensor& out) {
  const Shape& shape = x.shape();
  const std::int64_t outputs = out.numel();
  if (outputs == 0) return;
  const Compute compute = compute_of(x.dtype());
  const ReduceLoops& l = loops().reduce[static_cast<int>(compute)][params.op];
  if (l.row == nullptr)
    throw BackendError("reduce: operation " + std::to_string(params.op) + " has no loop for " +
                       std::string(name_of(x.dtype())) +
                       "\nthis is an error in minnow: the front end should have refused");
  Job job{&l,
          static_cast<const char*>(x.raw_data()),
          x.dtype(),
          compute,
          shape[0],
          shape[1],
          shape[2],
          x.strides()[0],
          x.strides()[1],
          x.strides()[2],
          params.p,
          nullptr};
  // Accumulators come first in the scratch block; both forms take the same block again for their parts.
  constexpr std::int64_t kFew = 64;
  alignas(64) char few[kFew * kAcc];
  const bool by_columns = job.inner > 1 && job.si == 1 && job.sn != 1;
  const std::int64_t span = by_columns ? kRowBlock : kReduceBlock;
  const std::int64_t blocks = std::max<std::int64_t>(1, (job.n + span - 1) / span);
  const std::size_t needed = static_cast<std::size_t>(outputs * (blocks > 1 ? blocks + 1 : 1)) * kAcc;
  job.acc = outputs <= kFew ? few : static_cast<char*>(scratch(needed));
  const std::int64_t bytes = x.numel() * job.item();
  if (by_columns) reduce_columns(job, bytes);
  else reduce_rows(job, bytes);
  l.finish(job.acc, outputs, job.n, params.p);
  const Compute accumulated = compute == Compute::kInt64 ? Compute::kInt64 : Compute::kDouble;
  loops().store[static_cast<int>(accumulated)][static_cast<int>(out.dtype())](job.acc, out.raw_data(), outputs);
}

namespace {

/// The place of the first largest (or smallest) element of a row; NaN wins.
template <class T> struct Best {
  T value{};
  std::int64_t index = -1;

  void join(const T* x, std::int64_t n, std::int64_t offset, bool largest) {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool better = largest ? x[i] > value : x[i] < value;
      if (index < 0 || better || (x[i] != x[i] && value == value)) {
        value = x[i];
        index = offset + i;
      }
    }
  }
};

template <class T> void arg_rows(const Job& job, bool largest, const Tensor& values, std::int64_t* indices) {
  const ConvertLoop store =
      loops().store[static_cast<int>(job.compute)][values.defined() ? static_cast<int>(values.dtype()) : 0];
  const std::int64_t group = std::max<std::int64_t>(1, kReduceBlock / std::max<std::int64_t>(1, job.n));
  parallel_blocks(
      job.outer * job.inner, group, job.outer * job.n * job.inner * job.item(),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) {
          Best<T> best;
          for (std::int64_t at = 0; at < job.n; at += kReduceBlock) {
            alignas(64) char buffer[kReduceBlock * 8];
            const std::int64_t m = std::min(kReduceBlock, job.n - at);
            const char* from = job.data + (k / job.inner * job.so + k % job.inner * job.si + at * job.sn) * job.item();
            best.join(static_cast<const T*>(dense_row(from, job.sn, job.dtype, job.compute, buffer, m)), m, at,
                      largest);
          }
          indices[k] = best.index;
          if (values.defined())
            store(&best.value, static_cast<char*>(values.raw_data()) + k * static_cast<std::int64_t>(values.itemsize()),
                  1);
        }
      });
}

}  // namespace

void CpuBackend::arg_reduce(bool largest, const Tensor& x, const Tensor& values, const Tensor& indices) {
  if (indices.numel() == 0) return;
  const Shape& s = x.shape();
  const Job job{nullptr,
                static_cast<const char*>(x.raw_data()),
                x.dtype(),
                compute_of(x.dtype()),
                s[0],
                s[1],
                s[2],
                x.strides()[0],
                x.strides()[1],
                x.strides()[2],
                0,
                nullptr};
  std::int64_t* out = static_cast<std::int64_t*>(indices.raw_data());
  switch (job.compute) {
    case Compute::kFloat: return arg_rows<float>(job, largest, values, out);
    case Compute::kDouble: return arg_rows<double>(job, largest, values, out);
    case Compute::kInt64: return arg_rows<std::int64_t>(job, largest, values, out);
  }
}

}  // namespace minnow::cpu
