#include <minnow/ops/products/attention.h>

#include <cmath>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>
#include "op_cases.h"

namespace minnow::test {
namespace {

Function attention(const AttentionOptions& options) {
  return one([=](const Tensors& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor(), options);
  });
}

OpCases all_options() {
  const std::vector<Inputs> inputs = {{values({1, 2, 2, 2}, -1, 1), values({1, 2, 3, 2}, -1, 1), values({1, 2, 3, 1})},
                                      {values({3, 2}, -1, 1), values({2, 2}, -1, 1), values({2, 1})},
                                      {values({2, 0, 5}), values({2, 3, 5}), values({2, 3, 4})},
                                      {values({0, 2, 5}), values({0, 3, 5}), values({0, 3, 4})},
                                      {values({2, 1, 0, 5}), values({2, 1, 3, 5}), values({2, 1, 3, 4})},
                                      {values({2, 1, 2, 5}), values({2, 1, 0, 5}), values({2, 1, 0, 4})}};
  const std::string name = "scaled_dot_product_attention";
  return {{.function = name,
           .call = attention({}),
           .inputs = inputs,
           .golden = {"attention: plain", "attention: plain/torch.float64", "attention: plain/two",
                      "attention: plain/three"}},
          {.function = name,
           .variant = "causal",
           .call = attention({.is_causal = true}),
           .inputs = inputs,
           .golden = {"attention: causal", "attention: causal/square", "attention: causal/tall"}},
          {.function = name,
           .variant = "with a scale",
           .call = attention({.scale = 0.3}),
           .inputs = {inputs[0]},
           .golden = {"attention: scale"}},
          {.function = name,
           .variant = "with an added mask",
           .call = attention({}),
           .inputs = {{inputs[0][0], inputs[0][1], inputs[0][2], values({1, 1, 2, 3}, -1, 1)},
                      {inputs[0][0], inputs[0][1], inputs[0][2], values({2, 3}, -1, 1)},
                      {inputs[0][0], inputs[0][1], inputs[0][2], values({3}, -1, 1)}},
           .golden = {"attention: added", "attention: added/none"},
           .optional_from = 3},
          {.function = name,
           .variant = "with a mask",
           .call = attention({}),
           .inputs = {{inputs[0][0], inputs[0][1], inputs[0][2], mask({2, 3})},
                      {inputs[0][0], inputs[0][1], inputs[0][2], mask({1, 2, 1, 3})}},
           .golden = {"attention: mask", "attention: mask/none"},
           .optional_from = 3},
          {.function = name,
           .variant = "with shared heads",
           .call = attention({.enable_gqa = true}),
           .inputs = {{values({1, 4, 2, 2}, -1, 1), inputs[0][1], inputs[0][2]}},
           .golden = {"attention: shared"}}};
}
const Register kAttentionTable(all_options);

class AttentionOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionOn, all_devices(), device_test_name);

Tensor by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  Tensor products = matmul(q, k.mT()) / std::sqrt(static_cast<double>(q.size(-1)));
  if (mask.defined()) products = products.masked_fill(mask.logical_not(), -INFINITY);
  return matmul(softmax(products, -1), v);
}

/// Sequences that are computed in blocks agree with one product, forward and backward.
TEST_P(AttentionOn, BlocksAgreeWithTheWhole) {
  manual_seed(3);
  const std::int64_t rows = 1100, columns = 1000;
  for (const int variant : {0, 1, 2, 3, 4, 5}) {
    if (device().is_cuda() && variant != 1) continue;  // an emulated GPU is slow, and the code is the same
    const bool single = variant > 3;                   // float32 has a call of its own on the host
    const auto leaf = [&](std::int64_t n, std::int64_t length, std::int64_t size) {
      return randn({n, length, size}, single ? float32 : float64).to(device()).requires_grad_();
    };
    const std::int64_t n = single ? 8 : 2;
    Tensor q = leaf(n, rows, 8), k = leaf(n, columns, 8), v = leaf(n, columns, 3);
    const Tensor g = randn({n, rows, 3}, q.dtype()).to(device());
    const bool causal = variant == 1 || variant == 5;
    Tensor mask, used;
    if (causal) used = tril(ones({rows, columns}, bool_)).to(device());
    if (variant == 2) mask = used = (rand({rows, columns}) < 0.7).to(device());
    if (variant == 3) mask = used = (rand({2, 1, columns}) < 0.7).to(device());
    const Tensor y = scaled_dot_product_attention(q, k, v, mask, {.is_causal = causal});
    y.backward(g);
    const std::vector<Tensor> got = {y.detach(), q.grad(), k.grad(), v.grad()};
    for (Tensor* t : {&q, &k, &v}) t->set_grad({});
    const Tensor whole = by_hand(q, k, v, used);
    whole.backward(g);
    const std::vector<Tensor> expected = {whole.detach(), q.grad(), k.grad(), v.grad()};
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LT((got[i] - expected[i]).abs().max().item(), single ? 1e-4 : 1e-12) << variant << " " << i;
  }
}

