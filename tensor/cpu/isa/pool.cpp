#include <minnow/tensor/cpu/convolution/pool_loops.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(WindowTable, window_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

// Without branches: which element is the largest cannot be foreseen.

/// Bits, of which a compiler cannot make a branch again.
template <class T> MINNOW_HD T chosen(bool first, T a, T b) {
  using U = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const U mask = U{0} - U{first};
  return __builtin_bit_cast(T, (__builtin_bit_cast(U, a) & mask) | (__builtin_bit_cast(U, b) & ~mask));
}
template <class T> MINNOW_HD void take(T value, std::int32_t place, T& best, std::int32_t& at) {
  const bool larger = (value > best) | (value != value);
  best = chosen(larger, value, best);
  at = chosen(larger, place, at);
}
/// The same in any order of places.
template <class T> MINNOW_HD void take_any(T value, std::int32_t place, T& best, std::int32_t& at) {
  const bool before = place < at, is_nan = value != value, no_nan = best == best;
  const bool larger = (value > best) | ((value == best) & before) | (is_nan & (no_nan | !before));
  best = chosen(larger, value, best);
  at = chosen(larger, place, at);
}

template <class T, int Rows>
MINNOW_HD void first_rows(const T* __restrict x, std::int64_t stride, std::int64_t n, std::int32_t position,
                          std::int32_t apart, T* __restrict most, std::int32_t* __restrict places) {
  for (std::int64_t i = 0; i < n; ++i) {
    T best = x[i];
    std::int32_t at = position;
    if constexpr (Rows > 1) take(x[stride + i], position + apart, best, at);
    if constexpr (Rows > 2) take(x[2 * stride + i], position + 2 * apart, best, at);
    most[i] = best;
    places[i] = at;
  }
}
template <class T>
void largest_rows(const void* data, std::int64_t stride, std::int64_t count, std::int64_t n, std::int32_t position,
                  std::int32_t apart, void* most, std::int32_t* __restrict at) {
  const T* __restrict x = static_cast<const T*>(data);
  T* __restrict best = static_cast<T*>(most);
  if (count == 1) return first_rows<T, 1>(x, stride, n, position, apart, best, at);
  if (count == 2) return first_rows<T, 2>(x, stride, n, position, apart, best, at);
  first_rows<T, 3>(x, stride, n, position, apart, best, at);
  for (std::int64_t r = 3; r < count; ++r) {
    const T* __restrict row = x + r * stride;
    const auto place = position + static_cast<std::int32_t>(r) * apart;
    for (std::int64_t i = 0; i < n; ++i) take(row[i], place, best[i], at[i]);
  }
}

/// Taps `first` to first + Some - 1 of each window, several of adjacent elements only; of the first one (Begins)
/// nothing is known before.  Without Rows places come in order.
template <class T, int Apart, int Some, bool Rows, bool Begins>
MINNOW_HD void take_taps(const T* __restrict x, const std::int32_t* __restrict rows, const ColumnWindows& w, int first,
                         T* __restrict best, std::int32_t* __restrict at) {
  const std::int64_t step = Some > 1 ? 1 : w.step, n = w.count;
  const auto column = static_cast<std::int32_t>(w.column + first * step), apart = static_cast<std::int32_t>(step);
  x += first * step;
  const std::int32_t* __restrict row = Rows ? rows + first * step : nullptr;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t place = column + static_cast<std::int32_t>(i) * Apart;
    T most = Begins ? x[i * Apart] : best[i];
    std::int32_t where = Begins ? (Rows ? row[i * Apart] : 0) + place : at[i];
    const auto tap = [&](int k) {
      if constexpr (Rows) take_any(x[i * Apart + k * step], row[i * Apart + k * step] + place + k * apart, most, where);
      else take(x[i * Apart + k * step], place + k * apart, most, where);
    };
    // Compilers vectorize no loop with a loop in it.
    if constexpr (!Begins) tap(0);
    if constexpr (Some > 1) tap(1);
    if constexpr (Some > 2) tap(2);
    best[i] = most;
    at[i] = where;
  }
}
template <class T, int Apart, bool Rows>
MINNOW_HD void take_all(const T* x, const std::int32_t* rows, const ColumnWindows& w, T* best, std::int32_t* at) {
  const int some = w.step > 1 || w.taps == 1 ? 1 : w.taps == 2 ? 2 : 3;
  if (some == 1) take_taps<T, Apart, 1, Rows, true>(x, rows, w, 0, best, at);
  else if (some == 2) take_taps<T, Apart, 2, Rows, true>(x, rows, w, 0, best, at);
  else take_taps<T, Apart, 3, Rows, true>(x, rows, w, 0, best, at);
  for (int k = some; k < w.taps; ++k) take_taps<T, Apart, 1, Rows, false>(x, rows, w, k, best, at);
}
template <class T>
void take_columns(const void* data, const std::int32_t* rows, const ColumnWindows& w, void* most, std::int32_t* at) {
  const T* const x = static_cast<const T*>(data);
  T* const best = static_cast<T*>(most);
  if (w.apart == 1) rows ? take_all<T, 1, true>(x, rows, w, best, at) : take_all<T, 1, false>(x, rows, w, best, at);
  else rows ? take_all<T, 2, true>(x, rows, w, best, at) : take_all<T, 2, false>(x, rows, w, best, at);
}

