#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/ternary.h>
#include "isa_support.h"

namespace minnow {
namespace {

using namespace kernels;
using test::close;

class BinaryLoops : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, BinaryLoops, test::every_isa(), test::isa_name);

std::vector<float> some_floats() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,   -0.0f,  1.0f,  -1.0f, 2.0f,  -2.0f,
                          0.5f,   -0.5f,  3.0f,  -3.0f, 7.25f, -7.25f,
                          1e-40f, 1e-20f, 1e20f, kInf,  -kInf, std::numeric_limits<float>::quiet_NaN()};
  for (int i = 1; i < 20; ++i) x.push_back(static_cast<float>(i * i % 17) * 0.37f - 2.9f);
  return x;
}

TEST_P(BinaryLoops, FloatAgreesWithDouble) {
  const std::vector<float> values = some_floats();
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : values) {
    for (const float y : values) a.push_back(x), b.push_back(y);
  }
  for_each(BinaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kKind != Kind::kIntegral) {
      using Out = decltype(Op::value(0.0f, 0.0f));
      std::vector<float> storage(a.size());
      Out* out = reinterpret_cast<Out*>(storage.data());
      EXPECT_TRUE(cpu::loops().binary[0][I](a.data(), b.data(), out, static_cast<std::int64_t>(a.size())));
      int faults = 0;
      for (std::size_t i = 0; i < a.size() && faults < 3; ++i) {
        // A quotient that rounds differently in float falls on the other side of an integer: compare float with float.
        const double expected = std::is_same_v<Op, FloorDivide>
                                    ? static_cast<double>(Op::value(a[i], b[i]))
                                    : static_cast<double>(static_cast<float>(
                                          Op::value(static_cast<double>(a[i]), static_cast<double>(b[i]))));
        if (close(out[i], expected)) continue;
        ++faults;
        ADD_FAILURE() << Op::kName << "(" << a[i] << ", " << b[i] << ") = " << out[i] << ", expected " << expected;
      }
    }
  });
}

/// Remainders are exact: any quotient, also of numbers that nearly divide each other, and blocks with and without the
/// slow cases.
template <class T, int Compute> void remainders_are_those_of_libm() {
  std::vector<T> a, b;
  std::uint32_t seed = 1;
  const auto next = [&seed] { return seed = seed * 1664525u + 1013904223u; };
  const auto number = [&](int exponent) {
    const T m = T(1) + static_cast<T>(next() >> 9) * T(0x1p-23) + (sizeof(T) == 8 ? T(next() >> 9) * T(0x1p-46) : T(0));
    return std::ldexp((next() >> 31) != 0 ? -m : m, exponent);
  };
  const auto pair = [&](T x, T y) { a.push_back(x), b.push_back(y); };
  for (int i = 0; i < 60000; ++i) {
    const T y = number(static_cast<int>(next() >> 28) - 8);
    const T whole = static_cast<T>(next() >> (8 + (next() >> 27) % 24)) * y;  // rounded: beside a multiple
    pair(whole, y);
    pair(std::nextafter(whole, T(0)), y);
    pair(number(static_cast<int>(next() >> 27) - 8), y);
  }
  for (int i = 0; i < 3000; ++i)
    pair(number(static_cast<int>(next() >> 24) - 128), number(static_cast<int>(next() >> 24) - 128));
  const std::vector<float> some = some_floats();
  for (int round = 0; round < 2; ++round)  // in blocks of their own, and among others
    for (const float x : some)
      for (const float y : some) {
        pair(x, y);
        for (int i = 0; round == 1 && i < 3; ++i) pair(x, T(1.5));
      }
  std::vector<T> out(a.size());
  const auto n = static_cast<std::int64_t>(a.size());
  const auto compare = [&](const char* name, const auto& expected) {
    int faults = 0;
    for (std::size_t i = 0; i < a.size() && faults < 3; ++i) {
      const T want = expected(a[i], b[i]);
      if (std::isnan(want) ? std::isnan(out[i]) : out[i] == want && std::signbit(out[i]) == std::signbit(want))
        continue;
      ++faults;
      ADD_FAILURE() << name << "(" << a[i] << ", " << b[i] << ") = " << out[i] << ", expected " << want;
    }
  };
  cpu::loops().binary[Compute][kIndexOf<BinaryOps, Fmod>](a.data(), b.data(), out.data(), n);
  compare("fmod", [](T x, T y) { return std::fmod(x, y); });
  cpu::loops().binary[Compute][kIndexOf<BinaryOps, Remainder>](a.data(), b.data(), out.data(), n);
  compare("remainder", [](T x, T y) {
    const T r = std::fmod(x, y);
    return r != 0 && (y < 0) != (r < 0) ? r + y : r;
  });
  cpu::loops().binary[Compute][kIndexOf<BinaryOps, FloorDivide>](a.data(), b.data(), out.data(), n);
  compare("floor_divide", [](T x, T y) { return FloorDivide::value(x, y); });
}

TEST_P(BinaryLoops, RemaindersAreThoseOfLibm) { remainders_are_those_of_libm<float, 0>(); }
TEST_P(BinaryLoops, Float64RemaindersAreThoseOfLibm) { remainders_are_those_of_libm<double, 1>(); }

