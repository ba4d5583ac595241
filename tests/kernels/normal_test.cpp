// Tests of normally distributed numbers, whose bits are promised for every device and compiler.

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/normal.h>
#include <minnow/tensor/kernels/philox.h>

namespace minnow {
namespace {

using kernels::philox;
using kernels::Philox4;
using kernels::uniform_double;
using kernels::uniform_float;

TEST(BoxMuller, IsFiniteAndNormal) {
  double sum = 0;
  double squares = 0;
  constexpr int kPairs = 20000;
  for (int i = 0; i < kPairs; ++i) {
    const Philox4 r = philox(static_cast<std::uint64_t>(i), 0, 7);
    const auto pair = kernels::box_muller(kernels::uniform_float(r.lane[0]), kernels::uniform_float(r.lane[1]));
    ASSERT_TRUE(std::isfinite(pair.first) && std::isfinite(pair.second));
    sum += static_cast<double>(pair.first) + static_cast<double>(pair.second);
    squares += static_cast<double>(pair.first) * static_cast<double>(pair.first) +
               static_cast<double>(pair.second) * static_cast<double>(pair.second);
  }
  EXPECT_NEAR(sum / (2 * kPairs), 0, 0.02);
  EXPECT_NEAR(squares / (2 * kPairs), 1, 0.03);
}

/// Calls f(u, v) for many pairs in [0, 1), among them small ones and 0.
template <class T, class F> void for_uniform_pairs(const F& f) {
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const Philox4 r = philox(i, 0, 3);
    const int shift = static_cast<int>(i % 25);
    if constexpr (std::is_same_v<T, float>) f(uniform_float(r.lane[0] >> shift), uniform_float(r.lane[1]));
    else f(uniform_double(r.lane[0] >> shift, r.lane[1] >> shift), uniform_double(r.lane[2], r.lane[3]));
  }
}

template <class T> void expect_close_to_exact_values() {
  static constexpr auto kEpsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  for_uniform_pairs<T>([](T u, T v) {
    const T x = 1 - u;
    const long double log = std::log(static_cast<long double>(x));
    ASSERT_LE(std::abs(static_cast<long double>(kernels::rounded_log(x).value) - log), 2 * kEpsilon * std::abs(log))
        << x;
    const auto direction = kernels::rounded_cos_sin_turn(v);
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(v);
    ASSERT_LE(std::abs(static_cast<long double>(direction.first.value) - std::cos(angle)), kEpsilon) << v;
    ASSERT_LE(std::abs(static_cast<long double>(direction.second.value) - std::sin(angle)), kEpsilon) << v;
  });
}
TEST(BoxMuller, IsCloseToExactValuesInFloat) { expect_close_to_exact_values<float>(); }
TEST(BoxMuller, IsCloseToExactValuesInDouble) { expect_close_to_exact_values<double>(); }

/// A hash of many bits (FNV-1a), so that every compiler and every change of the formulas is compared with what was once
/// promised.
template <class T> std::uint64_t hash_of_normal_numbers() {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  std::uint64_t hash = 0xcbf29ce484222325;
  for_uniform_pairs<T>([&](T u, T v) {
    const auto pair = kernels::box_muller(u, v);
    for (const T x : {pair.first, pair.second}) hash = (hash ^ std::bit_cast<Bits>(x)) * 0x100000001b3;
  });
  return hash;
}
TEST(BoxMuller, KeepsItsBits) {
  EXPECT_EQ(hash_of_normal_numbers<float>(), 3920101060299463824u);
  EXPECT_EQ(hash_of_normal_numbers<double>(), 1031803268364318441u);
}
#if defined(__x86_64__)
__attribute__((target("fma"))) float with_fused_instructions(float a, float b, float c) {
  return kernels::mul_add(a, b, c);
}
/// Where the compiler may use fused instructions, it does not.
TEST(Rounded, IsRoundedAfterTheProduct) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this processor has no fused instructions";
  volatile float a = 1 + 0x1p-12f, b = a, c = -(a * b);
  EXPECT_EQ(with_fused_instructions(a, b, c), 0.0f);
  EXPECT_NE(std::fma(a, b, c), 0.0f);
}
#endif

}  // namespace
}  // namespace minnow
