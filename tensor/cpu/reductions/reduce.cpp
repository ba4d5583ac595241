#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/rows.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kRowBlock = 256;       // rows in an item of a column reduction
constexpr std::size_t kAccumulatorBytes = 8;  // double or int64

/// A reduction of [outer, n, inner]; strides in elements.
struct Reduction {
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
  bool own = false;  // the loops take the elements as they are

  /// Writes `count` results from `first` on, whose accumulators are complete.
  void finish(char* acc, std::int64_t first, std::int64_t count) const {
    loops->finish(acc, count, n, p);
    store(acc, out + first * out_size, count);
  }
  std::int64_t item() const { return static_cast<std::int64_t>(size_of(dtype)); }
  bool converts() const { return dtype != dtype_of(compute) && !own; }
};

/// Copies n elements, `stride` apart, to a buffer of the compute type.
void copy_row(const Reduction& reduction, const char* from, std::int64_t stride, char* to, std::int64_t n) {
  const void* row = dense_row(from, stride, reduction.dtype, reduction.compute, to, n);
  if (row != to && n > 0) std::memcpy(to, row, static_cast<std::size_t>(n) * size_of(dtype_of(reduction.compute)));
}

/// Adds n elements of each of `count` rows, `stride` elements apart, to the accumulators.
void accumulate_rows(const Reduction& reduction, const char* from, std::int64_t stride, std::int64_t count,
                     std::int64_t n, void* acc) {
  if (reduction.sn == 1 && !reduction.converts()) {
    reduction.loops->rows(from, stride, count, n, reduction.p, acc);
    return;
  }
  alignas(64) char buffer[kReduceBlock * 8];
  const std::int64_t fit = kReduceBlock / std::max<std::int64_t>(1, n);
  if (count > fit) {
    accumulate_rows(reduction, from, stride, fit, n, acc);
    accumulate_rows(reduction, from + fit * stride * reduction.item(), stride, count - fit, n,
                    static_cast<char*>(acc) + static_cast<std::size_t>(fit) * kAccumulatorBytes);
    return;
  }
  const ConvertLoop load = loops().load[static_cast<int>(reduction.dtype)][static_cast<int>(reduction.compute)];
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype_of(reduction.compute)));
  if (reduction.sn == 1 && stride == n) {
    load(from, buffer, count * n);
  } else {
    for (std::int64_t r = 0; r < count; ++r)
      copy_row(reduction, from + r * stride * reduction.item(), reduction.sn, buffer + r * n * size, n);
  }
  reduction.loops->rows(buffer, n, count, n, reduction.p, acc);
}

/// Adds rows [begin, end) of columns [left, left + cols) of slice o to the accumulators.
void accumulate_columns(const Reduction& reduction, std::int64_t o, std::int64_t begin, std::int64_t end,
                        std::int64_t left, std::int64_t cols, void* acc) {
  if (begin == end) return;  // no elements, which have no address
  const char* from = reduction.data + (o * reduction.so + left * reduction.si) * reduction.item();
  if (reduction.si == 1 && !reduction.converts()) {
    reduction.loops->columns(from + begin * reduction.sn * reduction.item(), reduction.sn, end - begin, cols,
                             reduction.p, acc);
    return;
  }
  constexpr std::int64_t kStrip = 16;
  alignas(64) char buffer[kStrip * kReduceColumns * 8];
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype_of(reduction.compute)));
  for (std::int64_t r = begin; r < end; r += kStrip) {
    const std::int64_t rows = std::min(kStrip, end - r);
    for (std::int64_t k = 0; k < rows; ++k)
      copy_row(reduction, from + (r + k) * reduction.sn * reduction.item(), reduction.si,
               buffer + k * kReduceColumns * size, cols);
    reduction.loops->columns(buffer, kReduceColumns, rows, cols, reduction.p, acc);
  }
}

/// Rows in an item of work: enough to pay for its call, and to fill vectors of results.
std::int64_t rows_at_a_time(std::int64_t n) {
  return std::max<std::int64_t>(32, kReduceBlock / std::max<std::int64_t>(4, n));
}