/// A long window of single columns, by lanes.
template <class T, bool Rows>
MINNOW_HD void largest_of_many(const T* x, const std::int32_t* rows, std::int64_t begin, std::int64_t end, T& best,
                               std::int32_t& at) {
  constexpr int kLanes = 16;
  T lane[kLanes];
  std::int32_t place[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = best, place[l] = at;
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const auto column = static_cast<std::int32_t>(i);
    for (int l = 0; l < kLanes; ++l) take_any(x[i + l], (Rows ? rows[i + l] : 0) + column + l, lane[l], place[l]);
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) take_any(lane[half + l], place[half + l], lane[l], place[l]);
  take_any(lane[0], place[0], best, at);
  for (; i < end; ++i) take_any(x[i], (Rows ? rows[i] : 0) + static_cast<std::int32_t>(i), best, at);
}

template <class T, bool Rows>
MINNOW_HD void largest_of_each(const T* x, const std::int32_t* rows, const RowWindows& w, T* best, std::int32_t* at) {
  const std::int64_t inner = w.inner;
  for (std::int64_t o = 0; o < w.count; ++o) {
    std::int64_t i = w.begin[o];
    const std::int64_t end = w.end[o];
    T* __restrict y = best + o * inner;
    std::int32_t* __restrict places = at + o * inner;
    if (i >= end) {
      for (std::int64_t k = 0; k < inner; ++k) y[k] = -kernels::math::kInfinity<T>, places[k] = 0;
      continue;
    }
    const auto first = static_cast<std::int32_t>(i);
    for (std::int64_t k = 0; k < inner; ++k)
      y[k] = x[i * inner + k], places[k] = (Rows ? rows[i * inner + k] : 0) + first;
    i += w.step;
    if (inner == 1 && w.step == 1 && end - i >= 32) {
      largest_of_many<T, Rows>(x, rows, i, end, *y, *places);
      continue;
    }
    if (inner == 1) {
      T most = *y;
      std::int32_t where = *places;
      for (; i < end; i += w.step) take_any(x[i], (Rows ? rows[i] : 0) + static_cast<std::int32_t>(i), most, where);
      *y = most, *places = where;
      continue;
    }
    for (; i < end; i += w.step) {
      const auto column = static_cast<std::int32_t>(i);
      const T* __restrict from = x + i * inner;
      const std::int32_t* __restrict row = Rows ? rows + i * inner : nullptr;
      for (std::int64_t k = 0; k < inner; ++k) take_any(from[k], (Rows ? row[k] : 0) + column, y[k], places[k]);
    }
  }
}
template <class T>
void largest_windows(const void* data, const std::int32_t* rows, const RowWindows& w, void* most, std::int32_t* at) {
  if (rows != nullptr) largest_of_each<T, true>(static_cast<const T*>(data), rows, w, static_cast<T*>(most), at);
  else largest_of_each<T, false>(static_cast<const T*>(data), rows, w, static_cast<T*>(most), at);
}

