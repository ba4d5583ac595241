#include <algorithm>
#include <cmath>
#include <cstring>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

/// All dimensions of a tensor except one, to iterate over the lines of several tensors along it.
struct Lines {
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t count = 1;

  Lines(const Shape& shape, int dim) {
    for (int d = 0; d < shape.rank(); ++d) {
      if (d == dim) continue;
      sizes[rank++] = shape[d];
      count *= shape[d];
    }
  }
  /// The offset of line i in a tensor with these strides, in elements.
  std::int64_t offset(const Strides& strides, int dim, std::int64_t i) const {
    std::int64_t sum = 0;
    for (int k = rank - 1; k >= 0; --k) {
      sum += i % sizes[k] * strides[k < dim ? k : k + 1];
      i /= sizes[k];
    }
    return sum;
  }
};

std::int64_t stride_of(const View& t, int dim) { return t.dim() == 0 ? 0 : t.strides()[dim]; }
std::int64_t size_at(const View& t, int dim) { return t.dim() == 0 ? 1 : t.shape()[dim]; }

const std::int64_t* indices_of(const View& index) { return static_cast<const std::int64_t*>(index.raw_data()); }

/// Whether every index is in [0, limit).
bool all_in_range(const View& index, int dim, std::int64_t limit) {
  if (index.numel() == 0) return true;
  Shape once = index.shape();  // a broadcast index is read once
  for (int d = 0; d < index.dim(); ++d)
    if (index.strides()[d] == 0) once[d] = 1;
  const bool dense = is_dense(once, index.strides());  // the order does not matter
  const Lines lines(dense ? Shape{} : once, dim);
  const std::int64_t n = dense ? once.numel() : once[dim];
  const std::int64_t stride = dense ? 1 : stride_of(index, dim);
  // One that is out of range sets the sign; without a branch the loop is vectorized.
  std::uint64_t signs = 0;
  for (std::int64_t l = 0; l < lines.count; ++l) {
    const std::int64_t* at = indices_of(index) + lines.offset(index.strides(), dim, l);
    const auto check = [&](std::int64_t i) {
      const auto value = static_cast<std::uint64_t>(i);
      signs |= value | (static_cast<std::uint64_t>(limit - 1) - value);
    };
    if (stride == 1)
      for (std::int64_t i = 0; i < n; ++i) check(at[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) check(at[i * stride]);
  }
  return static_cast<std::int64_t>(signs) >= 0;
}

template <class T> bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  else return std::isnan(x);
}

/// What an operation other than adding makes of the old value y and x.  NaN is the largest and the smallest value.
template <class T> T combined(ScatterOp op, T y, T x) {
  switch (op) {
    case ScatterOp::multiply:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(x));
      else return y * x;
    case ScatterOp::max: return is_nan(y) || (!is_nan(x) && y >= x) ? y : x;
    case ScatterOp::min: return is_nan(y) || (!is_nan(x) && y <= x) ? y : x;
    default: return x;
  }
}

/// y + x, halves in float; for bool it is a logical or.
template <class T> T added(T y, T x) {
  if constexpr (std::is_same_v<T, bool>) return y || x;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(x));
  else if constexpr (sizeof(T) == 2) return T(static_cast<float>(y) + static_cast<float>(x));
  else return y + x;
}

/// Calls f(update) with a function update(y, x) of two elements of the dtype, which writes y.
template <class F> void with_update(ScatterOp op, DType dtype, const F& f) {
  if (op == ScatterOp::assign) return size_switch(size_of(dtype), [&]<class T>() { f([](T& y, T x) { y = x; }); });
  dtype_switch(dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>, float, T>;
    if (op == ScatterOp::add) f([](T& y, T x) { y = added(y, x); });
    else f([op](T& y, T x) { y = T(combined(op, static_cast<C>(y), static_cast<C>(x))); });
  });
}
template <class T, class F> T element_of(void (F::*)(T&, T) const);