TEST_P(AttentionOn, BlocksHaveSecondDerivatives) {
  for (const DType dtype : {float32, float64}) {
    const auto leaf = [&](std::int64_t length) {
      return randn({dtype == float32 ? 8 : 1, length, 2}, dtype).to(device()).requires_grad_();
    };
    const Tensor q = leaf(1100), k = leaf(1000), v = leaf(1000);
    const auto penalty = [&](const Tensor& y) {
      return grad(grad(y.square().sum(), q, {.create_graph = true}).square().sum(), k);
    };
    const Tensor got = penalty(scaled_dot_product_attention(q, k, v)), expected = penalty(by_hand(q, k, v, Tensor()));
    const double largest = expected.abs().max().item();
    EXPECT_LT((got - expected).abs().max().item() / largest, dtype == float32 ? 1e-5 : 1e-12) << largest;
  }
}

/// The results of heads that are side by side are too: what follows joins them without a copy.
TEST(Attention, KeepsTheLayoutOfItsHeads) {
  const Tensor x = randn({2, 600, 3, 4, 16});  // of each position: query, key and value of 4 heads
  const auto part = [&](int i) { return x.select(2, i).transpose(1, 2); };
  const Tensor y = scaled_dot_product_attention(part(0), part(1), part(2));
  EXPECT_EQ(y.shape(), Shape({2, 4, 600, 16}));
  EXPECT_TRUE(y.transpose(1, 2).is_contiguous());
  const Tensor expected = by_hand(part(0), part(1), part(2), Tensor());
  EXPECT_LT((y - expected).abs().max().item(), 1e-5);
}

/// Of few weights, in blocks, and by the call of float32 on the host.
TEST_P(AttentionOn, BroadcastsLeadingDimensions) {
  manual_seed(3);
  const Shape leads[][3] = {{{3}, {2, 3}, {2, 3}}, {{1, 4}, {2, 1}, {2, 4}}, {{2, 4}, {4}, {}}, {{1}, {2, 4}, {4}}};
  for (const auto& [of_q, of_k, of_v] : leads)
    for (const int variant : {0, 1, 2}) {
      if (device().is_cuda() && variant > 0) continue;  // an emulated GPU is slow
      const DType dtype = variant == 2 ? float32 : float64;
      const std::int64_t rows = variant ? 500 : 3, columns = variant ? 400 : 6;
      const auto leaf = [&](Shape shape, std::int64_t length, std::int64_t size) {
        shape.push_back(length);
        shape.push_back(size);
        return randn(shape, dtype).to(device()).requires_grad_();
      };
      const Tensor q = leaf(of_q, rows, 8), k = leaf(of_k, columns, 8), v = leaf(of_v, columns, 5);
      const Tensor want = by_hand(q, k, v, {}), got = scaled_dot_product_attention(q, k, v);
      ASSERT_EQ(got.shape(), want.shape()) << variant;
      const double tolerance = variant == 2 ? 1e-4 : 1e-12;
      EXPECT_LT((got - want).abs().max().item(), tolerance);
      const Tensor g = randn(want.shape(), dtype).to(device());
      const Tensors wants = grad({sum(want * g)}, {q, k, v}), gots = grad({sum(got * g)}, {q, k, v});
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(gots[i].shape(), wants[i].shape());
        EXPECT_LT((gots[i] - wants[i]).abs().max().item(), tolerance) << variant << " " << i;
      }
    }
  const auto attend = [&](const Shape& q, const Shape& kv, bool gqa) {
    const Tensor keys = ones(kv, device());
    return scaled_dot_product_attention(ones(q, device()), keys, keys, {}, {.enable_gqa = gqa}).shape();
  };
  EXPECT_EQ(attend({4, 3, 8}, {2, 2, 6, 8}, true), (Shape{2, 4, 3, 8}));
  EXPECT_EQ(attend({1, 4, 3, 8}, {5, 1, 6, 8}, true), (Shape{5, 4, 3, 8}));
  EXPECT_EQ(attend({4, 1, 8}, {2, 2, 6, 8}, true), (Shape{2, 4, 1, 8}));
  EXPECT_EQ(attend({0, 3, 8}, {1, 6, 8}, false), (Shape{0, 3, 8}));
  EXPECT_THROW(attend({4, 3, 8}, {2, 2, 6, 8}, false), ShapeError);
  EXPECT_THROW(attend({4, 3, 8}, {2, 3, 6, 8}, true), ShapeError);
}

