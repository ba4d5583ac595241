#include <minnow/tensor/cpu/fft.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(FftLoops, table_of_fft)

// All loops are of vectors whose lanes are different lines, or different columns or rows of one long line.

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class E> using Number = FftNumber<E>;
template <class T> using Lanes = std::conditional_t<std::is_same_v<T, float>, Vector, DoubleVector>;

template <class E> MINNOW_HD Number<E> operator+(Number<E> a, Number<E> b) { return {a.re + b.re, a.im + b.im}; }
template <class E> MINNOW_HD Number<E> operator-(Number<E> a, Number<E> b) { return {a.re - b.re, a.im - b.im}; }
template <class E, class R> MINNOW_HD Number<E> operator*(Number<E> a, Number<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class E> MINNOW_HD Number<E> turned(Number<E> a) { return {a.im, -a.re}; }  // -i a

/// The transform of P numbers.
template <int P, class E, class T> MINNOW_HD void small_transform(Number<E>* t, const Number<T>* roots) {
  if constexpr (P == 2) {
    const Number<E> a = t[0];
    t[0] = a + t[1], t[1] = a - t[1];
  } else if constexpr (P == 4) {
    const Number<E> even = t[0] + t[2], odd = t[0] - t[2], sum = t[1] + t[3], rest = turned(t[1] - t[3]);
    t[0] = even + sum, t[1] = odd + rest, t[2] = even - sum, t[3] = odd - rest;
  } else if constexpr (P == 8) {
    Number<E> a[4] = {t[0], t[2], t[4], t[6]}, b[4] = {t[1], t[3], t[5], t[7]};
    small_transform<4>(a, roots), small_transform<4>(b, roots);
    const T half = roots[1].re;  // sqrt(1 / 2)
    b[1] = {half * (b[1].re + b[1].im), half * (b[1].im - b[1].re)};
    b[2] = turned(b[2]);
    b[3] = {half * (b[3].im - b[3].re), -half * (b[3].re + b[3].im)};
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) t[q] = a[q] + b[q], t[q + 4] = a[q] - b[q];
  } else {  // an odd number: the terms r and P - r have conjugate roots
    constexpr int kPairs = P / 2;
    Number<E> sum[kPairs], rest[kPairs], all = t[0];
    const Number<E> first = t[0];
#pragma GCC unroll 8
    for (int r = 0; r < kPairs; ++r) {
      sum[r] = t[r + 1] + t[P - 1 - r], rest[r] = t[r + 1] - t[P - 1 - r];
      all = all + sum[r];
    }
    t[0] = all;
#pragma GCC unroll 8
    for (int q = 1; q <= kPairs; ++q) {
      Number<E> a = first, b = {rest[0].im * roots[q].im, rest[0].re * roots[q].im};
      a = {a.re + sum[0].re * roots[q].re, a.im + sum[0].im * roots[q].re};
#pragma GCC unroll 8
      for (int r = 2; r <= kPairs; ++r) {
        const Number<T> root = roots[q * r % P];
        a = {a.re + sum[r - 1].re * root.re, a.im + sum[r - 1].im * root.re};
        b = {b.re + rest[r - 1].im * root.im, b.im + rest[r - 1].re * root.im};
      }
      t[q] = {a.re - b.re, a.im + b.im};
      t[P - q] = {a.re + b.re, a.im - b.im};
    }
  }
}

/// Joins P transforms of `done` numbers to one, n / done / P times (Stockham's order, in which the results are sorted).
template <int P, class E, class T>
void pass(const Number<E>* x, Number<E>* y, std::int64_t n, std::int64_t done, const Number<T>* roots) {
  const std::int64_t m = n / (done * P), step = m * done;
  const Number<T>* const small = roots + done * (P - 1);
  for (std::int64_t k = 0; k < m; ++k, x += done, y += P * done) {
    for (std::int64_t j = 0; j < done; ++j) {
      const Number<T>* const root = roots + j * (P - 1);
      Number<E> t[P];
      t[0] = x[j];
#pragma GCC unroll 16
      for (int r = 1; r < P; ++r) t[r] = x[r * step + j] * root[r - 1];
      small_transform<P>(t, small);
#pragma GCC unroll 16
      for (int q = 0; q < P; ++q) y[q * done + j] = t[q];
    }
  }
}

