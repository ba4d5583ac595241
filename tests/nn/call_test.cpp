#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <minnow/minnow.h>
#include <minnow/tensor/internal.h>
#include "support/thrown.h"

/// How modules are called: const, with several arguments and results, by hooks, and functions as modules.
namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

/// Single-head attention: where() is the operation.
struct Attention : nn::Module {
  nn::Linear query = child("query", nn::Linear(4, 4, false));
  nn::Linear key = child("key", nn::Linear(4, 4, false));
  Tensor forward(const Tensor& x, const Tensor& mask) override {
    const Tensor scores = matmul(query(x), key(x).transpose(-2, -1)) / 2.0;
    return matmul(softmax(where(mask, scores, -1e9), -1), x);
  }
};

/// A cell with a state that may be missing.
struct Cell : nn::ModuleOf<std::pair<Tensor, std::optional<Tensor>>(Tensor, std::optional<Tensor>)> {
  nn::Linear in = child("in", nn::Linear(3, 5)), back = child("back", nn::Linear(5, 5));
  std::pair<Tensor, std::optional<Tensor>> forward(Tensor x, std::optional<Tensor> h) override {
    const Tensor next = tanh(h ? in(x) + back(*h) : in(x));
    return {next * 2, next};
  }
};

/// Three results of one tensor.
struct Vae : nn::ModuleOf<std::tuple<Tensor, Tensor, Tensor>(Tensor)> {
  nn::Linear encode = child("encode", nn::Linear(8, 4)), decode = child("decode", nn::Linear(2, 8));
  std::tuple<Tensor, Tensor, Tensor> forward(Tensor x) override {
    const Tensor code = encode(x), mean = code(all, slice(0, 2)), log_variance = code(all, slice(2, 4));
    return {decode(mean), mean, log_variance};
  }
};

TEST(Call, ConstModule) {
  const nn::Linear fc(3, 4);
  const Attention attention;
  const Tensor x = randn({2, 3});
  EXPECT_EQ(fc(x).to_vector<float>(), linear(x, fc.weight, fc.bias).to_vector<float>());
  EXPECT_EQ(attention(randn({2, 4}), ones({2, 2}) > 0).shape(), (Shape{2, 4}));
  const nn::Module& base = attention;
  EXPECT_EQ(base(randn({2, 4}), ones({2, 2}) > 0).shape(), (Shape{2, 4}));
  EXPECT_EQ(base.parameters().size(), 2U);
  EXPECT_EQ(base.named_modules().size(), 3U);
  EXPECT_EQ(base.named_children()[1].name, "key");
  EXPECT_FALSE(base.state_dict().empty());
}

TEST(Call, SeveralTensorsReachForwardAndHooks) {
  Attention attention;
  const Tensor x = randn({3, 4}), mask = tensor({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}) > 0;
  int calls = 0;
  const auto hook = attention.register_forward_hook([&](const nn::ForwardCall& call) {
    EXPECT_EQ(call.module.describe(), "Attention");
    ASSERT_EQ(call.inputs.size(), 2U);
    EXPECT_TRUE(call.inputs[1].is_same(mask));
    ASSERT_EQ(call.outputs.size(), 1U);
    ++calls;
  });
  const auto first = attention.register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor& out) {
    EXPECT_TRUE(in.is_same(x));
    EXPECT_EQ(out.shape(), (Shape{3, 4}));
    ++calls;
  });
  const Tensor y = attention(x, mask);
  EXPECT_EQ(calls, 2);
  // The first row sees itself alone.
  const auto seen = y.to_vector<float>(), given = x.to_vector<float>();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(seen[i], given[i]);
  sum(y).backward();
  EXPECT_TRUE(attention.query.weight.grad().defined());
}

TEST(Call, ThreeAndFourTensors) {
  struct Sum : nn::Module {
    Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) override { return x + y + z; }
    Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& w) override {
      return x + y + z + w;
    }
  };
  const Sum sum;
  const Tensor one = ones({1});
  EXPECT_EQ(sum(one, one, one).item<float>(), 3);
  EXPECT_EQ(sum(one, one, one, one).item<float>(), 4);
  const std::string text = error_of<ValueError>([&] { sum(one, one); });
  expect_contains(text, "Sum has no forward(const Tensor&, const Tensor&)");
  expect_contains(text, "call_test.cpp");
}

TEST(Call, ArgumentsAndResultsOfAnyType) {
  const Cell cell;
  const Tensor x = randn({2, 3});
  auto [out, state] = cell(x, std::nullopt);
  const auto [next, last] = cell(x, state);
  EXPECT_EQ(out.to_vector<float>(), (*state * 2).to_vector<float>());
  EXPECT_NE(next.to_vector<float>(), out.to_vector<float>());
  sum(next + *last).backward();
  EXPECT_TRUE(cell.back.weight.grad().defined());

  const Vae vae;
  const auto [image, mean, log_variance] = vae(randn({5, 8}));
  EXPECT_EQ(image.shape(), (Shape{5, 8}));
  EXPECT_EQ(mean.shape(), log_variance.shape());
  struct Counter : nn::ModuleOf<void(int)> {
    int total = 0;
    void forward(int n) override { total += n; }
  };
  Counter counter;
  counter(3);
  EXPECT_EQ(counter.total, 3);
}

TEST(Call, HooksOfAModuleOfSeeTheTensorsOfTuplesAndOptionals) {
  Cell cell;
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  const auto hook = cell.register_forward_hook(
      [&](const nn::ForwardCall& call) { seen.emplace_back(call.inputs.size(), call.outputs.size()); });
  Tensor input, output;
  const auto first = cell.register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor& out) {
    input = in;
    output = out;
  });
  const Tensor x = randn({1, 3});
  const auto [out, state] = cell(x, std::nullopt);
  (void)cell(x, state);
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {2, 2}}));
  EXPECT_TRUE(input.is_same(x));
  EXPECT_EQ(output.shape(), (Shape{1, 5}));
}

