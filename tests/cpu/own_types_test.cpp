#include <cmath>
#include <cstring>
#include <limits>
#include <vector>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using namespace kernels;
using cpu::loops;

constexpr DType kOwn[] = {DType::int32, DType::int16, DType::int8, DType::uint8, DType::bool_};
constexpr std::int64_t kCount = 333;
constexpr std::int64_t kBytes = kCount * 8;

class OwnTypes : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, OwnTypes, test::every_isa(), test::isa_name);

/// Any bits of a dtype, with its limits among them; bools are 0 or 1.
std::vector<char> any_elements(DType dtype, unsigned seed) {
  std::vector<char> bytes(kBytes);
  for (char& c : bytes) {
    seed = seed * 1664525u + 1013904223u;
    c = static_cast<char>(dtype == DType::bool_ ? seed >> 31 : seed >> 24);
  }
  if (dtype == DType::bool_) return bytes;
  const std::size_t size = size_of(dtype);
  std::memset(bytes.data(), 0, size);            // 0
  std::memset(bytes.data() + size, 0xff, size);  // -1 or the largest
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
    std::memset(bytes.data() + i * size, i == 2 ? 0xff : 0, size);
  bytes[3 * size - 1] = 0x7f;                     // the largest
  bytes[4 * size - 1] = static_cast<char>(0x80);  // the lowest
  return bytes;
}

std::vector<std::int64_t> as_int64(const std::vector<char>& bytes, DType dtype) {
  std::vector<std::int64_t> wide(kCount);
  loops().load[static_cast<int>(dtype)][static_cast<int>(Compute::kInt64)](bytes.data(), wide.data(), kCount);
  return wide;
}

/// Whether a loop's result in dtype is that of int64, converted; bools are the same bytes.
template <class Out>
bool same(const std::vector<char>& own, const std::vector<std::int64_t>& wide, DType dtype, std::int64_t count) {
  if (std::is_same_v<Out, bool>) return std::memcmp(own.data(), wide.data(), static_cast<std::size_t>(count)) == 0;
  std::vector<char> stored(kBytes);
  loops().store[static_cast<int>(Compute::kInt64)][static_cast<int>(dtype)](wide.data(), stored.data(), count);
  return std::memcmp(own.data(), stored.data(), static_cast<std::size_t>(count) * size_of(dtype)) == 0;
}

TEST_P(OwnTypes, BinaryIsThatOfInt64) {
  int tried = 0;
  for (const DType d : kOwn) {
    const std::vector<char> a = any_elements(d, 1), b = any_elements(d, 2);
    const std::vector<std::int64_t> wide_a = as_int64(a, d), wide_b = as_int64(b, d);
    for_each(BinaryOps{}, [&]<class Op, int I>() {
      if constexpr (takes<std::int64_t>(Op::kKind)) {
        const auto loop = loops().binary[cpu::loop_type(d)][I];
        if (loop == nullptr) return;
        ++tried;
        std::vector<char> out(kBytes);
        std::vector<std::int64_t> wide(kCount);
        loop(a.data(), b.data(), out.data(), kCount);
        loops().binary[2][I](wide_a.data(), wide_b.data(), wide.data(), kCount);
        EXPECT_TRUE(same<decltype(Op::value(std::int64_t(), std::int64_t()))>(out, wide, d, kCount))
            << Op::kName << " of " << d;
      }
    });
  }
  EXPECT_GT(tried, 80);
}

TEST_P(OwnTypes, UnaryIsThatOfInt64) {
  int tried = 0;
  for (const DType d : kOwn) {
    const std::vector<char> x = any_elements(d, 3);
    const std::vector<std::int64_t> wide_x = as_int64(x, d);
    for_each(UnaryOps{}, [&]<class Op, int I>() {
      if constexpr (takes<std::int64_t>(Op::kKind)) {
        const auto loop = loops().unary[cpu::loop_type(d)][I];
        const bool refused = d == DType::bool_ && (!Op::kTakesBool || Op::kKind == Kind::kIntegral);
        if (loop == nullptr || refused) return;
        ++tried;
        std::vector<char> out(kBytes);
        std::vector<std::int64_t> wide(kCount);
        loop(x.data(), out.data(), kCount, 3, 100);
        loops().unary[2][I](wide_x.data(), wide.data(), kCount, 3, 100);
        constexpr bool kPredicate = Op::kKind == Kind::kPredicate;
        EXPECT_TRUE((same<std::conditional_t<kPredicate, bool, std::int64_t>>(out, wide, d, kCount)))
            << Op::kName << " of " << d;
      }
    });
  }
  EXPECT_GT(tried, 60);
}