template <class T> Number<Lanes<T>>* run_passes(const FftSteps<T>& s, Number<Lanes<T>>* x, Number<Lanes<T>>* y) {
  std::int64_t done = 1;
  for (int i = 0; i < s.passes; ++i) {
    const int p = s.pass[i].radix;
    const Number<T>* const roots = s.pass[i].roots;
    if (p == 2) pass<2>(x, y, s.n, done, roots);
    else if (p == 3) pass<3>(x, y, s.n, done, roots);
    else if (p == 4) pass<4>(x, y, s.n, done, roots);
    else if (p == 5) pass<5>(x, y, s.n, done, roots);
    else if (p == 7) pass<7>(x, y, s.n, done, roots);
    else if (p == 8) pass<8>(x, y, s.n, done, roots);
    else if (p == 11) pass<11>(x, y, s.n, done, roots);
    else pass<13>(x, y, s.n, done, roots);
    done *= p;
    Number<Lanes<T>>* const last = x;
    x = y, y = last;
  }
  return x;
}

template <class V, int... I> MINNOW_HD Number<V> apart(V a, V b, std::integer_sequence<int, I...>) {
  return {__builtin_shufflevector(a, b, (2 * I)...), __builtin_shufflevector(a, b, (2 * I + 1)...)};
}
template <class T> constexpr auto kAllOf = std::make_integer_sequence<int, kLanesOf<T>>();

/// How the lanes are read and written.
template <class T> bool is_dense(const FftLines<T>& lines) {
  return lines.real ? lines.step == 1 : lines.step == 2 && lines.part == 1;
}
/// f(the first, how many) of a dense line's elements, the last ones again, or fewer than a vector in all.
template <class T, class F> MINNOW_HD void each_square(std::int64_t n, const F& f) {
  constexpr int kLanes = kLanesOf<T>;
  if (n < kLanes) return f(std::int64_t{0}, static_cast<int>(n));
  for (std::int64_t i = 0; i < n; i += kLanes) f(i + kLanes <= n ? i : n - kLanes, kLanes);
}
template <class T> bool are_adjacent(const FftLines<T>& lines, int some, std::int64_t distance) {
  for (int l = 1; l < some; ++l)
    if (lines.line[l] - lines.line[0] != l * distance) return false;
  return true;
}

/// Numbers times `scale`, a line in each of `some` lanes; with `exchanged` real and imaginary parts, which makes a
/// transform inverse.
template <class T>
void load(const FftLines<T>& lines, int some, std::int64_t count, bool exchanged, T scale, Number<Lanes<T>>* to) {
  constexpr int kLanes = kLanesOf<T>;
  using V = Lanes<T>;
  V* const parts = reinterpret_cast<V*>(to);
  const int turn = exchanged ? 1 : 0;
  const bool real = lines.real;
  if (is_dense(lines)) {
    return each_square<T>(
        real ? count : 2 * count, [&](std::int64_t e, int wide) __attribute__((always_inline)) {
          V v[kLanes];
#pragma GCC unroll 16
          for (int l = 0; l < kLanes; ++l) v[l] = load_some(lines.line[l] + e, wide);
          transpose_square<kLanes>(v);
          for (int l = 0; l < wide; ++l) {
            if (real) parts[2 * (e + l)] = v[l] * scale, parts[2 * (e + l) + 1] = V{};
            else parts[(e + l) ^ turn] = v[l] * scale;
          }
        });
  }
  const T* from = lines.line[0];
  const int low = 2 * some < kLanes ? 2 * some : kLanes, high = 2 * some - low;
  if (!real && lines.part == 1 && are_adjacent(lines, some, 2)) {
    for (std::int64_t k = 0; k < count; ++k, from += lines.step) {
      __builtin_prefetch(from + 2 * kLanes, 0, 2), __builtin_prefetch(from + 3 * kLanes, 0, 2);
      const Number<V> both = apart(load_some(from, low), load_some(from + kLanes, high), kAllOf<T>);
      parts[2 * k + turn] = both.re * scale, parts[2 * k + 1 - turn] = both.im * scale;
    }
  } else if (!real && are_adjacent(lines, some, 1)) {
    for (std::int64_t k = 0; k < count; ++k, from += lines.step) {
      parts[2 * k + turn] = load_some(from, some) * scale;
      parts[2 * k + 1 - turn] = load_some(from + lines.part, some) * scale;
    }
  } else {
    T* out = reinterpret_cast<T*>(to);
    for (std::int64_t k = 0; k < count; ++k, out += 2 * kLanes)
      for (int l = 0; l < kLanes; ++l) {
        const T* const number = lines.line[l] + k * lines.step;
        out[turn * kLanes + l] = number[0] * scale;
        out[(1 - turn) * kLanes + l] = real ? T(0) : number[lines.part] * scale;
      }
  }
}

