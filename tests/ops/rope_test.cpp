#include <minnow/ops/products/rope.h>

#include <cmath>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "op_cases.h"
#include "thrown.h"

namespace minnow::test {
namespace {

Tensor table_for(const Tensor& x) {
  return rope_table(arange(x.size(-2), {.dtype = int64, .device = x.device()}), x.size(-1), {.theta = 10});
}

/// The same, of recorded functions.
Function composed(bool interleaved) {
  return one([=](const Tensors& x) {
    const std::int64_t half = x[0].size(-1) / 2;
    const Tensor table = table_for(x[0]), cos = table.narrow(-1, 0, half), sin = table.narrow(-1, half, half);
    const Tensor pairs = interleaved ? x[0].unflatten(-1, {half, 2}).transpose(-1, -2) : x[0].unflatten(-1, {2, half});
    const Tensor a = pairs.select(-2, 0), b = pairs.select(-2, 1);
    const Tensor y = stack({addcmul(a * cos, b, sin, -1), addcmul(b * cos, a, sin)}, interleaved ? -1 : -2);
    return y.flatten(-2).to(x[0].dtype());
  });
}

OpCases rope_cases() {
  OpCases rows;
  for (const bool interleaved : {false, true})
    rows.push_back({.function = "rope",
                    .variant = interleaved ? "interleaved" : "",
                    .call = one([=](const Tensors& x) { return rope(x[0], table_for(x[0]), interleaved); }),
                    .inputs = {{values({2, 3, 6}, -1, 1)}, {values({1, 2}, -1, 1)}, {values({2, 0, 4})}},
                    .without_golden = "PyTorch has none; the models of tests/llm are Hugging Face's",
                    .same_as = composed(interleaved)});
  rows.push_back({.function = "rope_table",
                  .call = one([](const Tensors& x) { return rope_table(x[0], 4); }),
                  .inputs = {{values({3})}},
                  .gradient = Gradient::kNone,
                  .without_golden = "PyTorch has none",
                  .takes_other_dtypes = true,
                  .exact = false});
  return rows;
}
const Register kRope(rope_cases);

TEST(Rope, TurnsByTheAnglesOfThePaper) {
  const Tensor table = rope_table(tensor({3}), 4, {.theta = 100}).to(float64);
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}, float64).view({1, 4});
  const double a = 3, b = 0.3;  // 3 / 100^(2 i / 4)
  const Tensor halves = rope(x, table), pairs = rope(x, table, true);
  EXPECT_NEAR(halves[0][0].item<double>(), std::cos(a) - 3 * std::sin(a), 1e-6);
  EXPECT_NEAR(halves[0][2].item<double>(), 3 * std::cos(a) + std::sin(a), 1e-6);
  EXPECT_NEAR(halves[0][3].item<double>(), 4 * std::cos(b) + 2 * std::sin(b), 1e-6);
  EXPECT_NEAR(pairs[0][1].item<double>(), 2 * std::cos(a) + std::sin(a), 1e-6);
  EXPECT_NEAR(pairs[0][2].item<double>(), 3 * std::cos(b) - 4 * std::sin(b), 1e-6);
}

/// transformers 5: ROPE_INIT_FUNCTIONS["llama3"] of Llama 3.2's config, head_dim 64: some of inv_freq.
TEST(Rope, HasLlama3sScaling) {
  const RopeOptions options{.theta = 500000, .factor = 32};
  const Tensor angles = asin(rope_table(tensor({0.5}), 64, options)[0].narrow(0, 32, 32).to(float64)) * 2;
  const std::vector<std::pair<int, double>> want = {{0, 1},
                                                    {8, 0.03760603070259094},
                                                    {14, 0.0032114461064338684},
                                                    {15, 0.0012905480107292533},
                                                    {16, 0.000429556705057621},
                                                    {17, 9.708286233944818e-05},
                                                    {31, 9.418306490260875e-08}};
  for (const auto& [i, frequency] : want) EXPECT_NEAR(angles[i].item<double>() / frequency, 1, 1e-6) << i;
}

TEST(Rope, RefusesOtherTables) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_THROW((void)rope(x, ones({2, 4})), ShapeError);
  EXPECT_THROW((void)rope(x, ones({3, 2})), ShapeError);
  EXPECT_THROW((void)rope(ones({3, 3}), ones({3, 3})), ShapeError);
  EXPECT_THROW((void)rope(x, ones({1, 1, 1, 4})), ShapeError);
  EXPECT_THROW((void)rope(x, ones({3, 4}, int64)), DTypeError);
  EXPECT_THROW((void)rope(x, ones({3, 4}).requires_grad_(true)), AutogradError);
  EXPECT_THROW((void)rope_table(ones({2}), 3), ValueError);
  EXPECT_THROW((void)rope_table(ones({2}), 4, {.theta = -1}), ValueError);
  EXPECT_THROW((void)rope_table(ones({2}), 4, {.factor = 8, .low_freq_factor = 4}), ValueError);
}

}  // namespace
}  // namespace minnow::test