TEST_P(OwnTypes, ExtremesAreThoseOfInt64) {
  for (const DType d : kOwn) {
    const std::vector<char> x = any_elements(d, 4);
    const std::vector<std::int64_t> wide_x = as_int64(x, d);
    for_each(ReduceOps{}, [&]<class Op, int I>() {
      const cpu::ReduceLoops &own = loops().reduce[cpu::loop_type(d)][I], &wide = loops().reduce[2][I];
      if (own.rows == nullptr) return;
      for (const std::int64_t n : {1, 7, 16, 40, 111}) {
        std::int64_t got[3], expected[3], got_columns[111], expected_columns[111];
        own.init(got, 3), wide.init(expected, 3), own.init(got_columns, n), wide.init(expected_columns, n);
        own.rows(x.data(), n, 3, n, 0, got), wide.rows(wide_x.data(), n, 3, n, 0, expected);
        own.columns(x.data(), n, 3, n, 0, got_columns), wide.columns(wide_x.data(), n, 3, n, 0, expected_columns);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(got[i], expected[i]) << Op::kName << " of " << d << ", " << n;
        for (int i = 0; i < n; ++i) EXPECT_EQ(got_columns[i], expected_columns[i]) << Op::kName << " of " << d;
      }
    });
  }
}

constexpr std::int64_t kHalves = 1 << 16;
using Halves = std::vector<std::uint16_t>;

std::vector<float> as_floats(const Halves& x, DType dtype) {
  std::vector<float> wide(x.size());
  loops().load[static_cast<int>(dtype)][0](x.data(), wide.data(), static_cast<std::int64_t>(x.size()));
  return wide;
}
/// Whether halves are those floats, rounded; the bits of a NaN are free.
bool same_halves(const Halves& own, const std::vector<float>& wide, DType dtype) {
  Halves stored(wide.size());
  loops().store[0][static_cast<int>(dtype)](wide.data(), stored.data(), static_cast<std::int64_t>(wide.size()));
  const std::vector<float> a = as_floats(own, dtype), b = as_floats(stored, dtype);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != stored[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

/// That of x86-64 does not.
bool has_halves() {
  return loops().unary[cpu::own_loop_type(DType::float16)][kernels::kIndexOf<UnaryOps, kernels::Relu>] != nullptr;
}

TEST_P(OwnTypes, UnaryOfEveryHalfIsThatOfFloat) {
  if (!has_halves()) GTEST_SKIP() << "these loops are not compiled for halves";
  Halves x(kHalves);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  int tried = 0;
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const std::vector<float> wide_x = as_floats(x, d);
    for_each(UnaryOps{}, [&]<class Op, int I>() {
      const auto loop = loops().unary[cpu::own_loop_type(d)][I];
      if (loop == nullptr) return;
      for (const double p : {3.0, -1.0, 0.5, 2.3}) {
        ++tried;
        Halves out(x.size());
        std::vector<float> wide(x.size());
        loop(x.data(), out.data(), kHalves, p, 4);
        loops().unary[0][I](wide_x.data(), wide.data(), kHalves, p, 4);
        EXPECT_TRUE(same_halves(out, wide, d)) << Op::kName << " of " << d << ", " << p;
      }
    });
  }
  EXPECT_GT(tried, 150);
}

TEST_P(OwnTypes, BinaryAndTernaryOfHalvesAreThoseOfFloat) {
  if (!has_halves()) GTEST_SKIP() << "these loops are not compiled for halves";
  int tried = 0;
  for (const DType d : {DType::float16, DType::bfloat16}) {
    for (const std::int64_t n : {1, 7, 16, 33, 333}) {
      const auto halves = [&](unsigned seed) {
        Halves x(static_cast<std::size_t>(n));
        std::memcpy(x.data(), any_elements(d, seed).data(), x.size() * 2);
        return x;
      };
      const Halves a = halves(1), b = halves(2), c = halves(3);
      const std::vector<float> wide_a = as_floats(a, d), wide_b = as_floats(b, d), wide_c = as_floats(c, d);
      Halves out(a.size());
      std::vector<float> wide(a.size());
      for_each(BinaryOps{}, [&]<class Op, int I>() {
        const auto loop = loops().binary[cpu::own_loop_type(d)][I];
        if (loop == nullptr) return;
        ++tried;
        loop(a.data(), b.data(), out.data(), n);
        loops().binary[0][I](wide_a.data(), wide_b.data(), wide.data(), n);
        EXPECT_TRUE(same_halves(out, wide, d)) << Op::kName << " of " << d << ", " << n;
      });
      for_each(TernaryOps{}, [&]<class Op, int I>() {
        loops().ternary[cpu::own_loop_type(d)][I](a.data(), b.data(), c.data(), out.data(), n, 0.7, false);
        loops().ternary[0][I](wide_a.data(), wide_b.data(), wide_c.data(), wide.data(), n, 0.7, false);
        EXPECT_TRUE(same_halves(out, wide, d)) << Op::kName << " of " << d << ", " << n;
      });
    }
  }
  EXPECT_GT(tried, 100);
}

template <class T> void shift_by_every_number(DType dtype) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  std::vector<T> a, by, left(0), right(0);
  for (const std::int64_t x : {0, 1, -1, 77, -77, 100, -128, 12345})
    for (int b = -70; b <= 127; ++b) a.push_back(static_cast<T>(x)), by.push_back(static_cast<T>(b));
  const auto count = static_cast<std::int64_t>(a.size());
  left.resize(a.size()), right.resize(a.size());
  const auto& table = loops().binary[cpu::loop_type(dtype)];
  table[kIndexOf<BinaryOps, LeftShift>](a.data(), by.data(), left.data(), count);
  table[kIndexOf<BinaryOps, RightShift>](a.data(), by.data(), right.data(), count);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool beyond = by[i] < T(0) || by[i] >= T(kBits);
    std::uint64_t up = static_cast<std::uint64_t>(a[i]);
    std::int64_t down = static_cast<std::int64_t>(a[i]);
    for (int k = 0; k < (beyond ? kBits : static_cast<int>(by[i])); ++k) up *= 2, down = (down - (down & 1)) / 2;
    EXPECT_EQ(left[i], beyond ? T(0) : static_cast<T>(up)) << +a[i] << " << " << +by[i];
    EXPECT_EQ(right[i], static_cast<T>(down)) << +a[i] << " >> " << +by[i];
  }
}