/// The reverse, of the first `some` lanes.
template <class T>
void store(const Number<Lanes<T>>* from, std::int64_t count, bool exchanged, const FftLines<T>& lines, int some) {
  constexpr int kLanes = kLanesOf<T>;
  using V = Lanes<T>;
  const V* const parts = reinterpret_cast<const V*>(from);
  const int turn = exchanged ? 1 : 0;
  const bool real = lines.real;
  if (is_dense(lines)) {
    return each_square<T>(
        real ? count : 2 * count, [&](std::int64_t e, int wide) __attribute__((always_inline)) {
          V v[kLanes];
#pragma GCC unroll 16
          for (int l = 0; l < kLanes; ++l) v[l] = l < wide ? parts[real ? 2 * (e + l) : (e + l) ^ turn] : V{};
          transpose_square<kLanes>(v);
#pragma GCC unroll 16
          for (int l = 0; l < kLanes; ++l)
            if (l < some) store_some(v[l], lines.line[l] + e, wide);
        });
  }
  T* to = lines.line[0];
  const int low = 2 * some < kLanes ? 2 * some : kLanes, high = 2 * some - low;
  if (!real && lines.part == 1 && are_adjacent(lines, some, 2)) {
    for (std::int64_t k = 0; k < count; ++k, to += lines.step) {
      __builtin_prefetch(to + 2 * kLanes, 1, 2), __builtin_prefetch(to + 3 * kLanes, 1, 2);
      const V re = parts[2 * k + turn], im = parts[2 * k + 1 - turn];
      store_some(interleave<0>(re, im, kAllOf<T>), to, low);
      store_some(interleave<1>(re, im, kAllOf<T>), to + kLanes, high);
    }
  } else if (!real && are_adjacent(lines, some, 1)) {
    for (std::int64_t k = 0; k < count; ++k, to += lines.step) {
      store_some(parts[2 * k + turn], to, some);
      store_some(parts[2 * k + 1 - turn], to + lines.part, some);
    }
  } else {
    const T* in = reinterpret_cast<const T*>(from);
    for (std::int64_t k = 0; k < count; ++k, in += 2 * kLanes)
      for (int l = 0; l < some; ++l) {
        T* const number = lines.line[l] + k * lines.step;
        number[0] = in[turn * kLanes + l];
        if (!real) number[lines.part] = in[(1 - turn) * kLanes + l];
      }
  }
}

// The same of one line.
template <class T>
void load(const FftLines<T>& lines, int, std::int64_t count, bool exchanged, T scale, Number<T>* to) {
  const T* from = lines.line[0];
  if (is_dense(lines) && !lines.real) {
    const int turn = exchanged ? 1 : 0;
    for (std::int64_t k = 0; k < count; ++k) to[k] = {from[2 * k + turn] * scale, from[2 * k + 1 - turn] * scale};
    return;
  }
  for (std::int64_t k = 0; k < count; ++k, from += lines.step) {
    const T re = from[0] * scale, im = lines.real ? T(0) : from[lines.part] * scale;
    to[k] = exchanged ? Number<T>{im, re} : Number<T>{re, im};
  }
}
template <class T>
void store(const Number<T>* from, std::int64_t count, bool exchanged, const FftLines<T>& lines, int) {
  T* to = lines.line[0];
  if (is_dense(lines) && !lines.real) {
    const int turn = exchanged ? 1 : 0;
    for (std::int64_t k = 0; k < count; ++k) to[2 * k + turn] = from[k].re, to[2 * k + 1 - turn] = from[k].im;
    return;
  }
  for (std::int64_t k = 0; k < count; ++k, to += lines.step) {
    to[0] = exchanged ? from[k].im : from[k].re;
    if (!lines.real) to[lines.part] = exchanged ? from[k].re : from[k].im;
  }
}

/// Lanes in adjacent lines of a matrix of numbers; the last one again where there are fewer.
template <class T> FftLines<T> lanes_of(Number<T>* first, std::int64_t some, std::int64_t distance, std::int64_t step) {
  FftLines<T> lines{{}, 2 * step, 1, false};
  for (int l = 0; l < kLanesOf<T>; ++l) lines.line[l] = &first[(l < some ? l : some - 1) * distance].re;
  return lines;
}

