#include <gtest/gtest.h>
#include <string>
#include <minnow/minnow.h>
#include "support/errors.h"

/// Layers that are replaced after the model was made.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

struct Head : nn::Module {
  nn::Linear fc;
  explicit Head(std::int64_t classes) : fc(child("fc", nn::Linear(4, classes))) {}
  Tensor forward(const Tensor& x) override { return fc(x); }
};

struct Backbone : nn::Module {
  Head head = child("head", Head(3));
  Tensor forward(const Tensor& x) override { return head(x); }
};

struct Whole : nn::Module {
  Backbone net = child("net", Backbone());
  Tensor forward(const Tensor& x) override { return net(x); }
};

TEST(Replace, EveryHandleHasTheNewLayer) {
  Whole whole;
  const nn::Linear copy = whole.net.head.fc;
  const nn::Sequential sequential(whole.net, nn::ReLU());
  const std::string path = copy.weight.name();
  nn::Linear with(4, 7);
  nn::replace(whole.net.head.fc, with);

  EXPECT_EQ(whole(ones({2, 4})).shape(), (Shape{2, 7}));
  EXPECT_EQ(sequential(ones({2, 4})).shape(), (Shape{2, 7}));
  EXPECT_TRUE(copy.weight.is_same(with.weight));
  EXPECT_TRUE(whole.parameters()[0].is_same(with.weight));
  EXPECT_EQ(whole.state_dict().at("net.head.fc.bias").shape(), (Shape{7}));
  EXPECT_EQ(with.weight.name(), path);
  for (const auto& [name, module] : whole.named_modules())
    EXPECT_EQ(module(ones({1, 4})).shape(), (Shape{1, 7})) << name;
  whole.to(float64);
  EXPECT_EQ(whole.net.head.fc.bias.dtype(), float64);

  const Whole deep = nn::clone(whole);
  EXPECT_EQ(deep(ones({1, 4}, float64)).shape(), (Shape{1, 7}));
  EXPECT_FALSE(deep.net.head.fc.weight.is_same(with.weight));
}

TEST(Replace, ByPathAndMoreThanOnce) {
  const Whole whole;
  for (const std::int64_t classes : {5, 6}) {
    nn::replace(whole.get_submodule<nn::Linear>("net.head.fc"), nn::Linear(4, classes, {.bias = false}));
    EXPECT_EQ(whole(ones({1, 4})).shape(), (Shape{1, classes}));
    EXPECT_EQ(whole.parameters().size(), 1U);
  }
  nn::replace(whole.get_submodule<Head>("net.head"), Head(2));
  EXPECT_EQ(whole.net.head.fc.weight.shape(), (Shape{2, 4}));
  nn::replace(whole.get_submodule<Head>("net.head"), whole.net.head);  // by itself
  EXPECT_EQ(whole(ones({1, 4})).shape(), (Shape{1, 2}));
  sum(whole(ones({1, 4}))).backward();
  EXPECT_TRUE(whole.net.head.fc.weight.grad().defined());
}

TEST(Replace, OrTheHeadIsLeftOutOfTheWeights) {
  struct Net : nn::Module {
    nn::Linear body = child("body", nn::Linear(2, 2)), fc;
    explicit Net(std::int64_t classes) : fc(child("fc", nn::Linear(2, classes))) {}
  } old(3), net(5);
  StateDict weights = old.state_dict();
  EXPECT_THROW(net.load_state_dict(weights, {.strict = false}), ValueError);
  weights.erase("fc.weight"), weights.erase("fc.bias");
  EXPECT_EQ(net.load_state_dict(weights, {.strict = false}).missing.size(), 2U);
  EXPECT_TRUE(net.body.weight.equal(old.body.weight));
}

TEST(Replace, InContainersByAnyModule) {
  struct Net : nn::Module {
    nn::Sequential layers = child("layers", nn::Sequential{{"fc", nn::Linear(4, 3)}, {"act", nn::ReLU()}});
    nn::ModuleDict heads = child("heads", nn::ModuleDict{{"mean", nn::Linear(3, 1)}});
    Tensor forward(const Tensor& x) override { return heads["mean"](layers(x)); }
  } net;
  net.layers.replace("act", nn::Linear(3, 5));
  net.layers.replace(-2, nn::Sequential(nn::Linear(4, 3), tanh));
  net.heads.replace("mean", nn::Linear(5, 2));
  EXPECT_EQ(net(ones({1, 4})).shape(), (Shape{1, 2}));
  const std::vector<Tensor> parameters = net.parameters();
  EXPECT_EQ(parameters.size(), 6U);
  EXPECT_TRUE(net.state_dict().contains("layers.fc.0.weight"));
  EXPECT_EQ(net.layers.get<nn::Linear>("act").weight.name(), "layers.act.weight");
  EXPECT_EQ(nn::clone(net)(ones({1, 4})).shape(), (Shape{1, 2}));
}

TEST(Replace, RefusesWhatContainsTheLayer) {
  nn::Sequential inner(nn::Linear(2, 2));
  const nn::Sequential outer(inner, nn::ReLU());
  struct OwnLinear : nn::Linear {
    using nn::Linear::Linear;
  } own(2, 2);
  nn::Linear& base = own;
  expect_errors({
      Misuse{"ValueError", "replace", "the new layer contains the former one", [&] { nn::replace(inner, outer); }},
      Misuse{"ValueError", "replace", "one of its own type", [&] { nn::replace(base, nn::Linear(2, 2)); }},
      Misuse{"ValueError", "replace", "the new '0' contains the module", [&] { inner.replace(0, outer); }},
      Misuse{"IndexError", "Sequential", "index 3 is out of range", [&] { inner.replace(3, nn::ReLU()); }},
      Misuse{"IndexError", "Sequential", "there is no 'fc'", [&] { inner.replace("fc", nn::ReLU()); }},
  });
  EXPECT_EQ(inner(ones({1, 2})).shape(), (Shape{1, 2}));
}

}  // namespace
}  // namespace minnow
