#include <bit>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/apply.h>
#include <minnow/tensor/kernels/unary.h>
#include "isa_support.h"

namespace minnow {
namespace {

using kernels::UnaryOps;
using test::close;

template <class Op, class T> auto value(T x, double p0, double p1) {
  return kernels::apply<kernels::Value, Op>(x, static_cast<T>(p0), static_cast<T>(p1));
}
template <class Op> double slope(double s, double p0, double p1) {
  if constexpr (Op::kOrder < 1) return 0;
  else if constexpr (Op::kParams == 0) return Op::slope(s);
  else if constexpr (Op::kParams == 1) return Op::slope(s, p0);
  else return Op::slope(s, p0, p1);
}

// Parameters that are valid for every functor, and exact in float.
constexpr double kP0 = 0.5;
constexpr double kP1 = 2.0;

/// Where the formula is inaccurate in float32, near a zero or outside of its range.
template <class Op> bool is_exempt(float x) {
  if (std::is_same_v<Op, kernels::NanToNum>) return std::isinf(x);          // float's largest, not double's
  if (std::is_same_v<Op, kernels::Hardswish>) return std::fabs(x) > 5e37f;  // overflows before the division
  if (std::is_same_v<Op, kernels::Lgamma> || std::is_same_v<Op, kernels::Digamma>) return std::fabs(x) > 1e30f;
  return false;
}

class Unary : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Unary, test::every_isa(), test::isa_name);

TEST_P(Unary, FloatAgreesWithDouble) {
  const std::vector<float> x = test::hard_floats();
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  kernels::for_each(UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kKind != kernels::Kind::kIntegral) {
      using Out = decltype(value<Op>(0.0f, 0, 0));
      std::vector<float> storage(x.size());
      Out* y = reinterpret_cast<Out*>(storage.data());
      cpu::loops().unary[0][I](x.data(), y, n, kP0, kP1);
      int faults = 0;
      for (std::size_t i = 0; i < x.size() && faults < 3; ++i) {
        const double expected = value<Op>(static_cast<double>(x[i]), kP0, kP1);
        if (is_exempt<Op>(x[i]) || close(y[i], static_cast<float>(expected))) continue;
        ++faults;
        ADD_FAILURE() << Op::kName << "(" << x[i] << ") = " << y[i] << ", expected " << expected;
      }
    }
  });
}

TEST_P(Unary, InPlaceAndShortArraysGiveTheSameBits) {
  const std::vector<float> x = test::hard_floats();
  kernels::for_each(UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kKind != kernels::Kind::kIntegral && Op::kKind != kernels::Kind::kPredicate) {
      const auto loop = cpu::loops().unary[0][I];
      std::vector<float> whole(x.size());
      std::vector<float> in_place = x;
      loop(x.data(), whole.data(), static_cast<std::int64_t>(x.size()), kP0, kP1);
      loop(in_place.data(), in_place.data(), static_cast<std::int64_t>(x.size()), kP0, kP1);
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_TRUE(close(in_place[i], whole[i], 0, 0)) << Op::kName << " " << x[i];
      float sentinel[6] = {-7, -7, -7, -7, -7, -7};
      loop(x.data() + 12, sentinel + 1, 3, kP0, kP1);
      EXPECT_EQ(sentinel[0], -7) << Op::kName;
      EXPECT_EQ(sentinel[4], -7) << Op::kName;
    }
  });
}

TEST_P(Unary, FloatSlopeAgreesWithDouble) {
  std::vector<float> s;
  for (int i = -400; i <= 400; ++i) s.push_back(static_cast<float>(i) * 0.0213f + 0.0037f);
  std::vector<float> g(s.size(), 3.0f);
  std::vector<float> out(s.size());
  const std::int64_t n = static_cast<std::int64_t>(s.size());
  kernels::for_each(UnaryOps{}, [&]<class Op, int I>() {
    if constexpr (Op::kOrder >= 1) {
      cpu::loops().slope[0][I](g.data(), s.data(), out.data(), n, kP0, kP1);
      for (std::size_t i = 0; i < s.size(); ++i) {
        const double expected = 3 * slope<Op>(s[i], kP0, kP1);
        EXPECT_TRUE(close(out[i], expected, 1e-5))
            << Op::kName << "' at " << s[i] << ": " << out[i] << ", expected " << expected;
      }
    }
  });
}