/// The columns of a matrix, times roots, then its rows, whose results are columns (Bailey 1990).  In x, by way of y.
template <class T> void run_matrix(const FftSteps<T>& s, Number<T>* x, Number<T>* y, void* memory) {
  constexpr int kLanes = kLanesOf<T>;
  using V = Lanes<T>;
  const std::int64_t rows = s.columns->n, cols = s.rows->n, most = rows > cols ? rows : cols;
  auto* const a = static_cast<Number<V>*>(memory);
  const auto places = [](std::int64_t n, const auto& f) {  // the last lanes overlap, or there are fewer
    for (std::int64_t i = 0; i < n; i += kLanes)
      f(i + kLanes <= n || n < kLanes ? i : n - kLanes, static_cast<int>(n < kLanes ? n : kLanes));
  };
  places(cols, [&](std::int64_t first, int some) {
    load(lanes_of(x + first, some, 1, cols), some, rows, false, T(1), a);
    Number<V>* const result = run_passes(*s.columns, a, a + most);
    for (std::int64_t f = 0; f < rows; ++f) {
      const T* const roots = s.between + f * cols + first;
      result[f] = result[f] * Number<V>{load_some(roots, some), load_some(roots + s.n, some)};
    }
    store(result, rows, false, lanes_of(y + first, some, 1, cols), some);
  });
  places(rows, [&](std::int64_t first, int some) {
    load(lanes_of(y + first * cols, some, cols, 1), some, cols, false, T(1), a);
    store(run_passes(*s.rows, a, a + most), cols, false, lanes_of(x + first, some, 1, rows), some);
  });
}

template <class T> Number<Lanes<T>>* run_some(const FftSteps<T>& s, Number<Lanes<T>>* x, Number<Lanes<T>>* y) {
  return run_passes(s, x, y);
}
template <class T> Number<T>* run_some(const FftSteps<T>& s, Number<T>* x, Number<T>* y) {
  run_matrix(s, x, y, y + (s.n + 15) / 16 * 16);
  return x;
}

/// The transform of x, or of a line in each lane, in x or y.
template <class T, class E> Number<E>* run(const FftSteps<T>& s, Number<E>* x, Number<E>* y) {
  if (s.inner == nullptr) return run_some(s, x, y);
  const std::int64_t m = s.inner->n;
  for (std::int64_t k = 0; k < s.n; ++k) x[k] = x[k] * s.chirp[k];
  for (std::int64_t k = s.n; k < m; ++k) x[k] = {E{}, E{}};
  Number<E>* const there = run_some(*s.inner, x, y);
  for (std::int64_t k = 0; k < m; ++k) {  // the parts exchanged: the next transform is inverse
    const Number<E> product = there[k] * s.spectrum[k];
    there[k] = {product.im, product.re};
  }
  Number<E>* const back = run_some(*s.inner, there, there == x ? y : x);
  for (std::int64_t k = 0; k < s.n; ++k) back[k] = Number<E>{back[k].im, back[k].re} * s.chirp[k];
  return back;
}

/// to[k] = f(from[k], from[m - k], roots[k]) for k from 1 to m - 1.
template <class T, class F>
void pair_up(std::int64_t m, const Number<Lanes<T>>* from, const Number<T>* roots, Number<Lanes<T>>* to, const F& f) {
  for (std::int64_t k = 1; k < m; ++k) to[k] = f(from[k], from[m - k], roots[k]);
}
template <class V, int... I> MINNOW_HD V reversed(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(sizeof...(I)) - 1 - I)...);
}
template <class T> MINNOW_HD Number<Lanes<T>> load_numbers(const Number<T>* from) {
  return apart(load_some(&from->re, kLanesOf<T>), load_some(&from->re + kLanesOf<T>, kLanesOf<T>), kAllOf<T>);
}
template <class T> MINNOW_HD void store_numbers(Number<Lanes<T>> v, T* to) {
  store_some(interleave<0>(v.re, v.im, kAllOf<T>), to, kLanesOf<T>);
  store_some(interleave<1>(v.re, v.im, kAllOf<T>), to + kLanesOf<T>, kLanesOf<T>);
}
template <class T, class F>
void pair_up(std::int64_t m, const Number<T>* from, const Number<T>* roots, Number<T>* to, const F& f) {
  constexpr int kLanes = kLanesOf<T>;
  std::int64_t k = 1;
  for (; k + kLanes <= m; k += kLanes) {
    const Number<Lanes<T>> back = load_numbers(from + m - k - kLanes + 1);
    const Number<Lanes<T>> b{reversed(back.re, kAllOf<T>), reversed(back.im, kAllOf<T>)};
    store_numbers<T>(f(load_numbers(from + k), b, load_numbers(roots + k)), &to[k].re);
  }
  for (; k < m; ++k) to[k] = f(from[k], from[m - k], roots[k]);
}

