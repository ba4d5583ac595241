#include <gtest/gtest.h>
#include <minnow/llm/llm.h>
#include <minnow/minnow.h>

#include "golden.h"
#include "thrown.h"

namespace minnow::test {
namespace {

struct Rounding {
  llm::GgufType type;
  double step;  ///< of a number, as a part of the largest of a block
};
constexpr Rounding kRoundings[] = {{llm::GgufType::q8_0, 1.0 / 127},
                                   {llm::GgufType::q4_0, 1.0 / 8},
                                   {llm::GgufType::q4_1, 2.0 / 15},
                                   {llm::GgufType::bf16, 1.0 / 128}};

/// The numbers of blocks, by products with single inputs.
Tensor numbers_of(const llm::Linear& layer) { return layer(eye(layer.in_features())).t().contiguous(); }

TEST(BlockLinear, ComputesWithTheNumbersOfItsBlocks) {
  manual_seed(1);
  const Tensor w = randn({70, 224});
  for (const auto& [type, step] : kRoundings) {
    const llm::Linear layer(llm::quantize(w, type), 224, randn({70}));
    EXPECT_FALSE(layer.weight.defined());
    const llm::Linear plain(llm::quantize(w, type), 224);
    const Tensor numbers = numbers_of(plain);
    EXPECT_LT(amax(abs(numbers - w)).item<double>(), 0.55 * step * amax(abs(w)).item<double>());
    for (const std::int64_t rows : {1, 3, 4, 8, 9, 40}) {
      const bool rounded = type == llm::GgufType::bf16 && rows > 8;  // x and gradients, on some processors
      const Tolerance near = rounded ? Tolerance{0.01, 0.2} : Tolerance{1e-4, 1e-4};
      const Tensor x = randn({rows, 224}).requires_grad_(true);
      const Tensor y = layer(x), want = linear(x.detach(), numbers, layer.bias);
      expect_close(y, want, layer.describe(), near);
      const Tensor g = randn(y.shape());
      y.backward(g);
      expect_close(x.grad(), matmul(g, numbers), "the gradient of " + layer.describe(), near);
    }
    EXPECT_EQ(layer(randn({2, 3, 224})).shape(), (Shape{2, 3, 70}));
    EXPECT_EQ(layer(zeros({0, 224})).shape(), (Shape{0, 70}));
    EXPECT_EQ(layer(zeros({2, 224}, bfloat16)).dtype(), bfloat16);
    EXPECT_THROW(layer(zeros({2, 223})), ShapeError);
  }
  const llm::Linear zero(llm::quantize(zeros({3, 32}), llm::GgufType::q4_0), 32);
  expect_close(numbers_of(zero), zeros({3, 32}), "zeros", {0, 0});
  const Tensor x = randn({2, 224}, float32).requires_grad_(true);
  const llm::Linear layer(llm::quantize(w, llm::GgufType::q8_0), 224);
  const Tensor first = grad(sum(square(layer(x))), x, {.create_graph = true});
  const Tensor second = grad(sum(first), x);
  const Tensor numbers = numbers_of(layer);
  expect_close(second, 2 * matmul(matmul(ones({2, 224}), numbers.t()), numbers), "second derivatives", {1e-2, 1e-4});
}

TEST(BlockLinear, ComputesInParts) {
  manual_seed(4);
  const Tensor w = randn({140000, 32}) * 0.1;  // more numbers than are dequantized at a time
  const llm::Linear layer(llm::quantize(w, llm::GgufType::q8_0), 32);
  const Tensor x = randn({9, 32}).requires_grad_(true), numbers = numbers_of(layer), y = layer(x);
  expect_close(y, linear(x.detach(), numbers), "the product", {1e-5, 1e-5});
  const Tensor g = randn(y.shape());
  y.backward(g);
  expect_close(x.grad(), matmul(g, numbers), "its gradient", {1e-3, 1e-4});
}

TEST(BlockLinear, BeginsWithoutValuesUnderAGuard) {
  manual_seed(5);
  const llm::Linear first(3, 2);
  manual_seed(5);
  {
    const llm::Uninitialized guard;
    { const llm::Uninitialized inner; }
    EXPECT_TRUE(llm::Uninitialized::is_on());
    const llm::Linear none(3, 2);  // draws no numbers
    EXPECT_EQ(none.weight.shape(), (Shape{2, 3}));
  }
  EXPECT_FALSE(llm::Uninitialized::is_on());
  expect_close(llm::Linear(3, 2).weight, first.weight, "drawn", {0, 0});
}

TEST(BlockLinear, StandsInForTheLayersOfANetwork) {
  struct Net : nn::Module {
    llm::Linear a = child("a", llm::Linear(32, 64));
    llm::Linear b = child("b", llm::Linear(64, 32, false));
    Tensor forward(const Tensor& x) override { return b(relu(a(x))); }
  };
  manual_seed(2);
  Net net;
  const Tensor x = randn({4, 32}), before = net(x);
  llm::quantize_(net, llm::GgufType::q8_0);
  const Tensor y = net(x);
  expect_close(y, before, "nearly the same", {0.02, 0.05});
  EXPECT_TRUE(has(net.a.describe(), "q8_0"));
  const StateDict state = net.state_dict();
  EXPECT_TRUE(state.contains("a.blocks") && state.contains("a.bias") && !state.contains("a.weight"));
  Net other;
  llm::quantize_(other, llm::GgufType::q8_0);
  other.load_state_dict(state);
  expect_close(other(x), y, "loaded", {0, 0});
  // LoRA beside frozen blocks.
  llm::lora::Adapter adapter = llm::lora::attach(net, {.rank = 2, .targets = {"a", "b"}});
  optim::AdamW adamw(adapter.parameters(), {.lr = 0.02});
  const Tensor target = randn({4, 32});
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const Tensor loss = mean(square(net(x) - target));
    adamw.zero_grad();
    loss.backward();
    adamw.step();
    (step == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.5 * first);
  EXPECT_TRUE(has(error_of<ValueError>([&] { adapter.merge(); }), "few bits"));
}

TEST(BlockEmbedding, ReadsTheRowsOfItsBlocks) {
  manual_seed(6);
  const Tensor w = randn({50, 64}), tokens = tensor({{3, 49, 3}, {0, 7, 1}});
  const llm::Embedding table(llm::quantize(w, llm::GgufType::q8_0), 64);
  EXPECT_EQ(table.dtype(), float32);
  EXPECT_TRUE(has(table.describe(), "50, 64, q8_0"));
  const llm::Linear same(llm::quantize(w, llm::GgufType::q8_0), 64);
  expect_close(table(tokens), embedding(tokens, numbers_of(same)), "rows", {0, 0});
  EXPECT_EQ(table(zeros({0, 2}, int64)).shape(), (Shape{0, 2, 64}));
  EXPECT_THROW(table(tensor({50})), IndexError);
  EXPECT_THROW(llm::Embedding(zeros({2, 35}, uint8), 32), ValueError);
  EXPECT_THROW(llm::Embedding(0, 3), ValueError);
  const llm::Embedding trained(50, 64);
  sum(trained(tokens)).backward();
  EXPECT_TRUE(trained.weight.grad().defined());
}

// A file's tensors begin at any byte.
TEST(BlockLinear, BlocksBeginAtAnyByte) {
  manual_seed(9);
  const Tensor blocks = llm::quantize(randn({6, 64}), llm::GgufType::bf16), x = randn({40, 64});
  const Tensor memory = zeros({blocks.numel() + 1}, uint8),
               odd = memory.narrow(0, 1, blocks.numel()).view(blocks.shape());
  odd.copy_(blocks);
  expect_close(llm::Linear(odd, 64)(x), llm::Linear(blocks, 64)(x), "odd", {0.1, 0.1});  // one rounds x
}

TEST(BlockLinear, RefusesWhatHasNoBlocks) {
  EXPECT_THROW((void)llm::quantize(zeros({2, 33}), llm::GgufType::q8_0), ValueError);
  EXPECT_THROW((void)llm::quantize(zeros({2, 32}), llm::GgufType::f32), ValueError);
  EXPECT_THROW((void)llm::quantize(full({2, 32}, NAN), llm::GgufType::q8_0), ValueError);
  EXPECT_THROW((void)llm::quantize(zeros({2, 32}, int64), llm::GgufType::q8_0), DTypeError);
  EXPECT_THROW(llm::Linear(zeros({2, 35}, uint8), 32), ValueError);
  EXPECT_THROW(llm::Linear(zeros({2, 34}), 32), ShapeError);
  EXPECT_THROW(llm::Linear(zeros({2, 34}, uint8), 32, zeros({3})), ShapeError);
  EXPECT_THROW(llm::Linear(0, 3), ValueError);
}

}  // namespace
}  // namespace minnow::test