/// What a generated token asks for: one row, whose heads share keys and values.
TEST_P(AttentionOn, OneRowOfSharedHeadsIsAsWithEachItsOwn) {
  manual_seed(5);
  const auto some = [&](const Shape& shape) { return randn(shape).to(device()).requires_grad_(); };
  const Tensor q = some({2, 6, 1, 4}), k = some({2, 3, 5, 4}), v = some({2, 3, 5, 7});
  const auto repeated = [](const Tensor& x) { return x.unsqueeze(2).expand({2, 3, 2, 5, x.size(-1)}).flatten(1, 2); };
  const Tensor few = rand({2, 1, 1, 5}).to(device()) < 0.7, many = rand({2, 6, 1, 5}).to(device()) < 0.7;
  for (const Tensor& mask : {Tensor(), few, many, few(0).flatten(0, 1)}) {
    const Tensor want = scaled_dot_product_attention(q, repeated(k), repeated(v), mask),
                 got = scaled_dot_product_attention(q, k, v, mask, {.enable_gqa = true});
    ASSERT_EQ(got.shape(), want.shape());
    EXPECT_LT((got - want).abs().max().item(), 1e-6);
    const Tensor g = randn(want.shape()).to(device());
    const Tensors wants = grad({sum(want * g)}, {q, k, v}), gots = grad({sum(got * g)}, {q, k, v});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT((gots[i] - wants[i]).abs().max().item(), 1e-5) << i;
  }
}

TEST(Attention, RefusesAMaskOfMoreDimensions) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_THROW((void)scaled_dot_product_attention(x, x, x, ones({1, 2, 3, 3})), ShapeError);
}

TEST_P(AttentionOn, ARowWithoutPositionsGivesZeros) {
  const Tensor q = randn({2, 4, 3}).to(device()).requires_grad_(), k = randn({2, 5, 3}).to(device());
  Tensor mask = ones({4, 5}, bool_);
  mask[1].fill_(false);
  const Tensor y = scaled_dot_product_attention(q, k, k, mask.to(device()));
  y.sum().backward();
  EXPECT_EQ(y.detach().select(1, 1).abs().max().item(), 0);
  EXPECT_GT(y.detach().select(1, 2).abs().max().item(), 0);
  EXPECT_EQ(q.grad().select(1, 1).abs().max().item(), 0);
}

TEST_P(AttentionOn, DropoutKeepsTheMean) {
  manual_seed(1);
  const Tensor q = zeros({8, 50, 4}).to(device()), v = ones({8, 400, 4}).to(device()),
               k = zeros({8, 400, 4}).to(device());
  const Tensor y = scaled_dot_product_attention(q, k, v, {}, {.dropout_p = 0.5});
  EXPECT_NEAR(y.mean().item(), 1, 0.01);
  EXPECT_GT(y.std().item(), 0.01);
}

/// The memory of long sequences grows with the length, not with its square.
TEST(Attention, MemoryGrowsLinearly) {
  const auto peak = [](std::int64_t heads, std::int64_t length) {
    const Tensor q = randn({1, heads, length, 8}).requires_grad_();
    reset_peak_memory(Device("cpu"));
    const std::int64_t before = memory_stats(Device("cpu")).allocated;
    scaled_dot_product_attention(q, q, q, {}, {.is_causal = true}).sum().backward();
    return memory_stats(Device("cpu")).peak - before;
  };
  for (const std::int64_t heads : {2, 8}) {
    const std::int64_t a = peak(heads, 1024), b = peak(heads, 4096);
    EXPECT_LT(b, 5 * a) << heads;
    EXPECT_LT(b, 4 * heads * 4096 * 4096 / 8) << heads;
  }
}

TEST(Attention, RunningOutOfMemoryNamesIt) {
  const Tensor q = randn({1, 8, 4096, 16});
  set_memory_limit(Device("cpu"), memory_stats(Device("cpu")).allocated + 3'000'000);
  std::string text;
  try {
    (void)scaled_dot_product_attention(q, q, q);
  } catch (const OutOfMemoryError& error) { text = error.what(); }
  set_memory_limit(Device("cpu"), 0);
  EXPECT_NE(text.find("scaled_dot_product_attention: out of memory"), std::string::npos) << text;
  EXPECT_NE(text.find("wanted for float32"), std::string::npos) << text;
}

}  // namespace
}  // namespace minnow::test