/// The first n / 2 + 1 results of a real line of n, from the transform z of (x[0], x[1]), (x[2], x[3]), ..., or of its
/// n numbers if n is odd.
template <class T, class E> void halve(const FftJob<T>& job, const Number<E>* z, Number<E>* y) {
  const std::int64_t n = job.n, m = n / 2;
  const T c = job.middle, s = job.inverse ? -c : c, h = T(0.5);
  if (n % 2 != 0) {
    y[0] = {z[0].re, E{}};
    for (std::int64_t k = 1; k <= m; ++k) y[k] = {c * z[k].re, s * z[k].im};
    return;
  }
  y[0] = {z[0].re + z[0].im, E{}};
  y[m] = {z[0].re - z[0].im, E{}};
  pair_up(
      m, z, job.halves, y, [=](auto a, auto b, auto root) __attribute__((always_inline)) {
        const auto odd = decltype(a){h * (a.im + b.im), h * (b.re - a.re)} * root;
        return decltype(a){c * (h * (a.re + b.re) + odd.re), s * (h * (a.im - b.im) + odd.im)};
      });
}

/// The reverse: what is to be transformed.
template <class T, class E> void unite(const FftJob<T>& job, const Number<E>* x, Number<E>* z) {
  const std::int64_t n = job.n, m = n / 2;
  const T c = job.middle / 2, s = job.inverse ? -c : c;
  if (n % 2 != 0) {
    z[0] = {x[0].re, E{}};
    for (std::int64_t k = 1; k <= m; ++k) {
      z[k] = {c * x[k].re, s * x[k].im};
      z[n - k] = {c * x[k].re, -s * x[k].im};
    }
    return;
  }
  z[0] = {x[0].re + x[m].re, x[0].re - x[m].re};
  pair_up(
      m, x, job.halves, z, [=](auto a, auto b, auto root) __attribute__((always_inline)) {
        const auto rest = decltype(a){c * (a.re - b.re), s * (a.im + b.im)} * root;
        return decltype(a){c * (a.re + b.re) - rest.im, s * (a.im - b.im) + rest.re};
      });
}

/// E: a vector, or T for one line.
template <class T, class E> void transform(const void* given) {
  const auto& job = *static_cast<const FftJob<T>*>(given);
  const FftSteps<T>& steps = job.steps;
  const std::int64_t half = job.n / 2 + 1, room = (steps.room() + 1 + 15) / 16 * 16;
  Number<E>*x = static_cast<Number<E>*>(job.memory), *y = x + room;
  // A real line of an even n as n / 2 numbers.
  const auto in_pairs = [&](FftLines<T> lines) {
    if (job.n % 2 == 0) lines.part = lines.step, lines.step *= 2, lines.real = false;
    return lines;
  };
  if (job.kind == FftKind::complex) {
    load(job.x, job.lines, job.n, job.inverse, job.scale, x);
    store(run(steps, x, y), job.n, job.inverse, job.y, job.lines);
  } else if (job.kind == FftKind::from_real) {
    load(in_pairs(job.x), job.lines, steps.n, false, job.scale, x);
    const Number<E>* const z = run(steps, x, y);
    Number<E>* const other = z == x ? y : x;
    halve(job, z, other);
    store(other, half, false, job.y, job.lines);
  } else {
    load(job.x, job.lines, half, false, job.scale, y);
    unite(job, y, x);
    store(run(steps, x, y), steps.n, false, in_pairs(job.y), job.lines);
  }
}

}  // namespace

extern const FftLoops table_of_fft = {kVectorBytes,
                                      {transform<float, Vector>, transform<double, DoubleVector>},
                                      {transform<float, float>, transform<double, double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {
const FftLoops& fft_loops() { return MINNOW_ISA_LOOPS(table_of_fft); }
}  // namespace minnow::cpu
#endif