/// to = op(to, from), for n elements of one dtype.
void scatter_run(ScatterOp op, DType dtype, const char* from, char* to, std::int64_t n) {
  constexpr std::int64_t kMinLoopLength = 16;
  if (op == ScatterOp::assign) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * size_of(dtype));
    return;
  }
  const Compute compute = compute_of(dtype);
  if (op == ScatterOp::add && n >= kMinLoopLength && (is_floating_point(dtype) || dtype == DType::int64)) {
    constexpr int kAdd = kernels::kIndexOf<kernels::BinaryOps, kernels::Add>;
    const BinaryLoop add = loops().binary[static_cast<int>(compute)][kAdd];
    if (dtype == dtype_of(compute)) return static_cast<void>(add(to, from, to, n));
    constexpr std::int64_t kBlock = 256;
    float sum[kBlock], more[kBlock];
    const ConvertLoop load = loops().load[static_cast<int>(dtype)][static_cast<int>(compute)];
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t m = std::min(kBlock, n - i);
      load(to + 2 * i, sum, m);
      load(from + 2 * i, more, m);
      add(sum, more, sum, m);
      loops().store[static_cast<int>(compute)][static_cast<int>(dtype)](sum, to + 2 * i, m);
    }
    return;
  }
  with_update(op, dtype, [&]<class U>(U update) {
    using T = decltype(element_of(&U::operator()));
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    for (std::int64_t i = 0; i < n; ++i) update(y[i], x[i]);
  });
}

/// Lines of `n` elements along the indexed dimension, `lines` of them side by side.  Strides in elements: along a line,
/// and from a line to the next.  Loops have it by value: stores of bytes and int64 would be taken for its members.
struct Steps {
  std::int64_t along, across;
};
struct LinesBeside {
  const char* from;
  const std::int64_t* at;
  char* to;
  Steps from_step, at_step, to_step;
  std::int64_t n, lines;

  /// Calls f(k, line) for all, the elements of a line in order; those that are near in memory follow each other.
  template <class F> void each(const F& f) const {
    if (std::abs(at_step.along) <= std::abs(at_step.across) || lines == 1) {
      for (std::int64_t l = 0; l < lines; ++l)
        for (std::int64_t k = 0; k < n; ++k) f(k, l);
    } else {
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t l = 0; l < lines; ++l) f(k, l);
    }
  }
};
/// to[at[k]] = op(to[at[k]], from[k]) for each line.
void scatter_lines(ScatterOp op, DType dtype, const LinesBeside& all) {
  with_update(op, dtype, [&]<class U>(U update) {
    using T = decltype(element_of(&U::operator()));
    const LinesBeside s = all;
    const T* x = reinterpret_cast<const T*>(s.from);
    T* y = reinterpret_cast<T*>(s.to);
    s.each([&](std::int64_t k, std::int64_t l) {
      const std::int64_t i = s.at[k * s.at_step.along + l * s.at_step.across];
      update(y[i * s.to_step.along + l * s.to_step.across], x[k * s.from_step.along + l * s.from_step.across]);
    });
  });
}
/// to[k] = from[at[k]] for each line.
void gather_lines(std::size_t size, const LinesBeside& all) {
  size_switch(size, [&]<class T>() {
    const LinesBeside s = all;
    const T* x = reinterpret_cast<const T*>(s.from);
    T* y = reinterpret_cast<T*>(s.to);
    s.each([&](std::int64_t k, std::int64_t l) {
      const std::int64_t i = s.at[k * s.at_step.along + l * s.at_step.across];
      y[k * s.to_step.along + l * s.to_step.across] = x[i * s.from_step.along + l * s.from_step.across];
    });
  });
}

char* element(const View& t, std::int64_t offset) {
  return static_cast<char*>(t.raw_data()) + offset * static_cast<std::int64_t>(t.itemsize());
}