TEST_P(OwnTypes, ShiftsByEveryNumber) {
  shift_by_every_number<std::int64_t>(DType::int64);
  shift_by_every_number<std::int32_t>(DType::int32);
  shift_by_every_number<std::int16_t>(DType::int16);
  shift_by_every_number<std::int8_t>(DType::int8);
  shift_by_every_number<std::uint8_t>(DType::uint8);
}

TEST_P(OwnTypes, NumbersThatInt32CannotHoldKeepTheirLowBits) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> x = {300, -1, 3e9, -2147483648.0, 2147483648.0, 1e30, kInf, std::nan(""), -129.9, 0.9};
  for (std::size_t far = 0; far <= 300; far += 300) {  // also where a block has none that is far
    std::vector<double> numbers(far, -5.75);
    for (const double v : x) numbers.push_back(v);
    std::vector<float> floats(numbers.begin(), numbers.end());
    const auto count = static_cast<std::int64_t>(numbers.size());
    for (const DType d : {DType::int32, DType::int16, DType::int8, DType::uint8}) {
      const int to = static_cast<int>(d);
      std::vector<char> a(numbers.size() * 8), b(a), c(a);
      std::vector<std::int64_t> wide(numbers.size());
      loops().store[static_cast<int>(Compute::kDouble)][to](numbers.data(), a.data(), count);
      loops().store[static_cast<int>(Compute::kFloat)][to](floats.data(), b.data(), count);
      loops().store[static_cast<int>(Compute::kDouble)][static_cast<int>(DType::int64)](numbers.data(), wide.data(),
                                                                                        count);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        EXPECT_EQ(wide[i],
                  std::abs(numbers[i]) < 0x1p63 ? static_cast<std::int64_t>(numbers[i]) : std::int64_t{1} << 63);
      loops().store[static_cast<int>(Compute::kInt64)][to](wide.data(), c.data(), count);
      EXPECT_EQ(a, c) << d;
      EXPECT_EQ(b, c) << d;
    }
  }
}