/// Reduces each row at once, several short rows in one item of work.
void reduce_short_rows(const Reduction& reduction, std::int64_t bytes) {
  const std::int64_t group = rows_at_a_time(reduction.n);
  parallel_blocks(reduction.outer * reduction.inner, group, bytes, [&](std::int64_t first, std::int64_t last) {
    alignas(64) char acc[kReduceBlock / 4 * kAccumulatorBytes];
    reduction.loops->init(acc, last - first);
    for (std::int64_t k = first; k < last;) {
      const std::int64_t o = k / reduction.inner, i = k % reduction.inner;
      // Adjacent outputs; if the inner dimension is 1, they are adjacent in the outer one.
      const std::int64_t count = reduction.inner == 1 ? last - k : std::min(last - k, reduction.inner - i);
      if (reduction.n > 0) {  // else the rows have no address
        accumulate_rows(reduction, reduction.data + (o * reduction.so + i * reduction.si) * reduction.item(),
                        reduction.inner == 1 ? reduction.so : reduction.si, count, reduction.n,
                        acc + static_cast<std::size_t>(k - first) * kAccumulatorBytes);
      }
      k += count;
    }
    reduction.finish(acc, first, last - first);
  });
}

/// Reduces each row in blocks of a fixed size, whose results are combined in order.
void reduce_long_rows(const Reduction& reduction, std::int64_t bytes) {
  const std::int64_t outputs = reduction.outer * reduction.inner;
  const std::int64_t blocks = (reduction.n + kReduceBlock - 1) / kReduceBlock;
  char* acc = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAccumulatorBytes));
  char* parts = acc + static_cast<std::size_t>(outputs) * kAccumulatorBytes;
  reduction.loops->init(parts, outputs * blocks);
  parallel_for(outputs * blocks, bytes, [&](std::int64_t k) {
    const std::int64_t o = k / blocks / reduction.inner, i = k / blocks % reduction.inner,
                       begin = k % blocks * kReduceBlock;
    accumulate_rows(
        reduction, reduction.data + (o * reduction.so + i * reduction.si + begin * reduction.sn) * reduction.item(), 0,
        1, std::min(reduction.n - begin, kReduceBlock), parts + static_cast<std::size_t>(k) * kAccumulatorBytes);
  });
  reduction.loops->init(acc, outputs);
  for (std::int64_t k = 0; k < outputs * blocks; ++k)
    reduction.loops->merge(parts + static_cast<std::size_t>(k) * kAccumulatorBytes,
                           acc + static_cast<std::size_t>(k / blocks) * kAccumulatorBytes, 1);
  reduction.finish(acc, 0, outputs);
}

/// Dense columns: adds row after row to a strip of accumulators.
void reduce_columns(const Reduction& reduction, std::int64_t bytes) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (reduction.n + kRowBlock - 1) / kRowBlock);
  const std::int64_t strips = (reduction.inner + kReduceColumns - 1) / kReduceColumns;
  if (blocks == 1) {
    parallel_for(reduction.outer * strips, bytes, [&](std::int64_t k) {
      const std::int64_t left = k % strips * kReduceColumns, o = k / strips;
      const std::int64_t cols = std::min(kReduceColumns, reduction.inner - left);
      alignas(64) char acc[kReduceColumns * kAccumulatorBytes];
      reduction.loops->init(acc, cols);
      accumulate_columns(reduction, o, 0, reduction.n, left, cols, acc);
      reduction.finish(acc, o * reduction.inner + left, cols);
    });
    return;
  }
  const std::int64_t outputs = reduction.outer * reduction.inner;
  char* acc = static_cast<char*>(scratch(static_cast<std::size_t>(outputs * (blocks + 1)) * kAccumulatorBytes));
  char* parts = acc + static_cast<std::size_t>(outputs) * kAccumulatorBytes;
  reduction.loops->init(parts, outputs * blocks);
  parallel_for(reduction.outer * blocks * strips, bytes, [&](std::int64_t k) {
    const std::int64_t left = k % strips * kReduceColumns;
    const std::int64_t block = k / strips % blocks;
    const std::int64_t o = k / strips / blocks;
    accumulate_columns(
        reduction, o, block * kRowBlock, std::min(reduction.n, (block + 1) * kRowBlock), left,
        std::min(kReduceColumns, reduction.inner - left),
        parts + static_cast<std::size_t>((o * blocks + block) * reduction.inner + left) * kAccumulatorBytes);
  });
  reduction.loops->init(acc, outputs);
  for (std::int64_t k = 0; k < reduction.outer * blocks; ++k) {
    reduction.loops->merge(parts + static_cast<std::size_t>(k * reduction.inner) * kAccumulatorBytes,
                           acc + static_cast<std::size_t>(k / blocks * reduction.inner) * kAccumulatorBytes,
                           reduction.inner);
  }
  reduction.finish(acc, 0, outputs);
}