/// The part of a slice along dim that is dense in both tensors: the last dimensions, after `dim` at most.
struct SliceRun {
  std::int64_t run = 1;     // elements of the dense part
  std::int64_t pieces = 1;  // dense parts of a slice
  int outer = 0;            // dimensions before the dense part, without dim
};
SliceRun slice_run(const View& x, const View& out, int dim) {
  SliceRun s;
  int d = out.dim() - 1;
  for (; d > dim && x.strides()[d] == s.run && out.strides()[d] == s.run && x.shape()[d] == out.shape()[d]; --d)
    s.run *= out.shape()[d];
  for (int k = 0; k <= d; ++k) {
    if (k != dim) s.pieces *= out.shape()[k];
  }
  s.outer = d + 1;
  return s;
}

/// The offset of dense part i of a slice.
std::int64_t piece_offset(const View& t, const Shape& shape, int dim, int outer, std::int64_t i) {
  std::int64_t sum = 0;
  for (int d = outer - 1; d >= 0; --d) {
    if (d == dim) continue;
    sum += i % shape[d] * t.strides()[d];
    i /= shape[d];
  }
  return sum;
}

/// How many rows ahead those that are found by an index are prefetched: the processor cannot foresee them.
constexpr std::int64_t kRowsAhead = 8;

[[gnu::always_inline]] inline void prefetch_run(const char* at, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64, kMaxBytes = 4096;  // the rest of a long run is foreseen
  for (std::int64_t i = 0; i < std::min(bytes, kMaxBytes); i += kLine) __builtin_prefetch(at + i);
}

/// Calls f with the size of a row, a constant where a call of memcpy would take longer than the copy.
template <class F> void with_run_bytes(std::size_t bytes, const F& f) {
  if (bytes == 16) f(std::integral_constant<std::size_t, 16>());
  else if (bytes == 32) f(std::integral_constant<std::size_t, 32>());
  else if (bytes == 64) f(std::integral_constant<std::size_t, 64>());
  else if (bytes == 128) f(std::integral_constant<std::size_t, 128>());
  else f(bytes);
}

/// Which of `shares` threads adds to a row.  Neighbors go to different ones, so that regions that are used more are
/// shared.
std::int64_t share_of(std::int64_t row, std::int64_t shares) { return row % shares; }

/// Whether each of `shares` threads has about as many of the indices as the others.
bool shares_are_even(const View& index, std::int64_t shares) {
  constexpr std::int64_t kMostShares = 256;
  std::int64_t counts[kMostShares] = {};
  if (shares > kMostShares) return false;
  const std::int64_t n = index.numel(), step = stride_of(index, 0);
  for (std::int64_t i = 0; i < n; ++i) ++counts[share_of(indices_of(index)[i * step], shares)];
  return *std::max_element(counts, counts + shares) <= n / shares + n / (4 * shares) + 8;
}

/// index_add of rows, each of which one thread adds, in order: parts of a row would be written by several cores, which
/// fetch each other's lines.  False where `s` is no row, or one thread would have most of the work.
bool add_rows(const calls::IndexAdd& args, const SliceRun& s) {
  const View &x = args.x, &index = args.index, &out = args.out;
  constexpr std::int64_t kShortest = 64, kLongest = 1024;
  if (s.pieces != 1 || s.run < kShortest || s.run > kLongest || in_parallel()) return false;
  const int threads = 3 * x.nbytes() < kParallelBytes ? 1 : num_threads();
  if (threads > 1 && !shares_are_even(index, threads)) return false;
  const auto item = static_cast<std::int64_t>(out.itemsize());
  const std::int64_t to_step = out.strides()[args.dim] * item, from_step = x.strides()[args.dim] * item;
  const std::int64_t n = index.numel(), step = stride_of(index, 0), ahead = kRowsAhead * threads;
  const auto row = [&](std::int64_t i) { return indices_of(index)[i * step]; };
  parallel_loop(threads, threads, [&](std::int64_t share) {
    const char* from = element(x, 0);
    char* to = element(out, 0);
    for (std::int64_t i = 0; i < n; ++i, from += from_step) {
      if (i + ahead < n && share_of(row(i + ahead), threads) == share)
        prefetch_run(to + row(i + ahead) * to_step, s.run * item);
      if (share_of(row(i), threads) == share) scatter_run(args.op, out.dtype(), from, to + row(i) * to_step, s.run);
    }
  });
  return true;
}

}  // namespace