/// Every slope against central differences in float64, away from kinks.
TEST(UnaryDerivative, SlopeMatchesCentralDifferences) {
  kernels::for_each(UnaryOps{}, []<class Op, int I>() {
    if constexpr (Op::kOrder >= 1) {
      int checked = 0;
      for (int i = -60; i <= 60; ++i) {
        const double x = i * 0.0731 + 0.0117;
        constexpr double kStep = 1e-5;
        // Its slope has a kink, which one-sided differences of values do not show.
        if (std::is_same_v<Op, kernels::SmoothL1> && std::fabs(std::fabs(x) - kP0) < 2 * kStep) continue;
        const double up = value<Op>(x + kStep, kP0, kP1);
        const double down = value<Op>(x - kStep, kP0, kP1);
        const double here = value<Op>(x, kP0, kP1);
        if (!std::isfinite(up) || !std::isfinite(down)) continue;
        const bool by_output = Op::kSaves == kernels::Saves::kOutput;
        const double s = by_output ? here : x;
        const double got = slope<Op>(s, kP0, kP1);
        // A kink between the two points shows as one-sided differences that disagree.
        if (std::fabs((up - here) - (here - down)) > 1e-7) continue;
        ++checked;
        EXPECT_TRUE(close(got, (up - down) / (2 * kStep), 1e-5, 1e-7)) << Op::kName << "' at " << x << ": " << got;
      }
      EXPECT_GT(checked, 5) << Op::kName;
    }
  });
}

/// The polynomials are accurate to a few units in the last place wherever the result is a normal number.
TEST_P(Unary, PolynomialsAreAccurateToAFewUlp) {
  using namespace kernels;
  const auto check = [&]<class Op>(Op, double bound, float low, float high) {
    std::vector<float> x;
    for (int i = 0; i <= 20000; ++i) x.push_back(low + (high - low) * static_cast<float>(i) / 20000.0f);
    std::vector<float> y(x.size());
    cpu::loops().unary[0][kIndexOf<UnaryOps, Op>](x.data(), y.data(), static_cast<std::int64_t>(x.size()), 0, 0);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double r = Op::value(static_cast<double>(x[i]));
      if (std::fabs(r) < 1e-37 || !std::isfinite(r)) continue;
      const double ulp = std::ldexp(1.0, std::max(std::ilogb(r), -126) - 23);
      const double error = std::fabs(y[i] - r) / ulp;
      if (error > worst) worst = error, where = x[i];
    }
    EXPECT_LE(worst, bound) << Op::kName << " at " << where;
  };
  check(Exp{}, 2, -87, 88);
  check(Exp2{}, 2, -125, 127);
  check(Expm1{}, 2.5, -20, 80);
  check(Log{}, 2, 1e-6f, 3);
  check(Log{}, 2, 0.001f, 1e6f);
  check(Log1p{}, 1, -0.99f, 10);
  check(Tanh{}, 3, -9, 9);
  check(Erf{}, 2, -4, 4);
  check(Sin{}, 3, -30, 30);
  check(Cos{}, 3, -30, 30);
  check(Sigmoid{}, 3, -80, 20);
  check(Atan{}, 4, -10, 10);
  check(Asin{}, 5, -1, 1);
  check(Sinh{}, 1, -80, 80);
  check(Asinh{}, 1, -1e4f, 1e4f);
}

