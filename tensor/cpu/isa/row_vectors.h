#pragma once

#include <minnow/tensor/cpu/isa/vector.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

// Rows of float32 of any length: whole vectors, and the first lanes of one for the remainder.

namespace minnow::cpu::MINNOW_ISA {
namespace {

typedef std::int32_t IntVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));  // with half the lanes of a Vector
inline constexpr int kLanes64 = kLanes32 / 2;

/// x in every lane (0 + x would lose the sign of -0).
MINNOW_HD Vector splat(float x) { return x - Vector{}; }

template <int... I> MINNOW_HD IntVector below(int n, std::integer_sequence<int, I...>) { return IntVector{I...} < n; }
/// The first n lanes of v, `rest` in the others.
MINNOW_HD Vector keep_first(Vector v, int n, float rest) {
  return below(n, std::make_integer_sequence<int, kLanes32>()) ? v : splat(rest);
}

/// Loads the first n lanes, n in [0, kLanes32].  The others are 0, and their memory is not accessed.
MINNOW_HD Vector load_first(const float* from, int n) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), from));
#elif defined(__AVX2__)
  const auto mask = below(n, std::make_integer_sequence<int, kLanes32>());
  return reinterpret_cast<Vector>(_mm256_maskload_ps(from, reinterpret_cast<__m256i>(mask)));
#else
  float padded[kLanes32] = {};
  for (int l = 0; l < n; ++l) padded[l] = from[l];
  return load(padded);
#endif
}
MINNOW_HD void store_first(Vector v, float* to, int n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m512>(v));
#elif defined(__AVX2__)
  const auto mask = below(n, std::make_integer_sequence<int, kLanes32>());
  _mm256_maskstore_ps(to, reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256>(v));
#else
  float lanes[kLanes32];
  store(v, lanes);
  for (int l = 0; l < n; ++l) to[l] = lanes[l];
#endif
}

/// Stores past the caches (streamed.h); `to` is aligned to a vector.  end_stream() comes before other threads may read
/// it.
MINNOW_HD void stream(Vector v, float* to) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#elif defined(__AVX2__)
  _mm256_stream_ps(to, reinterpret_cast<__m256>(v));
#elif defined(__SSE2__)
  _mm_stream_ps(to, reinterpret_cast<__m128>(v));
#else
  store(v, to);
#endif
}
MINNOW_HD void end_stream() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}
/// Whether all rows of n from `to` on can be streamed.
MINNOW_HD bool can_stream(const float* to, std::int64_t n) {
  return reinterpret_cast<std::uintptr_t>(to) % kVectorBytes == 0 && n % kLanes32 == 0;
}

template <int From, int... I> MINNOW_HD DoubleVector widen_from(Vector v, std::integer_sequence<int, I...>) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, (From + I)...), DoubleVector);
}
/// The lower and the upper lanes as doubles.
MINNOW_HD DoubleVector low(Vector v) { return widen_from<0>(v, std::make_integer_sequence<int, kLanes64>()); }
MINNOW_HD DoubleVector high(Vector v) { return widen_from<kLanes64>(v, std::make_integer_sequence<int, kLanes64>()); }

template <int Distance, class V, int... I> MINNOW_HD V swapped(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ Distance)...);
}
/// Combines all lanes in pairs, always in the same order.
template <int Distance, class V, class Join> MINNOW_HD V fold(V v, const Join& join) {
  if constexpr (Distance == 0) {
    return v;
  } else {
    constexpr auto kAll = std::make_integer_sequence<int, static_cast<int>(sizeof(V) / sizeof(v[0]))>();
    return fold<Distance / 2>(join(v, swapped<Distance>(v, kAll)), join);
  }
}
template <int Half, class V, int... I> MINNOW_HD V mixed(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I), kFrom = Half * kLanes / 2;
  return __builtin_shufflevector(a, b, (kFrom + I / 2 + I % 2 * kLanes)...);
}
/// Lane l of the result is fold() of v[l], with the same bits, for as many vectors as one has lanes.
template <class V, class Join> MINNOW_HD V fold_each(V* v, const Join& join) {
  constexpr int kLanes = static_cast<int>(sizeof(V) / sizeof(v[0][0]));
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) v[i] = join(mixed<0>(v[i], v[i + half], kAll), mixed<1>(v[i], v[i + half], kAll));
  }
  return v[0];
}

struct Plus {
  MINNOW_HD DoubleVector operator()(DoubleVector a, DoubleVector b) const { return a + b; }
};