/// Whether dimension d is one of lines that are closer than their elements.
bool is_across(const View& x, int d) {
  const std::int64_t apart = std::abs(x.strides()[d]), step = std::abs(x.strides()[1]);
  return apart > 0 && (apart < step || step == 0 || x.shape()[1] == 1);
}
/// The outer dimension of [outer, n, inner], 2 if its rows are columns.
int outer_of(const View& x) { return x.shape()[2] == 1 && is_across(x, 0) ? 2 : 0; }

}  // namespace

template <> void execute(const calls::Reduce& args) {
  const View &x = args.x, &out = args.out;
  const int op = args.op;
  const Shape& shape = x.shape();
  const std::int64_t outputs = out.numel();
  if (outputs == 0) return;
  const Compute compute = compute_of(x.dtype());
  const int outer = outer_of(x), inner = 2 - outer;
  const bool by_columns = shape[inner] > 1 && is_across(x, inner);
  const int type = own_loop_type(x.dtype());
  const bool own =
      type >= kComputes && loops().reduce[type][op].rows != nullptr && x.strides()[by_columns ? inner : 1] == 1;
  const ReduceLoops& l = loops().reduce[own ? type : static_cast<int>(compute)][op];
  if (l.rows == nullptr)
    throw BackendError("reduce: operation " + std::to_string(op) + " has no loop for " +
                       std::string(name_of(x.dtype())) +
                       "\nthis is an error in minnow: the dtype should have been refused before");
  const Compute accumulated = compute == Compute::kInt64 ? Compute::kInt64 : Compute::kDouble;
  const Reduction reduction{&l,
                            static_cast<const char*>(x.raw_data()),
                            x.dtype(),
                            compute,
                            shape[outer],
                            shape[1],
                            shape[inner],
                            x.strides()[outer],
                            x.strides()[1],
                            x.strides()[inner],
                            args.p,
                            static_cast<char*>(out.raw_data()),
                            static_cast<std::int64_t>(out.itemsize()),
                            loops().store[static_cast<int>(accumulated)][static_cast<int>(out.dtype())],
                            own};
  const std::int64_t bytes = x.numel() * reduction.item();
  if (by_columns) reduce_columns(reduction, bytes);
  else if (reduction.n <= kReduceBlock) reduce_short_rows(reduction, bytes);
  else reduce_long_rows(reduction, bytes);
}

namespace {

/// The first largest (or smallest) element of a row, or the first NaN, and its index.
template <class T> struct Best {
  T value{};
  std::int64_t index = -1;

  bool is_below(T x, bool largest) const { return (largest ? x > value : x < value) | ((x != x) & (value == value)); }
  void join(T x, std::int64_t at, bool largest) {
    const bool take = (index < 0) | is_below(x, largest);
    value = take ? x : value;
    index = take ? at : index;
  }
};

/// An arg reduction, with results in `values` (may be nullptr) and `indices`.
struct ArgReduction {
  const Reduction& reduction;
  bool largest;
  const View& values;
  std::int64_t* indices;
  ConvertLoop store;
  ArgLoop rows;

