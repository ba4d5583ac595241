// Halves are the exact result, rounded once: all functions of the tables, and sums of many elements into one place.

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <minnow/minnow.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

/// Functions whose halves are rounded more than once, by the reason.
const std::vector<std::pair<const char*, std::set<std::string>>>& rounded_more_than_once() {
  static const auto* all = new std::vector<std::pair<const char*, std::set<std::string>>>{
      {"a composition of functions that each round",
       {"binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
        "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "margin_ranking_loss", "mse_loss",
        "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
        "triplet_margin_loss", "logsumexp"}},
      {"powers, a sum and a root",
       {"cdist", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d", "normalize", "pairwise_distance"}},
      {"one dimension or two after the other", {"adaptive_avg_pool3d", "diff", "fold", "interpolate"}},
      {"a factor that is rounded, or comes after the rounding",
       {"alpha_dropout", "avg_pool2d", "avg_pool3d", "dropout1d", "dropout2d", "dropout3d"}},
      {"a result between two calls",
       {"conv2d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum", "linear",
        "scaled_dot_product_attention"}}};
  return *all;
}

/// The largest distance from the exact values, in units of the last bit.
double last_bits(const Tensor& got, const Tensor& exact) {
  if (got.numel() == 0) return 0;
  const bool bfloat = got.dtype() == DType::bfloat16;
  const Tensor exponent = floor(log2(clamp_min(abs(exact), bfloat ? 0x1p-126 : 0x1p-14))) - (bfloat ? 7 : 10);
  return max(nan_to_num(abs(got.to(DType::float64) - exact) / exp2(exponent), 0, 0)).item();
}

/// Of a row, for all its inputs in both dtypes.
double worst_of(const OpCase& c) {
  double worst = 0;
  for (const Inputs& inputs : c.inputs)
    for (const DType dtype : c.dtypes) {
      if (!is_half(dtype)) continue;
      const Tensors x = make_inputs(inputs, dtype);
      Tensors wide;
      for (const Tensor& t : x) wide.push_back(t.is_floating_point() ? t.to(DType::float64) : t);
      manual_seed(5);
      const Tensors got = c.call(x);
      manual_seed(5);
      const Tensors exact = c.call(wide);
      for (std::size_t i = 0; i < got.size(); ++i)
        if (is_half(got[i].dtype())) worst = std::max(worst, last_bits(got[i], exact.at(i)));
    }
  return worst;
}

TEST(Rounding, HalvesAreTheExactResultRoundedOnce) {
  std::map<std::string, double> worst;
  for (const OpCase& c : op_cases())
    if (c.exact) worst[c.function] = std::max(worst[c.function], worst_of(c));
  for (const auto& [function, bits] : worst) {
    double most = 0.51;
    for (const auto& [reason, functions] : rounded_more_than_once())
      if (functions.contains(function)) most = 5;
    EXPECT_LE(bits, most) << function;
  }
}

class Rounding : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Rounding, all_devices(), device_test_name);

// 256 + 1 is 256 in bfloat16.
TEST_P(Rounding, SumsIntoOnePlaceAreNotOfHalves) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const auto made = [&](const Shape& shape, double value) {
      return full(shape, value, {.dtype = dtype, .device = device()});
    };
    const Tensor i = zeros({5000}, {.dtype = DType::int64, .device = device()}), one = made({5000}, 1),
                 none = made({1}, 0);
    const double sum = made({}, 5000).item(), pixels = made({}, 4900).item();
    EXPECT_EQ(scatter_add(none, 0, i, one).item(), sum);
    EXPECT_EQ(index_add(none, 0, i, one).item(), sum);
    EXPECT_EQ(scatter_reduce(none, 0, i, one, Scatter::sum).item(), sum);
    EXPECT_EQ(scatter_reduce(none, 0, i, one, Scatter::mean, false).item(), 1);
    EXPECT_EQ(none.index_put({i}, one, true).item(), sum);
    const auto gradient = [&](const Shape& shape, const auto& f) {
      const Tensor x = made(shape, 0).requires_grad_();
      minnow::sum(f(x)).backward();
      return x.grad().reshape({-1})(0).item();
    };
    EXPECT_EQ(gradient({1}, [&](const Tensor& x) { return gather(x, 0, i); }), sum);
    EXPECT_EQ(gradient({1, 4}, [&](const Tensor& x) { return index_select(x, 0, i); }), sum);
    EXPECT_EQ(gradient({1, 4}, [&](const Tensor& x) { return embedding(i, x); }), sum);
    EXPECT_EQ(gradient({1, 4}, [&](const Tensor& x) { return Tensor(x(i)); }), sum);
    EXPECT_EQ(gradient({1}, [&](const Tensor& x) { return take_along_dim(x, i, 0); }), sum);
    EXPECT_EQ(gradient({1, 1, 1, 1}, [&](const Tensor& x) { return interpolate(x, {.size = {70, 70}}); }), pixels);
    EXPECT_EQ(gradient({1}, [&](const Tensor& x) { return x.expand({5000}); }), sum);
  }
}

// beta input + alpha a b of bfloat16 was 1.4 to 1.7 times as far from the exact result as the nearest bfloat16.
TEST_P(Rounding, ProductsThatAreScaledAndAddedAreRoundedOnce) {
  RandomGenerator generator(3);
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const auto& [beta, alpha] : {std::pair(-4.775, 2.0315), std::pair(1.0, 1.0), std::pair(0.0, 0.5)}) {
      const auto normal = [&] { return randn({64, 64}, {.generator = &generator}).to(dtype); };
      const Tensor x = normal(), a = normal(), b = normal();
      const Tensor exact = beta * x.to(DType::float64) + alpha * matmul(a.to(DType::float64), b.to(DType::float64));
      const auto error = [&](const Tensor& y) { return std::sqrt(mean(square(y.to(DType::float64) - exact)).item()); };
      const double nearest = error(exact.to(dtype)) * 1.01;
      const Tensor x_there = x.to(device()), a_there = a.to(device()), b_there = b.to(device());
      EXPECT_LE(error(addmm(x_there, a_there, b_there, beta, alpha).cpu()), nearest);
      const auto batch = [](const Tensor& t) { return t.unsqueeze(0).expand({2, 64, 64}); };
      const Tensor y = baddbmm(x_there, batch(a_there), batch(b_there), beta, alpha);
      EXPECT_LE(error(y(1).cpu()), nearest);
    }
}

// The error was 2.5 times that of the nearest halves: the scores were rounded too.
TEST_P(Rounding, AttentionRoundsItsWeightsAlone) {
  if (device().is_cuda()) GTEST_SKIP() << "cuBLASLt's products have the dtype of their operands";
  RandomGenerator generator(3);
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const bool is_causal : {false, true}) {
      const auto normal = [&] { return randn({2, 4, 64, 32}, {.generator = &generator}).to(dtype); };
      const Tensor q = normal(), k = normal(), v = normal();
      const auto attention = [&](const auto& f) {
        return scaled_dot_product_attention(f(q), f(k), f(v), {}, {.is_causal = is_causal}).cpu().to(DType::float64);
      };
      const Tensor exact = attention([](const Tensor& t) { return t.to(DType::float64); });
      const auto error = [&](const Tensor& y) { return std::sqrt(mean(square(y - exact)).item()); };
      const Tensor got = attention([&](const Tensor& t) { return t.to(device()); });
      EXPECT_LE(error(got), 1.6 * error(exact.to(dtype).to(DType::float64)));
    }
}

}  // namespace
}  // namespace minnow::test