template <class T> MINNOW_HD void add_row(const T* __restrict x, T factor, std::int64_t n, T* __restrict y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i] * factor;
}
template <class T> void add(const void* x, std::int64_t n, void* y) {
  add_row(static_cast<const T*>(x), T(1), n, static_cast<T*>(y));
}

/// The sums of `Rows` rows, each divided by its count.
template <class T, int Rows>
MINNOW_HD void sum_first(const T* __restrict x, std::int64_t stride, const double* counts, std::int64_t n,
                         T* __restrict y) {
  const T a = static_cast<T>(1 / counts[0]), b = static_cast<T>(1 / counts[Rows > 1 ? 1 : 0]),
          c = static_cast<T>(1 / counts[Rows > 2 ? 2 : 0]);
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = x[i] * a;
    if constexpr (Rows > 1) sum += x[stride + i] * b;
    if constexpr (Rows > 2) sum += x[2 * stride + i] * c;
    y[i] = sum;
  }
}
template <class T>
void sum_rows(const void* data, std::int64_t stride, const double* counts, std::int64_t rows, std::int64_t n,
              void* to) {
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(to);
  if (rows == 1) return sum_first<T, 1>(x, stride, counts, n, y);
  if (rows == 2) return sum_first<T, 2>(x, stride, counts, n, y);
  sum_first<T, 3>(x, stride, counts, n, y);
  for (std::int64_t r = 3; r < rows; ++r) add_row(x + r * stride, static_cast<T>(1 / counts[r]), n, y);
}

/// By lanes: one sum would wait for each element.
template <class T> [[gnu::noinline]] T sum_of_many(const T* x, std::int64_t n) {
  T lanes[8] = {};
  for (; n >= 8; n -= 8, x += 8)
    for (int l = 0; l < 8; ++l) lanes[l] += x[l];
  for (int l = 1; l < 8; ++l) lanes[0] += lanes[l];
  for (; n > 0; --n) lanes[0] += x[n - 1];
  return lanes[0];
}

template <class T> void sum_windows(const void* data, const RowWindows& w, void* to) {
  const T* x = static_cast<const T*>(data);
  for (std::int64_t o = 0; o < w.count; ++o) {
    T* __restrict y = static_cast<T*>(to) + o * w.inner;
    if (w.inner == 1) {
      T sum = 0;
      if (w.end[o] - w.begin[o] >= 32) sum = sum_of_many(x + w.begin[o], w.end[o] - w.begin[o]);
      else
        for (std::int64_t i = w.begin[o]; i < w.end[o]; ++i) sum += x[i];
      *y = sum;
      continue;
    }
    for (std::int64_t k = 0; k < w.inner; ++k) y[k] = 0;
    for (std::int64_t i = w.begin[o]; i < w.end[o]; ++i) add_row(x + i * w.inner, T(1), w.inner, y);
  }
}

template <class T> void add_to_windows(const void* data, const RowWindows& w, void* to) {
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(to);
  for (std::int64_t o = 0; o < w.count; ++o) {
    if (w.inner == 1)
      for (std::int64_t i = w.begin[o]; i < w.end[o]; ++i) y[i] += x[o];
    else
      for (std::int64_t i = w.begin[o]; i < w.end[o]; ++i) add_row(x + o * w.inner, T(1), w.inner, y + i * w.inner);
  }
}

template <class T> void divide(void* data, const double* counts, double times, std::int64_t n, std::int64_t inner) {
  T* y = static_cast<T*>(data);
  const T factor = static_cast<T>(times);
  if (inner == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] /= static_cast<T>(counts[i]) * factor;
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T count = static_cast<T>(counts[i]) * factor;
    for (std::int64_t k = 0; k < inner; ++k) y[i * inner + k] /= count;
  }
}

template <class T> constexpr WindowLoops loops() {
  return {largest_rows<T>, take_columns<T>, largest_windows<T>, add<T>,
          sum_rows<T>,     sum_windows<T>,  add_to_windows<T>,  divide<T>};
}

}  // namespace

const WindowTable window_table = {{loops<float>(), loops<double>()}};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const WindowTable& window_loops() { return MINNOW_ISA_LOOPS(window_table); }

}  // namespace minnow::cpu
#endif