namespace {

/// Calls f(lines) for all lines of `shape` along dim, in parts that have no common elements of an output.
template <class F>
void for_lines(const Shape& shape, int dim, const View& from, const View& index, const View& to, std::int64_t bytes,
               const F& f) {
  constexpr std::int64_t kElements = 4096, kColumns = 64;
  int beside = shape.rank() - 1;  // the dimension of the lines side by side
  if (beside == dim) --beside;
  Shape outer = shape;
  if (beside >= 0) outer[beside] = 1;
  const Lines rest(outer, dim);
  const std::int64_t n = shape[dim], lines = beside >= 0 ? shape[beside] : 1;
  const std::int64_t part = std::min(lines, std::max(kColumns, kElements / n)), parts = (lines + part - 1) / part;
  const auto steps = [&](const View& t) { return Steps{t.strides()[dim], beside >= 0 ? t.strides()[beside] : 0}; };
  const Steps from_step = steps(from), at_step = steps(index), to_step = steps(to);
  parallel_blocks(rest.count * parts, std::max<std::int64_t>(1, kElements / (n * part)), bytes,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const std::int64_t l = i / parts, first = i % parts * part;
                      f({element(from, rest.offset(from.strides(), dim, l) + first * from_step.across),
                         indices_of(index) + rest.offset(index.strides(), dim, l) + first * at_step.across,
                         element(to, rest.offset(to.strides(), dim, l) + first * to_step.across), from_step, at_step,
                         to_step, n, std::min(part, lines - first)});
                    }
                  });
}

}  // namespace

template <> Outcome execute(const calls::Gather& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  if (out.numel() == 0) return Outcome::ok;
  if (!all_in_range(index, args.dim, size_at(x, args.dim))) return Outcome::index_out_of_range;
  for_lines(out.shape(), args.dim, x, index, out, 2 * out.nbytes(),
            [&](const LinesBeside& lines) { gather_lines(out.itemsize(), lines); });
  return Outcome::ok;
}

template <> Outcome execute(const calls::ScatterAdd& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  if (index.numel() == 0) return Outcome::ok;
  if (!all_in_range(index, args.dim, size_at(out, args.dim))) return Outcome::index_out_of_range;
  for_lines(index.shape(), args.dim, x, index, out, 2 * x.nbytes(),
            [&](const LinesBeside& lines) { scatter_lines(args.op, out.dtype(), lines); });
  return Outcome::ok;
}

