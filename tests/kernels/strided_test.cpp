#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/apply.h>
#include <minnow/tensor/kernels/strided.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow {
namespace {

using kernels::Base;
using kernels::collapse;
using kernels::Layout;
using kernels::Narrow;

TEST(Divisor, DividesAllNumbersBelow31Bits) {
  constexpr std::uint32_t kTop = (1u << 31) - 1;
  std::mt19937 random(1);
  std::vector<std::uint32_t> divisors{1, 2, 3, 5, 7, 10, 64, 641, 65535, 65536, 65537, (1u << 30) + 1, kTop - 1, kTop};
  for (int i = 0; i < 200; ++i) divisors.push_back(static_cast<std::uint32_t>(random() % (i < 100 ? 1000u : kTop)) + 1);
  for (const std::uint32_t d : divisors) {
    const kernels::Divisor divisor(d);
    std::vector<std::uint32_t> numbers{0, 1, d - 1, d, kTop, kTop - 1};
    for (int i = 0; i < 50; ++i) numbers.push_back(static_cast<std::uint32_t>(random() % kTop));
    for (std::uint32_t m = 1; m < 8; ++m)
      if (std::uint64_t{d} * m <= kTop) numbers.insert(numbers.end(), {d * m - 1, d * m});
    for (const std::uint32_t n : numbers) ASSERT_EQ(divisor.quotient(n), n / d) << n << " / " << d;
  }
}

/// The byte offsets of all elements of both operands, in row-major order, by the definition.
std::set<std::pair<std::int64_t, std::int64_t>> expected_offsets(const Shape& shape, const Strides& a, const Strides& b,
                                                                 std::int64_t a_size, std::int64_t b_size) {
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::int64_t rest = i, x = 0, y = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      x += rest % shape[d] * a[d] * a_size;
      y += rest % shape[d] * b[d] * b_size;
      rest /= shape[d];
    }
    all.insert({x, y});
  }
  return all;
}

std::set<std::pair<std::int64_t, std::int64_t>> offsets_of(const Layout<2>& layout) {
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  kernels::for_narrow_parts(layout, [&](const Narrow<2>& part, const Base<2>& base) {
    for (std::uint32_t i = 0; i < part.numel; ++i) {
      const auto at = part.offsets(i);
      all.insert({base.at[0] + at.at[0], base.at[1] + at.at[1]});
    }
  });
  return all;
}

TEST(Strided, EveryElementIsVisitedAtItsPlace) {
  struct Case {
    Shape shape;
    Strides a, b;
  };
  const Case cases[] = {
      {{}, {}, {}},
      {{1, 1}, {1, 1}, {0, 0}},
      {{6}, {1}, {3}},
      {{2, 3, 4}, {12, 4, 1}, {12, 4, 1}},
      {{2, 3, 4}, {12, 4, 1}, {1, 2, 6}},
      {{2, 3, 4}, {12, 4, 1}, {0, 1, 0}},
      {{4, 1, 5}, {5, 99, 1}, {1, 0, 4}},
      {{2, 3, 4, 5}, {60, 1, 15, 3}, {60, 20, 5, 1}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}, {128, 64, 32, 16, 8, 4, 2, 1}},
  };
  for (const Case& c : cases) {
    const auto layout = collapse<2>(c.shape, {{c.a, 4}, {c.b, 2}});
    EXPECT_EQ(layout.numel, c.shape.numel()) << c.shape.str();
    EXPECT_EQ(offsets_of(layout), expected_offsets(c.shape, c.a, c.b, 4, 2)) << c.shape.str() << c.a.str() << c.b.str();
  }
}

TEST(Strided, DenseOperandsAreOneDimensionInTheOrderOfTheFirst) {
  const Shape shape{8, 3, 5, 7};
  const Strides last = channels_last_strides(shape);
  auto layout = collapse<2>(shape, {{last, 4}, {last, 4}});
  EXPECT_EQ(layout.rank, 1);
  EXPECT_TRUE(layout.is_flat(0, 4));
  EXPECT_FALSE(layout.is_flat(1, 8));
  layout = collapse<2>(shape, {{last, 4}, {contiguous_strides(shape), 4}});
  EXPECT_EQ(layout.rank, 3);  // [N] [HW] [C]
  EXPECT_EQ(layout.sizes[2], 3);
  EXPECT_EQ(layout.strides[0][2], 4);
}