/// Of float64 over all exponents, around 1 and at the ends.
TEST_P(Unary, Float64IsAccurateToAFewUlp) {
  using namespace kernels;
  std::vector<double> x = {5e-324, -5e-324, 1e-310, 0.9999999999999999, 1.0000000000000002, 709.7, 709.8,
                           -708.5, -745.1,  1e300};
  for (int e = -1070; e < 1020; e += 5)
    for (const double m : {1.37, -1.71}) x.push_back(std::ldexp(m, e));
  for (int i = -20000; i <= 20000; ++i) x.push_back(i * 1.3e-4), x.push_back(i * 0.0371);
  for (const double v : test::hard_floats()) x.push_back(v);
  auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> y(x.size());
  const auto check = [&]<class Op>(Op, long double (*exact)(long double), long double bound = 2.5L) {
    cpu::loops().unary[1][kIndexOf<UnaryOps, Op>](x.data(), y.data(), n, 0, 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double r = exact(static_cast<long double>(x[i]));
      const double d = static_cast<double>(r);
      if (!std::isfinite(d) || d == 0) {
        ASSERT_TRUE(std::isnan(d) ? std::isnan(y[i]) : y[i] == d && std::signbit(y[i]) == std::signbit(d))
            << Op::kName << "(" << x[i] << ") = " << y[i];
        continue;
      }
      const long double ulp = std::ldexp(1.0L, std::max(std::ilogb(d), -1022) - 52);
      ASSERT_LE(std::fabs(static_cast<long double>(y[i]) - r) / ulp, bound) << Op::kName << "(" << x[i] << ")";
    }
  };
  check(Exp{}, std::exp), check(Exp2{}, std::exp2), check(Expm1{}, std::expm1), check(Log{}, std::log);
  check(Log2{}, std::log2), check(Log10{}, std::log10), check(Log1p{}, std::log1p), check(Tanh{}, std::tanh);
  check(Sinh{}, std::sinh), check(Cosh{}, std::cosh), check(Atanh{}, std::atanh), check(Asin{}, std::asin);
  check(Acos{}, std::acos), check(Atan{}, std::atan);
  check(Erf{}, std::erf), check(Erfc{}, std::erfc, 4.0L);
  check(Sin{}, std::sin), check(Cos{}, std::cos), check(Tan{}, std::tan, 4.0L);  // far angles: by libm
  for (double& v : x)
    if (!(std::fabs(v) <= 1e6)) v = std::nextafter(v * 0.0, 1.0);
  for (int i = -300000; i < 300000; i += 7) {  // beside multiples of pi / 2
    const double angle = i * 1.5707963267948966;
    for (const double v : {angle, std::nextafter(angle, 1e7)}) x.push_back(v), y.push_back(0);
  }
  n = static_cast<std::int64_t>(x.size());
  check(Sin{}, std::sin), check(Cos{}, std::cos), check(Tan{}, std::tan, 4.0L);
}

TEST_P(Unary, Float64ErfinvIsAccurateToAFewUlp) {
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, 1.5, -2.0, std::nan(""), 5e-324, 1e-310};
  for (int i = -4999; i <= 4999; ++i) x.push_back(i * 2e-4);
  for (int i = 1; i <= 212; ++i) x.push_back(1 - std::exp2(-0.25 * i)), x.push_back(std::exp2(-5.1 * i));
  std::vector<double> y(x.size());
  cpu::loops().unary[1][kernels::kIndexOf<UnaryOps, kernels::Erfinv>](x.data(), y.data(),
                                                                      static_cast<std::int64_t>(x.size()), 0, 0);
  EXPECT_FALSE(std::signbit(y[0]));
  EXPECT_TRUE(y[1] == 0 && std::signbit(y[1]));
  EXPECT_TRUE(std::isinf(y[2]) && y[2] > 0 && std::isinf(y[3]) && y[3] < 0);
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]) && std::isnan(y[6]));
  for (std::size_t i = 7; i < x.size(); ++i) {  // the error is what a step of Newton's method would correct
    const long double a = std::fabs(static_cast<long double>(x[i])), root = std::fabs(static_cast<long double>(y[i]));
    const long double off = a > 0.5L ? (1 - a) - std::erfc(root) : std::erf(root) - a;
    if (x[i] == 0) continue;
    const long double ulp = std::ldexp(1.0L, std::max(std::ilogb(y[i]), -1022) - 52);
    ASSERT_LE(std::fabs(off) * 0.886226925452758014L * std::exp(root * root) / ulp, 2.5L) << "erfinv(" << x[i] << ")";
  }
}