template <> Outcome execute(const calls::IndexSelect& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (!all_in_range(index, 0, size_at(x, dim))) return Outcome::index_out_of_range;
  if (out.numel() == 0) return Outcome::ok;
  if (out.dim() == 0) {
    std::memcpy(out.raw_data(), x.raw_data(), out.itemsize());
    return Outcome::ok;
  }
  const SliceRun s = slice_run(x, out, dim);
  const std::int64_t n = index.numel();
  const std::int64_t si = stride_of(index, 0);
  if (s.run == 1 && dim < out.dim() - 1 && out.strides().back() == 1) {  // as gather: its lines side by side are dense
    Strides steps;
    for (int d = 0; d < out.dim(); ++d) steps.push_back(d == dim ? si : 0);
    const View each(index.storage(), index.dtype(), out.shape(), steps, index.storage_offset());
    for_lines(out.shape(), dim, x, each, out, 2 * out.nbytes(),
              [&](const LinesBeside& lines) { gather_lines(out.itemsize(), lines); });
    return Outcome::ok;
  }
  const auto size = static_cast<std::int64_t>(out.itemsize());
  const std::size_t bytes = static_cast<std::size_t>(s.run * size);
  const std::int64_t group = std::max<std::int64_t>(1, 4096 / s.run);
  const std::int64_t x_step = x.strides()[dim], out_step = out.strides()[dim];
  // Rows of a few that are used again and again are near.
  const std::int64_t ahead = size_at(x, dim) * s.run * size < 1 << 15 ? n : kRowsAhead;
  // All indices of a piece, then the next: where a piece is one element, its place costs more than the element.
  parallel_blocks(n * s.pieces, group, 2 * out.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t piece = k / n, first = k % n, last = std::min(n, first + end - k);
      const char* from = element(x, piece_offset(x, out.shape(), dim, s.outer, piece));
      char* to = element(out, piece_offset(out, out.shape(), dim, s.outer, piece));
      const std::int64_t* at = indices_of(index);
      if (s.run == 1)
        size_switch(out.itemsize(), [&]<class T>() {
          // Variables of its own: stores of int64 would be taken for what is captured.
          const T* const source = reinterpret_cast<const T*>(from);
          T* const target = reinterpret_cast<T*>(to);
          const std::int64_t *const place = at, stop = last, at_step = si, in_step = x_step, to_step = out_step;
          for (std::int64_t i = first; i < stop; ++i) target[i * to_step] = source[place[i * at_step] * in_step];
        });
      else
        with_run_bytes(bytes, [&](auto run) {
          const std::int64_t in_step = x_step * size, to_step = out_step * size;
          for (std::int64_t i = first; i < last; ++i) {
            if (i + ahead < n) prefetch_run(from + at[(i + ahead) * si] * in_step, static_cast<std::int64_t>(run));
            std::memcpy(to + i * to_step, from + at[i * si] * in_step, run);
          }
        });
      k += last - first;
    }
  });
  return Outcome::ok;
}

template <> Outcome execute(const calls::IndexAdd& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (!all_in_range(index, 0, size_at(out, dim))) return Outcome::index_out_of_range;
  if (x.numel() == 0) return Outcome::ok;
  if (x.dim() == 0) {
    scatter_run(args.op, out.dtype(), element(x, 0), element(out, 0), 1);
    return Outcome::ok;
  }
  const SliceRun s = slice_run(out, x, dim);
  const std::int64_t n = index.numel();
  const std::int64_t si = stride_of(index, 0);
  if (add_rows(args, s)) return Outcome::ok;
  // Dense parts, and parts of them, have no common elements of out.  Each takes all indices in order, so that the bits
  // do not depend on the number of parts.
  constexpr std::int64_t kMaxPart = 1024, kMinPart = 32;
  const std::int64_t shares = (num_threads() + s.pieces - 1) / s.pieces;
  const std::int64_t part = std::clamp((s.run + shares - 1) / shares, kMinPart, kMaxPart);
  const std::int64_t parts = (s.run + part - 1) / part;
  parallel_for(s.pieces * parts, 3 * x.nbytes(), [&](std::int64_t k) {
    const std::int64_t left = k % parts * part;
    const std::int64_t m = std::min(part, s.run - left);
    const std::int64_t from = piece_offset(x, x.shape(), dim, s.outer, k / parts) + left;
    const std::int64_t to = piece_offset(out, x.shape(), dim, s.outer, k / parts) + left;
    if (m == 1)
      return scatter_lines(args.op, out.dtype(),
                           {element(x, from),
                            indices_of(index),
                            element(out, to),
                            {x.strides()[dim], 0},
                            {si, 0},
                            {out.strides()[dim], 0},
                            n,
                            1});
    const auto item = static_cast<std::int64_t>(out.itemsize());
    const std::int64_t bytes = m * item, from_step = x.strides()[dim] * item, to_step = out.strides()[dim] * item;
    const std::int64_t* at = indices_of(index);
    const char* row = element(x, from);
    char* const first = element(out, to);
    for (std::int64_t i = 0; i < n; ++i, at += si, row += from_step) {
      if (i + kRowsAhead < n) prefetch_run(first + at[kRowsAhead * si] * to_step, bytes);
      scatter_run(args.op, out.dtype(), row, first + *at * to_step, m);
    }
  });
  return Outcome::ok;
}

}  // namespace minnow::cpu