/// Layers as a library of the user's own has them: the errors are those of the line that calls.
struct Scaled : nn::Module {
  nn::Sequential body = child("body", nn::Sequential(nn::Linear(3, 4)));
  Tensor forward(const Tensor& x, const Tensor& factor) override {
    const CallSite site = called();
    return body(x) * factor;
  }
};
struct Split : nn::ModuleOf<std::pair<Tensor, Tensor>(Tensor, int)> {
  nn::Linear fc = child("fc", nn::Linear(3, 4));
  std::pair<Tensor, Tensor> forward(Tensor x, int n) override {
    const CallSite site = called();
    const Tensor y = fc(x);
    return {y * n, y};
  }
};

TEST(Call, ErrorsOfInnerLayersNameTheCallersLine) {
  const Scaled scaled;
  const Split split;
  const Tensor bad = randn({2, 7});
  try {
    scaled(bad, bad);
    FAIL();
  } catch (const ShapeError& e) { EXPECT_EQ(e.where().line, __LINE__ - 2U) << e.what(); }
  try {
    (void)split(bad, 2);
    FAIL();
  } catch (const ShapeError& e) { EXPECT_EQ(e.where().line, __LINE__ - 2U) << e.what(); }
}

TEST(Call, SummaryTakesTheArgumentsOfTheModule) {
  const Attention attention;
  std::string text = nn::summary(attention, zeros({3, 4}), ones({3, 3}) > 0);
  expect_contains(text, "query: Linear(4, 4, no bias)  [3, 4]");
  text = nn::summary(Vae(), {1, 8});
  expect_contains(text, "[1, 8], [1, 2], [1, 2]");
  expect_contains(text, "decode: Linear(2, 8)  [1, 8]");
  EXPECT_EQ(text, nn::summary(Vae(), zeros({1, 8})));
  expect_contains(nn::summary(Cell(), zeros({1, 3}), zeros({1, 5})), "back: Linear(5, 5)  [1, 5]");
  expect_contains(nn::summary(Cell(), zeros({1, 3}), std::nullopt), "back: Linear(5, 5)  -");
  expect_contains(error_of<ShapeError>([] { nn::summary(Vae(), {1, 9}); }), "call_test.cpp");
}

TEST(Call, CloneKeepsAModuleOf) {
  const Vae vae;
  const Vae copy = nn::clone(vae);
  const Tensor x = randn({2, 8});
  EXPECT_EQ(std::get<0>(copy(x)).to_vector<float>(), std::get<0>(vae(x)).to_vector<float>());
  EXPECT_FALSE(copy.encode.weight.is_same(vae.encode.weight));
}

TEST(Functional, SequentialTakesFunctionsAndLambdas) {
  const nn::Linear fc(3, 4);
  const double factor = 3;
  nn::Sequential net(
      fc, relu, [factor](const Tensor& x) { return x * factor; }, [](const In& x) { return *x + 1; },
      [](auto x) { return -x; });
  const Tensor x = randn({5, 3});
  const auto expected = (-(relu(fc(x)) * 3 + 1)).to_vector<float>();
  EXPECT_EQ(net(x).to_vector<float>(), expected);
  EXPECT_EQ(net.size(), 5);
  EXPECT_EQ(net.named_parameters()[0].name, "0.weight");
  expect_contains(nn::summary(net, {1, 3}), "1: Functional    [1, 4]");
  nn::Sequential copy = nn::clone(net);
  EXPECT_EQ(copy(x).to_vector<float>(), expected);
  nn::init::zeros_(fc.weight);
  EXPECT_EQ(copy(x).to_vector<float>(), expected);
  const nn::Sequential named{{"fc", fc}, {"act", relu}};
  EXPECT_EQ(named[1].describe(), "Functional");
}

TEST(Functional, TakesOverloadedFunctionsAndArguments) {
  const Tensor x = randn({2, 3});
  nn::Sequential net(nn::Functional(tanh), nn::Functional(softmax, 1));  // ::tanh(double) is one, too
  EXPECT_EQ(net(x).to_vector<float>(), softmax(tanh(x), 1).to_vector<float>());
}

TEST(Functional, FunctionOfInGetsTheUsersLine) {
  nn::Sequential net(nn::Functional(softmax, 5));
  const Tensor x = ones({2, 2});
  try {
    net(x);
    FAIL();
  } catch (const IndexError& e) { EXPECT_EQ(e.where().line, __LINE__ - 2U) << e.what(); }
}

TEST(Layers, OptionsInPyTorchsOrder) {
  EXPECT_EQ(nn::Linear(3, 4, false).describe(), "Linear(3, 4, no bias)");
  EXPECT_TRUE(nn::Linear(3, 4, true).bias.defined());
  EXPECT_TRUE(nn::Linear(3, 4, {}).bias.defined());
  EXPECT_EQ(nn::Conv2d(2, 6, 3, 2, 1).describe(), nn::Conv2d(2, 6, 3, {.stride = 2, .padding = 1}).describe());
  EXPECT_EQ(nn::Conv2d(2, 6, 3, 1, 0, 1, 2, false).describe(),
            nn::Conv2d(2, 6, 3, {.groups = 2, .bias = false}).describe());
  EXPECT_EQ(nn::MaxPool2d(3, 2, 1).describe(), nn::MaxPool2d(3, {.stride = 2, .padding = 1}).describe());
  EXPECT_EQ(nn::AvgPool2d(2, 2).describe(), nn::AvgPool2d(2, {.stride = 2}).describe());
}

}  // namespace
}  // namespace minnow