TEST_P(Unary, SquareRootsAreRoundedCorrectly) {
  const auto check = [&](const auto& x, int table) {
    auto roots = x, powers = x;
    const auto n = static_cast<std::int64_t>(x.size());
    const auto& loops = cpu::loops().unary[table];
    loops[kernels::kIndexOf<UnaryOps, kernels::Sqrt>](x.data(), roots.data(), n, 0, 0);
    loops[kernels::kIndexOf<UnaryOps, kernels::PowScalar>](x.data(), powers.data(), n, 0.5, 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto expected = std::sqrt(x[i]);
      ASSERT_TRUE(roots[i] == expected || (x[i] < 0 && std::isnan(roots[i]))) << "sqrt(" << x[i] << ")";
      if (x[i] > 0) { ASSERT_EQ(powers[i], expected) << x[i] << "^0.5"; }
    }
  };
  std::vector<float> x;
  for (std::uint32_t bits = 1; bits < 0x7f800000; bits += 4999) x.push_back(std::bit_cast<float>(bits));
  std::vector<double> wide;
  // Next to squares, of doubles and of the middles between two.
  for (std::int64_t k = std::int64_t{1} << 52; k < std::int64_t{1} << 53; k += 90071992547 + 2 * (k % 1000)) {
    const double root = static_cast<double>(k), square = root * root, middle = square + root;
    wide.insert(wide.end(), {square, std::nextafter(square, 0), std::nextafter(square, 1e300), middle, 2 * middle});
  }
  for (int e = -1074; e < 1024; ++e) wide.push_back(std::ldexp(1.7, e));
  for (int i = 0; i < 40; ++i) x.push_back(i % 7 == 0 ? -1.0f : 0.25f), wide.push_back(i % 7 == 0 ? 0.0 : 3.0);
  check(x, 0), check(wide, 1);
}

TEST_P(Unary, Float32ErfcAndErfinvHaveARelativeErrorOfAFewUlp) {
  using namespace kernels;
  std::vector<float> x{0.0f, -0.0f, 1.0f, -1.0f, 1e-30f, -3e-38f};
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 2.49e-4f);
  for (int i = 1; i <= 96; ++i) x.push_back(1 - std::exp2(-0.25f * static_cast<float>(i)));
  const std::size_t inside = x.size();
  for (int i = -1200; i <= 1200; ++i) x.push_back(static_cast<float>(i) * 8.41e-3f);
  for (const float v : test::hard_floats()) x.push_back(v);
  std::vector<float> inverse(x.size()), y(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  cpu::loops().unary[0][kIndexOf<UnaryOps, Erfinv>](x.data(), inverse.data(), n, 0, 0);
  cpu::loops().unary[0][kIndexOf<UnaryOps, Erfc>](x.data(), y.data(), n, 0, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]), least = 1.2e-38;
    if (v == 0) { ASSERT_EQ(y[i], 1.0f); }
    ASSERT_TRUE(close(y[i], std::erfc(v), 4e-7, least)) << "erfc(" << x[i] << ") = " << y[i];
    const double expected = math::erfinv(v);
    ASSERT_TRUE(i < inside ? close(inverse[i], expected, 3e-7, least) : std::isnan(inverse[i]) == std::isnan(expected))
        << "erfinv(" << x[i] << ") = " << inverse[i];
  }
}