/// The classes of exponents give what pow gives, whatever the number and its sign.
template <class T> void check_powers(int row, double tolerance) {
  std::vector<T> x;
  for (const float v : test::hard_floats()) x.push_back(static_cast<T>(v));
  const auto n = static_cast<std::int64_t>(x.size());
  constexpr int kOp = kIndexOf<UnaryOps, PowScalar>;
  const std::vector<T> ones(x.size(), T(1));
  std::vector<T> y(x.size()), slope(x.size());
  for (const double p : {0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0, 0.5, -0.5, 1.5, 2.5, 2.75}) {
    loops().unary[row][kOp](x.data(), y.data(), n, p, 0);
    loops().slope[row][kOp](ones.data(), x.data(), slope.data(), n, p, 0);
    const auto power = [](double factor, T v, double e) {
      return factor == 0 ? T(0) : static_cast<T>(factor) * static_cast<T>(std::pow(double{v}, e));
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T wanted[] = {power(1, x[i], p), power(p, x[i], p - 1)};
      const T got[] = {y[i], slope[i]};
      for (int k = 0; k < 2; ++k) {
        const T expected = wanted[k];
        const bool close = test::close(double{got[k]}, double{expected}, tolerance, sizeof(T) == 4 ? 1e-37 : 0);
        EXPECT_TRUE(close) << x[i] << "^" << p << ", derivative " << k << ": " << got[k] << ", not " << expected;
        if (expected != T(0) || k > 0) continue;
        EXPECT_EQ(std::signbit(got[k]), std::signbit(expected)) << x[i] << "^" << p;
      }
    }
  }
}
TEST_P(OwnTypes, PowersOfEveryClass) {
  check_powers<float>(0, 4e-6);
  check_powers<double>(1, 2e-15);
}

TEST_P(OwnTypes, PowersOfDoublesAreThoseOfLibm) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> numbers{0.0,      1.0,     2.0,        3.0,        0.5,          1.5,    2.25,   10.0,
                              1e20,     1e300,   1e-300,     1e308,      1e-310,       5e-324, 1023.0, 1024.,
                              1075,     1e9 + 1, 0x1p53 + 2, 0x1p52 + 1, 0x1p51 + 0.5, kInf,   0.1,    0x1p-52,
                              1 - 1e-9, 0.75,    1.25,       1 + 1e-15,  std::nan("")};
  for (std::size_t i = numbers.size(); i-- > 0;) numbers.push_back(-numbers[i]);
  const auto n = static_cast<std::int64_t>(numbers.size());
  const auto loop = loops().binary[static_cast<int>(Compute::kDouble)][kIndexOf<BinaryOps, Pow>];
  std::vector<double> got(numbers.size());
  for (const double x : numbers) {
    const std::vector<double> base(numbers.size(), x);
    loop(base.data(), numbers.data(), got.data(), n);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double wanted = std::pow(x, numbers[i]);
      EXPECT_TRUE(test::close(got[i], wanted, 4e-16, 5e-324)) << x << "^" << numbers[i] << ": " << got[i];
      EXPECT_TRUE(std::isnan(wanted) || std::signbit(got[i]) == std::signbit(wanted)) << x << "^" << numbers[i];
    }
  }
}

TEST_P(OwnTypes, QuotientsOfEveryPairOfBytes) {
  for (const DType d : {DType::int8, DType::uint8})
    for (int b = 1; b < 256; ++b) {
      std::vector<char> x(256), y(x.size(), static_cast<char>(b)), out(x.size());
      for (int a = 0; a < 256; ++a) x[static_cast<std::size_t>(a)] = static_cast<char>(a);
      std::vector<std::int64_t> wide_x(x.size()), wide_y(x.size()), wanted(x.size());
      std::vector<char> stored(x.size());
      for (const auto& [from, to] : {std::pair{&x, &wide_x}, std::pair{&y, &wide_y}})
        loops().load[static_cast<int>(d)][static_cast<int>(Compute::kInt64)](from->data(), to->data(), 256);
      for (const int op :
           {kIndexOf<BinaryOps, FloorDivide>, kIndexOf<BinaryOps, Fmod>, kIndexOf<BinaryOps, Remainder>}) {
        loops().binary[cpu::loop_type(d)][op](x.data(), y.data(), out.data(), 256);
        loops().binary[static_cast<int>(Compute::kInt64)][op](wide_x.data(), wide_y.data(), wanted.data(), 256);
        loops().store[static_cast<int>(Compute::kInt64)][static_cast<int>(d)](wanted.data(), stored.data(), 256);
        EXPECT_EQ(out, stored) << d << ", " << op << ", by " << b;
      }
    }
}

}  // namespace
}  // namespace minnow