/// Operands of more than 2^31 bytes are split into smaller parts.
TEST(Strided, LargeLayoutsAreSplitInto31BitParts) {
  const std::int64_t far = std::int64_t{3} << 30;
  const Shape shape{3, 5};
  const Strides a{far, 1}, b{1, 3};
  const auto layout = collapse<2>(shape, {{a, 1}, {b, 8}});
  EXPECT_FALSE(kernels::is_narrow(layout));
  EXPECT_FALSE(kernels::is_narrow(collapse<2>(shape, {{b, 8}, {{-far, 1}, 1}})));  // read backwards
  EXPECT_EQ(offsets_of(layout), expected_offsets(shape, a, b, 1, 8));
  // More elements than 31 bits count, some of them in the last part.
  const Shape long_shape{(std::int64_t{5} << 30) + 7};
  std::int64_t parts = 0, numel = 0, end = 0;
  kernels::for_narrow_parts(collapse<1>(long_shape, {{{1}, 2}}), [&](const Narrow<1>& part, const Base<1>& base) {
    ++parts;
    EXPECT_EQ(base.at[0], 2 * numel);
    numel += part.numel;
    end = base.at[0] + part.offsets(part.numel - 1).at[0];
  });
  EXPECT_EQ(numel, long_shape[0]);
  EXPECT_EQ(end, 2 * (long_shape[0] - 1));
  EXPECT_EQ(parts, 8);
}

std::int64_t widened(Layout<3>& layout, std::int64_t size, std::uintptr_t a, std::uintptr_t b) {
  return kernels::widen<3, 2>(layout, size, {reinterpret_cast<const void*>(a), reinterpret_cast<const void*>(b)});
}

TEST(Strided, ContiguousRunsAreMovedAsWiderElements) {
  const Shape shape{3, 12};
  const Strides a{12, 1}, b{40, 1}, index{1, 0};
  const auto layout = collapse<3>(shape, {{a, 4}, {b, 4}, {index, 8}});
  Layout<3> wide = layout;
  EXPECT_EQ(widened(wide, 4, 64, 160), 16);
  EXPECT_EQ(wide.numel, 9);
  EXPECT_EQ(wide.sizes[1], 3);
  EXPECT_EQ(wide.strides[0][1], 16);
  EXPECT_EQ(wide.strides[1][0], 160);
  EXPECT_EQ(wide.strides[2][0], 8);
  wide = layout;
  EXPECT_EQ(widened(wide, 4, 64, 8), 8);  // an address that is aligned for 8 only
  EXPECT_EQ(wide.numel, 18);
  wide = layout;
  EXPECT_EQ(widened(wide, 4, 4, 16), 4);
  EXPECT_EQ(wide.numel, 36);
  // Not possible for an index that changes along the run.
  wide = collapse<3>(shape, {{a, 4}, {b, 4}, {a, 8}});
  EXPECT_EQ(widened(wide, 4, 64, 64), 4);
}

/// Outside of the range of float32 formulas, apply uses float64, for slopes too.
TEST(Apply, UsesFloat64OutsideOfTheFloat32Range) {
  using kernels::apply;
  const float x = 3e7f;
  EXPECT_FLOAT_EQ((apply<kernels::Value, kernels::Sin>(x, 0.0f, 0.0f)), static_cast<float>(std::sin(3e7)));
  EXPECT_FLOAT_EQ((apply<kernels::Slope, kernels::Sin>(x, 0.0f, 0.0f)), static_cast<float>(std::cos(3e7)));
  EXPECT_FLOAT_EQ((apply<kernels::Slope, kernels::Tan>(x, 0.0f, 0.0f)), 1 + x * x);  // a function of the output
  EXPECT_EQ((apply<kernels::Value, kernels::Clamp>(5.0, 1.0, 2.0)), 2.0);
  EXPECT_EQ(kernels::parameter<std::int64_t>(1e300), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace minnow