TEST_P(Unary, Float32LgammaIsRoundedOnce) {
  std::vector<float> x;
  for (int i = 1; i <= 60000; ++i) x.push_back(static_cast<float>(i) * 1.7e-4f);
  for (int i = -200; i <= 200; ++i)
    for (const float zero : {1.0f, 2.0f}) x.push_back(zero + static_cast<float>(i) * 1.2e-7f);
  for (int e = -149; e < 120; ++e) x.push_back(std::ldexp(1.3f, e));
  const std::size_t positive = x.size();
  for (std::size_t i = 0; i < positive; ++i) x.push_back(-x[i]);
  for (const float v : test::hard_floats()) x.push_back(v);
  std::vector<float> y(x.size());
  cpu::loops().unary[0][kernels::kIndexOf<UnaryOps, kernels::Lgamma>](x.data(), y.data(),
                                                                      static_cast<std::int64_t>(x.size()), 0, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = kernels::math::lgamma(static_cast<double>(x[i]));
    const float rounded = static_cast<float>(exact);
    if (!std::isfinite(rounded)) {
      ASSERT_TRUE(std::isnan(rounded) ? std::isnan(y[i]) : y[i] == rounded) << "lgamma(" << x[i] << ") = " << y[i];
      continue;
    }
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23), error = std::fabs(y[i] - exact);
    ASSERT_LE(error, 0.51 * ulp + (x[i] < 0 ? 1e-9 : 0)) << "lgamma(" << x[i] << ") = " << y[i];
  }
}

