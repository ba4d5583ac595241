#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/normal.h>
#include <minnow/tensor/kernels/philox.h>

// Random elements from Philox numbers, with the same bits on every device.  A draw sets the elements of one counter
// from its four numbers; an element takes kPerElement of them.
namespace minnow::detail::kernels {

struct UniformFloat {
  using Type = float;
  static constexpr int kPerElement = 1;
  float low, width;
  int dropped_bits;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], float (&y)[4]) const {
    for (int k = 0; k < 4; ++k) y[k] = mul_add(width, uniform_float(r[k] >> dropped_bits << dropped_bits), low);
  }
};
struct UniformDouble {
  using Type = double;
  static constexpr int kPerElement = 2;
  double low, width;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], double (&y)[2]) const {
    for (int k = 0; k < 2; ++k) y[k] = mul_add(width, uniform_double(r[2 * k], r[2 * k + 1]), low);
  }
};
/// Calls f(draw) with the draw for elements of a floating-point dtype.
template <class F> void with_uniform(DType dtype, double low, double high, const F& f) {
  if (dtype == DType::float64) return f(UniformDouble{low, high - low});
  // Halves use as many bits as they hold, or the largest numbers would round up to `high`.
  const int dropped_bits = dtype == DType::float16 ? 21 : dtype == DType::bfloat16 ? 24 : 8;
  f(UniformFloat{static_cast<float>(low), static_cast<float>(high - low), dropped_bits});
}

struct NormalFloat {
  using Type = float;
  static constexpr int kPerElement = 1;
  float mean, std;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], float (&y)[4]) const {
    for (int k = 0; k < 4; k += 2) {
      const Pair<float> pair = box_muller(uniform_float(r[k]), uniform_float(r[k + 1]));
      y[k] = mul_add(std, pair.first, mean);
      y[k + 1] = mul_add(std, pair.second, mean);
    }
  }
};
struct NormalDouble {
  using Type = double;
  static constexpr int kPerElement = 2;
  double mean, std;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], double (&y)[2]) const {
    const Pair<double> pair = box_muller(uniform_double(r[0], r[1]), uniform_double(r[2], r[3]));
    y[0] = mul_add(std, pair.first, mean);
    y[1] = mul_add(std, pair.second, mean);
  }
};
template <class F> void with_normal(DType dtype, double mean, double std, const F& f) {
  if (dtype == DType::float64) return f(NormalDouble{mean, std});
  f(NormalFloat{static_cast<float>(mean), static_cast<float>(std)});
}

/// low + floor(x range / 2^64) with a 64-bit x, by 32-bit halves: uniform in any range but for 2^-64 of it.
struct Randint {
  using Type = std::int64_t;
  static constexpr int kPerElement = 2;
  std::uint64_t low, range;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], std::int64_t (&y)[2]) const {
    const std::uint64_t range_low = range & 0xffffffffu, range_high = range >> 32;
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t x_low = r[2 * k], x_high = r[2 * k + 1];
      const std::uint64_t middle = range_low * x_high + ((range_low * x_low) >> 32);
      const std::uint64_t middle2 = range_high * x_low + (middle & 0xffffffffu);
      const std::uint64_t top = range_high * x_high + (middle >> 32) + (middle2 >> 32);
      y[k] = static_cast<std::int64_t>(low + top);
    }
  }
};
inline Randint randint_draw(std::int64_t low, std::int64_t high) {
  const auto first = static_cast<std::uint64_t>(low);
  return {first, static_cast<std::uint64_t>(high) - first};
}

/// 1 with probability p, else 0: compares multiples of 2^-24 with p, as integers.
template <class T> struct Bernoulli {
  using Type = T;
  static constexpr int kPerElement = 1;
  std::uint32_t below;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], T (&y)[4]) const {
    for (int k = 0; k < 4; ++k) y[k] = (r[k] >> 8) < below ? 1 : 0;
  }
};
template <class T> Bernoulli<T> bernoulli_draw(double p) {
  return {static_cast<std::uint32_t>(std::ceil(std::clamp(p, 0.0, 1.0) * 0x1p24))};
}

/// -log(u) / rate with u in (0, 1], which a float16 may round to 0.
struct ExponentialFloat {
  using Type = float;
  static constexpr int kPerElement = 1;
  float rate;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], float (&y)[4]) const {
    for (int k = 0; k < 4; ++k) {
      const float u = static_cast<float>((r[k] >> 8) + 1) * 0x1p-24f;
      const float log = u == 1 ? -0x1p-25f : rounded_log(u).value;
      y[k] = (Rounded<float>{-log} / Rounded<float>{rate}).value;
    }
  }
};
struct ExponentialDouble {
  using Type = double;
  static constexpr int kPerElement = 2;
  double rate;

  MINNOW_HD void operator()(const std::uint32_t (&r)[4], double (&y)[2]) const {
    for (int k = 0; k < 2; ++k) {
      const double u = uniform_double(r[2 * k], r[2 * k + 1]) + 0x1p-53;
      const double log = u == 1 ? -0x1p-54 : rounded_log(u).value;
      y[k] = (Rounded<double>{-log} / Rounded<double>{rate}).value;
    }
  }
};
template <class F> void with_exponential(DType dtype, double rate, const F& f) {
  if (dtype == DType::float64) return f(ExponentialDouble{rate});
  f(ExponentialFloat{static_cast<float>(rate)});
}

/// All draws of a host.
using Draws = List<UniformFloat, UniformDouble, NormalFloat, NormalDouble, Randint, Bernoulli<std::uint8_t>,
                   ExponentialFloat, ExponentialDouble>;

}  // namespace minnow::detail::kernels