/// The first n lanes; a plain load if the compiler knows that n is kLanes32.
MINNOW_HD Vector load_some(const float* from, int n) { return n == kLanes32 ? load(from) : load_first(from, n); }

// The same of halves.

template <class S>
concept AHalf = sizeof(S) == 2;

/// The bits of the first n of four, n in [0, 4].
template <AHalf S> MINNOW_HD std::uint64_t first_bits(const S* from, int n) {
  std::uint64_t four = 0;
  std::uint32_t two = 0;
  std::uint16_t one = 0;
  if (n == 4) std::memcpy(&four, from, 8);
  if ((n & 2) != 0) std::memcpy(&two, from, 4);
  if ((n & 1) != 0) std::memcpy(&one, from + (n & 2), 2);
  return four | two | std::uint64_t{one} << 16 * (n & 2);
}
template <AHalf S> MINNOW_HD Vector load_some(const S* from, int n) {
  if (n == kLanes32) return load(from);
#if defined(__AVX512F__)
  const __m256i lanes = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), from);
  return load(reinterpret_cast<const S*>(&lanes));
#else
  // In a register: a vector of what was just stored in parts is loaded late.
  typedef std::uint64_t Fours __attribute__((vector_size(kVectorBytes / 2)));
  Fours lanes{};
  for (int l = 0; l < kLanes32; l += 4) lanes[l / 4] = first_bits(from + l, n > l + 4 ? 4 : n > l ? n - l : 0);
  return load(reinterpret_cast<const S*>(&lanes));
#endif
}
template <AHalf S> MINNOW_HD void store_first(Vector v, S* to, int n) {
  S lanes[kLanes32];
  store(v, lanes);
#if defined(__AVX512F__)
  __m256i all;
  std::memcpy(&all, lanes, sizeof all);
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>((1u << n) - 1u), all);
#else
  for (int l = 0; l < n; ++l) to[l] = lanes[l];
#endif
}

/// The sum of a row, in several lanes.  read(i, m) gives elements i to i + m; the other lanes are ignored.  Up to eight
/// elements are added as floats, in pairs, so that each is rounded at most three times; these sums are added as
/// doubles, which take twice the time.
template <class Read> MINNOW_HD DoubleVector row_sum(std::int64_t n, const Read& read) {
  constexpr int kAll = kLanes32;
  DoubleVector a{}, b{}, c{}, d{};
  std::int64_t i = 0;
  const auto two = [&](std::int64_t at) { return read(at, kAll) + read(at + kAll, kAll); };
  for (; i + 8 * kAll <= n; i += 8 * kAll) {
    const Vector u = (two(i) + two(i + 2 * kAll)) + (two(i + 4 * kAll) + two(i + 6 * kAll));
    a += low(u), b += high(u);
  }
  for (; i + 4 * kAll <= n; i += 4 * kAll) {
    const Vector u = two(i), v = two(i + 2 * kAll);
    a += low(u), b += high(u), c += low(v), d += high(v);
  }
  for (; i + kAll <= n; i += kAll) {
    const Vector v = read(i, kAll);
    a += low(v), b += high(v);
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    const Vector v = keep_first(read(i, rest), rest, 0.0f);
    c += low(v), d += high(v);
  }
  return (a + c) + (b + d);
}

/// Combines all elements, in several lanes, beginning with `start`, which must be neutral.
template <class S, class Join> MINNOW_HD Vector row_join(const S* x, std::int64_t n, float start, const Join& join) {
  constexpr int kAll = kLanes32;
  Vector a = splat(start), b = a;
  std::int64_t i = 0;
  if (n >= 4 * kAll) {
    Vector c = a, d = a;
    for (; i + 4 * kAll <= n; i += 4 * kAll) {
      a = join(a, load(x + i));
      b = join(b, load(x + i + kAll));
      c = join(c, load(x + i + 2 * kAll));
      d = join(d, load(x + i + 3 * kAll));
    }
    a = join(a, c), b = join(b, d);
  }
  for (; i + kAll <= n; i += kAll) a = join(a, load(x + i));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    b = join(b, keep_first(load_some(x + i, rest), rest, start));
  }
  return join(a, b);
}

/// Stores the first m lanes of f(i, m) to to[i], for a row of n.
template <class E, class F> MINNOW_HD void row_map(E* to, std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kLanes32 <= n; i += kLanes32) store(f(i, kLanes32), to + i);
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  store_first(f(i, rest), to + i, rest);
}