  const char* row(std::int64_t k) const {
    return reduction.data +
           (k / reduction.inner * reduction.so + k % reduction.inner * reduction.si) * reduction.item();
  }
  void put(std::int64_t k, const void* best, std::int64_t count) const {
    if (values.defined())
      store(best, static_cast<char*>(values.raw_data()) + k * static_cast<std::int64_t>(values.itemsize()), count);
  }
};

/// Reduces one row, in blocks.
template <class T> void arg_row(const ArgReduction& a, std::int64_t k) {
  const Reduction& reduction = a.reduction;
  Best<T> best;
  for (std::int64_t at = 0; at < reduction.n; at += kReduceBlock) {
    alignas(64) char buffer[kReduceBlock * 8];
    const std::int64_t m = std::min(kReduceBlock, reduction.n - at);
    const void* x = dense_row(a.row(k) + at * reduction.sn * reduction.item(), reduction.sn, reduction.dtype,
                              reduction.compute, buffer, m);
    T value;
    std::int64_t place;
    a.rows(x, 0, 1, m, a.largest, &value, &place);
    best.join(value, at + place, a.largest);
  }
  a.indices[k] = best.index;
  a.put(k, &best.value, 1);
}

/// The same of dense rows, which are converted before, several at once.
template <class T> void arg_dense_rows(const ArgReduction& a, std::int64_t first, std::int64_t last) {
  const Reduction& reduction = a.reduction;
  const std::int64_t n = reduction.n, fit = reduction.converts() ? kReduceBlock / n : last - first;
  const ConvertLoop load = loops().load[static_cast<int>(reduction.dtype)][static_cast<int>(reduction.compute)];
  T best[kReduceBlock / 4], buffer[kReduceBlock];
  for (std::int64_t k = first; k < last; k += fit) {
    const std::int64_t rows = std::min(fit, last - k);
    if (!reduction.converts()) {
      a.rows(a.row(k), reduction.so, rows, n, a.largest, best, a.indices + k);
    } else {
      if (reduction.so == n) load(a.row(k), buffer, rows * n);
      else
        for (std::int64_t r = 0; r < rows; ++r) load(a.row(k + r), buffer + r * n, n);
      a.rows(buffer, n, rows, n, a.largest, best, a.indices + k);
    }
    a.put(k, best, rows);
  }
}

/// Dense columns, a strip of them at a time.
template <class T> void arg_columns(const ArgReduction& a) {
  const Reduction& r = a.reduction;
  const std::int64_t strips = (r.inner + kReduceColumns - 1) / kReduceColumns;
  const ConvertLoop load = loops().load[static_cast<int>(r.dtype)][static_cast<int>(r.compute)];
  const ArgColumnsLoop reduce = loops().arg_columns[static_cast<int>(r.compute)];
  parallel_for(r.outer * strips, r.outer * r.n * r.inner * r.item(), [&](std::int64_t item) {
    const std::int64_t left = item % strips * kReduceColumns, cols = std::min(kReduceColumns, r.inner - left);
    const std::int64_t first = item / strips * r.inner + left, step = r.sn * r.item();
    T best[kReduceColumns], row[kReduceColumns];
    std::int64_t* const at = a.indices + first;
    std::fill_n(at, cols, 0);
    load(a.row(first), best, cols);
    if (!r.converts()) reduce(a.row(first) + step, r.sn, 1, r.n - 1, cols, a.largest, best, at);
    for (std::int64_t i = 1; r.converts() && i < r.n; ++i) {
      load(a.row(first) + i * step, row, cols);
      reduce(row, 0, i, 1, cols, a.largest, best, at);
    }
    a.put(first, best, cols);
  });
}

template <class T> void arg_rows(const ArgReduction& a) {
  const Reduction& reduction = a.reduction;
  if (reduction.inner > 1 && reduction.si == 1 && (reduction.sn != 1 || reduction.n == 1)) return arg_columns<T>(a);
  const std::int64_t group = rows_at_a_time(reduction.n);
  const bool dense = reduction.sn == 1 && reduction.inner == 1 && reduction.n <= kReduceBlock;
  parallel_blocks(reduction.outer * reduction.inner, group,
                  reduction.outer * reduction.n * reduction.inner * reduction.item(),
                  [&](std::int64_t first, std::int64_t last) {
                    if (dense) return arg_dense_rows<T>(a, first, last);
                    for (std::int64_t k = first; k < last; ++k) arg_row<T>(a, k);
                  });
}

}  // namespace

template <> void execute(const calls::ArgReduce& args) {
  const View &x = args.x, &values = args.values, &indices = args.indices;
  if (indices.numel() == 0) return;
  const Shape& s = x.shape();
  if (s[1] == 1) {
    std::fill_n(static_cast<std::int64_t*>(indices.raw_data()), indices.numel(), 0);
    if (values.defined())
      execute(calls::Copy{x, View(values.storage(), values.dtype(), s, {s[2], s[2], 1}, values.storage_offset())});
    return;
  }
  const int outer = outer_of(x), inner = 2 - outer;
  const Compute compute =
      size_of(x.dtype()) <= 2 ? Compute::kFloat : compute_of(x.dtype());  // which holds them exactly
  const Reduction reduction{nullptr,
                            static_cast<const char*>(x.raw_data()),
                            x.dtype(),
                            compute,
                            s[outer],
                            s[1],
                            s[inner],
                            x.strides()[outer],
                            x.strides()[1],
                            x.strides()[inner],
                            0,
                            nullptr,
                            0,
                            nullptr};
  const ArgReduction a{
      reduction,
      args.largest,
      values,
      static_cast<std::int64_t*>(indices.raw_data()),
      loops().store[static_cast<int>(compute)][values.defined() ? static_cast<int>(values.dtype()) : 0],
      loops().arg_rows[static_cast<int>(compute)]};
  switch (compute) {
    case Compute::kFloat: return arg_rows<float>(a);
    case Compute::kDouble: return arg_rows<double>(a);
    case Compute::kInt64: return arg_rows<std::int64_t>(a);
  }
}

}  // namespace minnow::cpu
