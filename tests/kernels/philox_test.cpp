#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/draw.h>
#include "isa_support.h"

namespace minnow {
namespace {

using kernels::philox;
using kernels::Philox4;

void expect(const Philox4& got, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  EXPECT_EQ(got.lane[0], a);
  EXPECT_EQ(got.lane[1], b);
  EXPECT_EQ(got.lane[2], c);
  EXPECT_EQ(got.lane[3], d);
}

/// The known answers of Random123, philox4x32-10.
TEST(Philox, KnownAnswers) {
  expect(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  expect(philox(kOnes, kOnes, kOnes), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
         0x24126ea1);
}

class PhiloxLoop : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, PhiloxLoop, test::every_isa(), test::isa_name);

TEST_P(PhiloxLoop, IsTheFunctionForEveryCounter) {
  constexpr std::uint64_t kStart = 0xfffffff0;  // the low word overflows on the way
  std::vector<std::uint32_t> out(4 * 53 + 1, 77);
  cpu::loops().philox(0x123456789abcdef, kStart, out.data(), 53);
  for (std::uint64_t k = 0; k < 53; ++k) {
    const Philox4 r = philox(kStart + k, 0, 0x123456789abcdef);
    for (std::size_t lane = 0; lane < 4; ++lane) ASSERT_EQ(out[4 * k + lane], r.lane[lane]) << k;
  }
  EXPECT_EQ(out.back(), 77u);
}

/// Every instruction set gives the bits of the draw itself.
TEST_P(PhiloxLoop, DrawsTheSameBits) {
  constexpr int kCounters = 67;
  std::vector<std::uint32_t> numbers(4 * kCounters);
  cpu::loops().philox(9, 1, numbers.data(), kCounters);
  const auto check = [&](const auto& draw) {
    using Draw = std::remove_cvref_t<decltype(draw)>;
    using T = typename Draw::Type;
    constexpr std::size_t kElements = 4 / Draw::kPerElement;
    std::vector<T> got(kElements * kCounters + 1, T(7));
    cpu::loops().draw[kernels::kIndexOf<kernels::Draws, Draw>](&draw, numbers.data(), got.data(), kCounters);
    for (std::size_t c = 0; c < kCounters; ++c) {
      std::uint32_t r[4];
      T y[kElements];
      std::copy_n(&numbers[4 * c], 4, r);
      draw(r, y);
      for (std::size_t k = 0; k < kElements; ++k) ASSERT_EQ(got[kElements * c + k], y[k]) << c;
    }
    EXPECT_EQ(got.back(), T(7));
  };
  kernels::with_uniform(DType::float32, -0.3, 1.7, check);
  kernels::with_uniform(DType::float64, -0.3, 1.7, check);
  kernels::with_normal(DType::float32, 0.1, 1.3, check);
  kernels::with_normal(DType::float64, 0.1, 1.3, check);
  check(kernels::randint_draw(-5, 1'000'000'007));
  check(kernels::bernoulli_draw<std::uint8_t>(0.3));
  kernels::with_exponential(DType::float32, 1.3, check);
  kernels::with_exponential(DType::float64, 1.3, check);
}

TEST(Philox, UniformIsBelowOne) {
  EXPECT_EQ(kernels::uniform_float(0), 0.0f);
  EXPECT_LT(kernels::uniform_float(~0u), 1.0f);
  EXPECT_LT(kernels::uniform_double(~0u, ~0u), 1.0);
  EXPECT_EQ(kernels::uniform_double(0, 0x80000000u), 0.5);
}

}  // namespace
}  // namespace minnow