/// f of the lanes of some vectors, each by itself.  By arrays: of these the compiler makes vectors again, of a struct
/// not.
template <class F, class... V> MINNOW_HD Vector each_lane(const F& f, const V&... v) {
  float x[sizeof...(V)][kLanes32], out[kLanes32];
  int operand = 0;
  (store(v, x[operand++]), ...);
  [&]<int... Operand>(std::integer_sequence<int, Operand...>) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes32; ++l) out[l] = f(x[Operand][l]...);
  }
  (std::make_integer_sequence<int, sizeof...(V)>());
  return load(out);
}
/// to[i] = f(from[i]...) for rows of halves, as floats.
template <AHalf S, class F, class... From>
MINNOW_HD void map_halves(const F& f, void* to, std::int64_t n, const From*... from) {
  row_map(static_cast<S*>(to), n,
          [&](std::int64_t i, int m) { return each_lane(f, load_some(static_cast<const S*>(from) + i, m)...); });
}

/// out[r] = fold of part(r) for each row, computed for several rows at a time.
template <class V, class Out, class Part, class Join>
MINNOW_HD void fold_rows(std::int64_t rows, const Part& part, const Join& join, Out* out) {
  constexpr int kLanes = static_cast<int>(sizeof(V) / sizeof(Out));
  std::int64_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    V v[kLanes];
    for (int l = 0; l < kLanes; ++l) v[l] = part(r + l);
    const V all = fold_each(v, join);
    std::memcpy(out + r, &all, sizeof all);
  }
  for (; r < rows; ++r) out[r] = fold<kLanes / 2>(part(r), join)[0];
}

// The same for double.

MINNOW_HD DoubleVector splat(double x) { return x - DoubleVector{}; }
MINNOW_HD DoubleVector load_some(const double* from, int n) {
  DoubleVector v{};
  if (n == kLanes64) {
    std::memcpy(&v, from, sizeof v);
    return v;
  }
#if defined(__AVX512F__)
  return reinterpret_cast<DoubleVector>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1u), from));
#else
  for (int l = 0; l < n; ++l) v[l] = from[l];
  return v;
#endif
}
MINNOW_HD DoubleVector keep_first(DoubleVector v, int n) {
  for (int l = n; l < kLanes64; ++l) v[l] = 0;
  return v;
}
template <class F> MINNOW_HD void row_map(double* to, std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kLanes64 <= n; i += kLanes64) {
    const DoubleVector v = f(i, kLanes64);
    std::memcpy(to + i, &v, sizeof v);
  }
  if (i == n) return;
  const DoubleVector v = f(i, static_cast<int>(n - i));
  for (int l = 0; i + l < n; ++l) to[i + l] = v[l];
}

template <class T> constexpr int kLanesOf = static_cast<int>(kVectorBytes / sizeof(T));

/// The sum of read(0, m), read(m, m), ... over a row, in double and still in several lanes.
template <class T, class Read> MINNOW_HD DoubleVector wide_sum(std::int64_t n, const Read& read) {
  if constexpr (std::is_same_v<T, float>) {
    return row_sum(n, read);
  } else {
    DoubleVector a{}, b{};
    std::int64_t i = 0;
    for (; i + 2 * kLanes64 <= n; i += 2 * kLanes64) a += read(i, kLanes64), b += read(i + kLanes64, kLanes64);
    for (; i + kLanes64 <= n; i += kLanes64) a += read(i, kLanes64);
    if (i < n) b += keep_first(read(i, static_cast<int>(n - i)), static_cast<int>(n - i));
    return a + b;
  }
}
MINNOW_HD void store_some(Vector v, float* to, int n) {
  if (n == kLanes32) store(v, to);
  else store_first(v, to, n);
}
MINNOW_HD void store_some(DoubleVector v, double* to, int n) {
  if (n == kLanes64) {
    std::memcpy(to, &v, sizeof v);
    return;
  }
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << n) - 1u), reinterpret_cast<__m512d>(v));
#else
  for (int l = 0; l < n; ++l) to[l] = v[l];
#endif
}
MINNOW_HD void add_some(DoubleVector v, double* to, int n) {
  v += load_some(to, n);
  std::memcpy(to, &v, static_cast<std::size_t>(n) * sizeof(double));
}
MINNOW_HD void add_some(Vector v, double* to, int n) {
  add_some(low(v), to, n < kLanes64 ? n : kLanes64);
  if (n > kLanes64) add_some(high(v), to + kLanes64, n - kLanes64);
}

/// f(first, m) for m elements from the first on: all of a row, a vector at a time.
template <class T, class F> MINNOW_HD void for_some(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kLanesOf<T> <= n; i += kLanesOf<T>) f(i, kLanesOf<T>);
  if (i < n) f(i, static_cast<int>(n - i));
}

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
