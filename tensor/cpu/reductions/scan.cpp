#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kColumns = 64;  // adjacent lines that are computed together
constexpr int kRows = 4;               // the same of rows

// The state of a line: next() takes element k of it and gives its result.

template <class T> struct Sum {
  T sum = T(0);
  T next(T x, T, std::int64_t) { return sum = static_cast<T>(sum + x); }
};
template <class T> struct Product {
  T product = T(1);
  T next(T x, T, std::int64_t) { return product = static_cast<T>(product * x); }
};
template <class T> struct LogSumExp {
  T largest = -std::numeric_limits<T>::infinity(), sum = T(0);  // of e^(x - largest)
  T next(T x, T, std::int64_t) {
    if (x == largest) sum += T(1);
    else if (x < largest) sum += std::exp(x - largest);
    else sum = sum * std::exp(largest - x) + T(1), largest = x;
    return largest + std::log(sum);
  }
};
template <class T> struct Recurrence {
  T value = T(0);
  T next(T x, T factor, std::int64_t k) { return value = k == 0 ? x : x + factor * value; }
};
template <class T, bool largest> struct Extreme {  // a branch that is seldom taken: nothing waits for the last result
  T value{};
  std::int64_t at = 0;
  T next(T x, T, std::int64_t k) {
    const bool passed = largest ? x < value : x > value;  // false if one is NaN
    if (k == 0 || (!passed && (value == value || x != x))) value = x, at = k;
    return value;
  }
};

/// Lines of n elements each, `step` apart; the next line begins `next` behind, 1 if lines are columns.  Loops have it
/// by value: stores of bytes and int64 would be taken for its members.
template <class S> struct Strip {
  const S* x;
  const S* factor;
  S* y;
  std::int64_t* indices;
  std::int64_t n, step, next, columns;
  bool reverse;
};

/// Some lines from the first on, whose states are in registers: a line waits for its last result.
template <int Count, class Line, class S, class T> void scan_rows(Strip<S> s, std::int64_t first) {
  Line lines[Count] = {};
  for (std::int64_t k = 0; k < s.n; ++k) {
#pragma GCC unroll 4
    for (int r = 0; r < Count; ++r) {
      const std::int64_t at = (first + r) * s.next + k * s.step;
      s.y[at] = static_cast<S>(
          lines[r].next(static_cast<T>(s.x[at]), s.factor != nullptr ? static_cast<T>(s.factor[at]) : T(1), k));
      if constexpr (requires { lines[r].at; }) s.indices[at] = s.reverse ? s.n - 1 - lines[r].at : lines[r].at;
    }
  }
}

template <class Line, class S, class T> void scan(Strip<S> s) {
  if (s.next != 1 || s.columns == 1) {
    std::int64_t r = 0;
    if constexpr (!requires(Line line) { line.at; })
      for (; r + kRows <= s.columns; r += kRows) scan_rows<kRows, Line, S, T>(s, r);
    for (; r < s.columns; ++r) scan_rows<1, Line, S, T>(s, r);
    return;
  }
  Line lines[kColumns] = {};
  for (std::int64_t k = 0; k < s.n; ++k) {
    const std::int64_t at = k * s.step;
    for (std::int64_t c = 0; c < s.columns; ++c) {
      const T factor = s.factor != nullptr ? static_cast<T>(s.factor[at + c]) : T(1);
      s.y[at + c] = static_cast<S>(lines[c].next(static_cast<T>(s.x[at + c]), factor, k));
      if constexpr (requires { lines[c].at; }) s.indices[at + c] = s.reverse ? s.n - 1 - lines[c].at : lines[c].at;
    }
  }
}

/// S: the type in memory; T: the one of the computation; Wrapping: T without overflow, void if nothing is computed, for
/// extremes.
template <class S, class T, class Wrapping> void scan_by(ScanOp op, const Strip<S>& s) {
  switch (op) {
    case ScanOp::sum:
      if constexpr (!std::is_void_v<T>) scan<Sum<Wrapping>, S, Wrapping>(s);
      return;
    case ScanOp::prod:
      if constexpr (!std::is_void_v<T>) scan<Product<Wrapping>, S, Wrapping>(s);
      return;
    case ScanOp::max: return scan<Extreme<S, true>, S, S>(s);
    case ScanOp::min: return scan<Extreme<S, false>, S, S>(s);
    case ScanOp::logsumexp:
      if constexpr (std::is_floating_point_v<T>) scan<LogSumExp<T>, S, T>(s);
      return;
    case ScanOp::recurrence:
      if constexpr (std::is_floating_point_v<T>) scan<Recurrence<T>, S, T>(s);
      return;
  }
}

template <class T> T* data_of(const View& t) { return t.defined() ? static_cast<T*>(t.raw_data()) : nullptr; }

template <class S, class T, class Wrapping> void run(const calls::Scan& args) {
  const View &x = args.x, &y = args.y;
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < x.dim(); ++d)
    if (d != args.dim) (d < args.dim ? outer : inner) *= x.shape()[d];
  const std::int64_t n = x.shape()[args.dim];
  const std::int64_t last = args.reverse ? (n - 1) * inner : 0, step = args.reverse ? -inner : inner;
  const bool rows = inner == 1;
  const std::int64_t lines = rows ? outer : inner, together = rows ? kRows : kColumns,
                     strips = (lines + together - 1) / together;
  parallel_for(rows ? strips : outer * strips, 2 * x.nbytes(), [&](std::int64_t i) {
    const std::int64_t left = i % strips * together, at = i / strips * n * inner + left * (rows ? n : 1) + last;
    const auto part = [&]<class U>(U* data) { return data == nullptr ? nullptr : data + at; };
    scan_by<S, T, Wrapping>(args.op, {part(data_of<const S>(x)), part(data_of<const S>(args.factor)),
                                      part(data_of<S>(y)), part(data_of<std::int64_t>(args.indices)), n, step,
                                      rows ? n : 1, std::min(together, lines - left), args.reverse});
  });
}

/// The same of halves, which pass through float32.
void run_halves(const calls::Scan& args) {
  const auto wide = [](const View& t) {
    if (!t.defined()) return View();
    const std::size_t bytes = static_cast<std::size_t>(t.numel()) * sizeof(float);
    const auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes);
    return View(storage, DType::float32, t.shape(), t.strides(), 0);
  };
  const View x = wide(args.x), factor = wide(args.factor);
  execute(calls::Copy{args.x, x});
  if (factor.defined()) execute(calls::Copy{args.factor, factor});
  run<float, double, double>({args.op, x, factor, x, args.indices, args.dim, args.reverse});
  execute(calls::Copy{x, args.y});
}

}  // namespace

template <> void execute(const calls::Scan& args) {
  switch (args.x.dtype()) {
    case DType::float32: return run<float, double, double>(args);
    case DType::float64: return run<double, double, double>(args);
    case DType::float16:
    case DType::bfloat16: return run_halves(args);
    case DType::int64: return run<std::int64_t, std::int64_t, std::uint64_t>(args);
    default:
      return dtype_switch(args.x.dtype(), [&]<class S>() {
        if constexpr (sizeof(S) < 8 && std::is_integral_v<S>) run<S, void, void>(args);
      });
  }
}

}  // namespace minnow::cpu