TEST_P(Unary, GeluIsAccurateToTwoMillionths) {
  std::vector<float> x;
  for (int i = -80000; i <= 80000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  x.insert(x.end(), {1e-30f, 1e30f, -1e30f, std::numeric_limits<float>::infinity()});
  std::vector<float> y(x.size());
  cpu::loops().unary[0][kernels::kIndexOf<UnaryOps, kernels::Gelu>](x.data(), y.data(),
                                                                    static_cast<std::int64_t>(x.size()), 0, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double z = static_cast<double>(x[i]), expected = 0.5 * z * std::erfc(-z * 0.707106781186547524);
    ASSERT_TRUE(close(y[i], expected, 3e-7, 2e-6)) << "gelu(" << x[i] << ") = " << y[i] << ", expected " << expected;
  }
}

TEST_P(Unary, HugeAnglesAndSignedZeros) {
  using namespace kernels;
  const float x[] = {1e8f, -3e20f, 12345678.0f, 0.0f, -0.0f};
  float y[5];
  cpu::loops().unary[0][kIndexOf<UnaryOps, Sin>](x, y, 5, 0, 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(close(y[i], std::sin(static_cast<double>(x[i])))) << x[i];
  for (const int op : {kIndexOf<UnaryOps, Sin>, kIndexOf<UnaryOps, Tanh>, kIndexOf<UnaryOps, Expm1>,
                       kIndexOf<UnaryOps, Asinh>, kIndexOf<UnaryOps, Erf>, kIndexOf<UnaryOps, Log1p>}) {
    cpu::loops().unary[0][op](x + 3, y, 2, 0, 0);
    EXPECT_FALSE(std::signbit(y[0])) << op;
    EXPECT_TRUE(std::signbit(y[1])) << op;
  }
}

/// Kinks and NaN: PyTorch's choices.
TEST(UnarySemantics, KinksAndNan) {
  using namespace kernels;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Round::value(0.5), 0);
  EXPECT_EQ(Round::value(1.5), 2);
  EXPECT_EQ(Round::value(2.5), 2);
  EXPECT_EQ(Sign::value(nan), 0);
  EXPECT_EQ(Abs::slope(0.0), 0);
  EXPECT_TRUE(std::isnan(Relu::value(nan)));
  EXPECT_EQ(Relu::slope(0.0), 0);
  EXPECT_TRUE(std::isnan(Clamp::value(nan, -1.0, 1.0)));
  EXPECT_EQ(Clamp::value(5.0, 3.0, 1.0), 1);
  EXPECT_EQ(Clamp::slope(1.0, -1.0, 1.0), 0);
  EXPECT_EQ(Hardtanh::slope(1.0, -1.0, 1.0), 0);
  EXPECT_EQ(Hardtanh::slope(nan, -1.0, 1.0), 1);
  EXPECT_EQ(LeakyRelu::slope(0.0, 0.25), 0.25);
  EXPECT_EQ(Elu::slope(0.0, 1.5), 1.5);
  EXPECT_EQ(Celu::slope(0.0, 0.5), 1);
  EXPECT_EQ(Softshrink::slope(0.5, 0.5), 0);
  EXPECT_EQ(Softshrink::slope(nan, 0.5), 1);
  EXPECT_EQ(Hardshrink::value(0.5, 0.5), 0);
  EXPECT_EQ(Hardswish::slope(-3.0), 0);
  EXPECT_EQ(Hardswish::slope(3.0), 1);
  EXPECT_EQ(Hardsigmoid::slope(3.0), 0);
  EXPECT_TRUE(std::isnan(Threshold::value(nan, 0.5, 2.0)));
  EXPECT_EQ(Threshold::value(0.5, 0.5, 2.0), 2);
  EXPECT_EQ(Digamma::value(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Digamma::value(-1.0)));
  EXPECT_NEAR(Digamma::value(1.0), -0.57721566490153286, 1e-14);
  EXPECT_NEAR(Digamma::slope(1.0), 1.6449340668482264, 1e-13);
  EXPECT_NEAR(Polygamma::value(1.0, 2.0), -2.4041138063191886, 1e-12);  // -2 zeta(3)
  EXPECT_NEAR(Polygamma::value(-0.3, 2.0), 67.639081199883147, 1e-11);
  EXPECT_TRUE(std::isnan(Polygamma::value(-1001.5, 2.0)));
  EXPECT_NEAR(Erfinv::value(0.9), 1.1630871536766743, 1e-14);
  EXPECT_EQ(PowScalar::slope(0.0, 0.0), 0);
  EXPECT_EQ(NanToNum::value(nan, 0.25, 65504.0), 0.25);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(NanToNum::value(-inf, 0.25, 65504.0), -65504);
  EXPECT_EQ(SmoothL1::value(-inf, 0.5, 2.0), inf);
  EXPECT_EQ(SmoothL1::slope(-inf, 0.5, 2.0), -2);
  EXPECT_EQ(SmoothL1::slope(0.25, 0.5, 2.0), 1);
  EXPECT_TRUE(std::isnan(SmoothL1::slope(nan, 0.5, 2.0)));
  EXPECT_EQ(SmoothL1::value(0.0f, 1e-45f, 1.0f), 0);  // 1 / beta is infinite
  EXPECT_EQ(SmoothL1::slope(0.0f, 1e-45f, 1.0f), 0);
}

TEST(UnarySemantics, Integers) {
  using namespace kernels;
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Neg::value(lowest), lowest);
  EXPECT_EQ(Abs::value(std::int64_t{-5}), 5);
  EXPECT_EQ(PowScalar::value(std::int64_t{-3}, std::int64_t{3}), -27);
  EXPECT_EQ(BitwiseNot::value(std::int64_t{6}), -7);
  EXPECT_EQ(Round::value(std::int64_t{7}), 7);
  std::int64_t x[] = {-4, 0, 9};
  std::int64_t y[3];
  const double inf = std::numeric_limits<double>::infinity();
  cpu::loops().unary[2][kIndexOf<UnaryOps, Clamp>](x, y, 3, -2, inf);
  EXPECT_EQ(y[0], -2);
  EXPECT_EQ(y[2], 9);
}

TEST(Lists, IndexOfAndVisitAgree) {
  using namespace kernels;
  static_assert(kIndexOf<UnaryOps, Neg> == 0);
  static_assert(kIndexOf<UnaryOps, Threshold> == UnaryOps::kSize - 1);
  static_assert(kIndexOf<List<Neg, Abs>, Exp> == -1);
  int seen = 0;
  for_each(UnaryOps{}, [&]<class Op, int I>() {
    std::string_view name;
    visit(UnaryOps{}, I, [&]<class Visited>() { name = Visited::kName; });
    EXPECT_EQ(name, Op::kName);
    EXPECT_EQ(I, seen++);
  });
  EXPECT_EQ(seen, UnaryOps::kSize);
}

}  // namespace
}  // namespace minnow
