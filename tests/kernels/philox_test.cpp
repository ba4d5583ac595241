#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/philox.h>
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

TEST(Philox, UniformIsBelowOne) {
  EXPECT_EQ(kernels::uniform_float(0), 0.0f);
  EXPECT_LT(kernels::uniform_float(~0u), 1.0f);
  EXPECT_LT(kernels::uniform_double(~0u, ~0u), 1.0);
  EXPECT_EQ(kernels::uniform_double(0, 0x80000000u), 0.5);
}

TEST(Philox, BoxMullerIsFiniteAndNormal) {
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

}  // namespace
}  // namespace minnow