TEST_P(BinaryLoops, Float64AnglesAndLengthsAreAccurateToAFewUlp) {
  std::vector<double> values = {5e-324, -1e-310, 1e-200, 1e200, -1.7e308, 1.2e308};
  for (const float v : some_floats()) values.push_back(v);
  for (int i = -40; i <= 40; ++i) values.push_back(std::ldexp(1.0 + 0.0123 * i, i / 8));
  std::vector<double> a, b;
  for (const double x : values)
    for (const double y : values) a.push_back(x), b.push_back(y);
  std::vector<double> out(a.size());
  const auto check = [&]<class Op>(Op, long double (*exact)(long double, long double)) {
    cpu::loops().binary[1][kIndexOf<BinaryOps, Op>](a.data(), b.data(), out.data(),
                                                    static_cast<std::int64_t>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const long double r = exact(a[i], b[i]);
      const double d = static_cast<double>(r);
      if (!std::isfinite(d) || d == 0) {
        ASSERT_TRUE(std::isnan(d) ? std::isnan(out[i]) : out[i] == d && std::signbit(out[i]) == std::signbit(d))
            << Op::kName << "(" << a[i] << ", " << b[i] << ") = " << out[i];
        continue;
      }
      const long double ulp = std::ldexp(1.0L, std::max(std::ilogb(d), -1022) - 52);
      ASSERT_LE(std::fabs(out[i] - r) / ulp, 2.5L) << Op::kName << "(" << a[i] << ", " << b[i] << ") = " << out[i];
    }
  };
  check(Atan2{}, std::atan2), check(Hypot{}, std::hypot);
}

TEST_P(BinaryLoops, TernaryFloatAgreesWithDouble) {
  const std::vector<float> values = some_floats();
  for_each(TernaryOps{}, [&]<class Op, int I>() {
    for (const float x : values) {
      for (const float y : values) {
        const float c[] = {0.0f, 0.25f, 0.5f, 2.0f};
        for (const float z : c) {
          float out = 0;
          cpu::loops().ternary[0][I](&x, &y, &z, &out, 1, 0.5, false);
          const float expected = static_cast<float>(
              Op::value(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z), 0.5));
          EXPECT_TRUE(close(out, expected, 1e-6, 1e-6))
              << Op::kName << "(" << x << ", " << y << ", " << z << ") = " << out;
        }
      }
    }
  });
}

TEST(BinarySemantics, IntegersDivideLikePython) {
  using I = std::int64_t;
  const I lowest = std::numeric_limits<I>::min();
  EXPECT_EQ(FloorDivide::value(I{-7}, I{2}), -4);
  EXPECT_EQ(FloorDivide::value(I{7}, I{-2}), -4);
  EXPECT_EQ(FloorDivide::value(I{6}, I{-2}), -3);
  EXPECT_EQ(Remainder::value(I{-7}, I{2}), 1);
  EXPECT_EQ(Remainder::value(I{7}, I{-2}), -1);
  EXPECT_EQ(Fmod::value(I{-7}, I{2}), -1);
  EXPECT_EQ(FloorDivide::value(lowest, I{-1}), lowest);
  EXPECT_EQ(Remainder::value(lowest, I{-1}), 0);
  EXPECT_EQ(Pow::value(I{2}, I{-1}), 0);
  EXPECT_EQ(Pow::value(I{-1}, I{-3}), -1);
  EXPECT_EQ(Pow::value(I{3}, I{4}), 81);
  EXPECT_EQ(LeftShift::value(I{1}, I{64}), 0);
  EXPECT_EQ(RightShift::value(I{-8}, I{70}), -1);
  EXPECT_EQ(Add::value(std::numeric_limits<I>::max(), I{1}), lowest);
}

TEST(BinarySemantics, IntegerDivisionByZeroIsReported) {
  const std::int64_t a[] = {1, 2, 3};
  const std::int64_t b[] = {1, 0, 2};
  std::int64_t out[3];
  for (const int op : {kIndexOf<BinaryOps, FloorDivide>, kIndexOf<BinaryOps, Fmod>, kIndexOf<BinaryOps, Remainder>}) {
    EXPECT_FALSE(cpu::loops().binary[2][op](a, b, out, 3));
    EXPECT_TRUE(cpu::loops().binary[2][op](a, b, out, 1));
  }
}

TEST(BinarySemantics, FloatsDivideLikePyTorch) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Remainder::value(5.0, -3.0), -1);
  EXPECT_EQ(Remainder::value(-5.0, 3.0), 1);
  EXPECT_EQ(Remainder::value(1e-20, -3.0), -3);
  EXPECT_TRUE(std::isnan(Remainder::value(5.0, 0.0)));
  EXPECT_EQ(FloorDivide::value(5.0, -3.0), -2);
  EXPECT_EQ(FloorDivide::value(5.0, 0.0), inf);
  EXPECT_EQ(FloorDivide::value(-1.0, inf), -1);
  EXPECT_EQ(FloorDivide::value(1.0, 0.1), 9);
  EXPECT_EQ(Logaddexp::value(inf, inf), inf);
  EXPECT_EQ(Logaddexp::value(-inf, -inf), -inf);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Maximum::value(nan, 1.0)));
  EXPECT_TRUE(std::isnan(Maximum::value(1.0, nan)));
  EXPECT_EQ(Fmax::value(nan, 1.0), 1);
  EXPECT_EQ(Fmin::value(1.0, nan), 1);
}

}  // namespace
}  // namespace minnow
