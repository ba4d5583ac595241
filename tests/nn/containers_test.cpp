#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/errors.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;
using test::expect_errors;
using test::Misuse;

TEST(Containers, ModuleDict) {
  struct Net : nn::Module {
    nn::ModuleDict heads = child("heads", nn::ModuleDict{{"mean", nn::Linear(2, 1)}, {"act", relu}});
    Tensor forward(const Tensor& x) override { return heads["act"](heads["mean"](x)); }
  } net;
  EXPECT_EQ(net.heads.keys(), (std::vector<std::string>{"mean", "act"}));
  EXPECT_TRUE(net.heads.contains("mean"));
  EXPECT_FALSE(net.heads.contains("variance"));
  net.heads.insert("variance", nn::Linear(2, 1));
  EXPECT_EQ(net.heads.size(), 3);
  EXPECT_EQ(net.heads.get<nn::Linear>("mean").weight.shape(), (Shape{1, 2}));
  EXPECT_TRUE(net.state_dict().contains("heads.variance.bias"));
  EXPECT_EQ(net(ones({4, 2})).shape(), (Shape{4, 1}));
  const Net copy = nn::clone(net);
  EXPECT_EQ(copy.heads.size(), 3);
  EXPECT_FALSE(copy.parameters()[0].is_same(net.parameters()[0]));
  const nn::ModuleDict heads = net.heads;
  expect_errors({
      Misuse{"IndexError", "ModuleDict", "names  'mean', 'act', 'variance'", [=] { (void)heads["bias"]; }},
      Misuse{"ValueError", "get", "'act' is Functional, not a Linear", [=] { (void)heads.get<nn::Linear>("act"); }},
      Misuse{"ValueError", "child", "there is a child 'act' already",
             [=] { nn::ModuleDict(heads).insert("act", relu); }},
  });
}

TEST(Containers, ParameterListAndDict) {
  struct Net : nn::Module {
    nn::ParameterList list = child("list", nn::ParameterList({ones({2}), zeros({3})}));
    nn::ParameterDict dict = child("dict", nn::ParameterDict({{"scale", ones({2})}}));
    Tensor forward(const Tensor& x) override { return x * list[0] * dict["scale"]; }
  } net;
  net.list.push_back(ones({4}));
  EXPECT_EQ(net.list.size(), 3);
  EXPECT_EQ(net.list[-1].shape(), (Shape{4}));
  EXPECT_EQ(net.dict.keys(), (std::vector<std::string>{"scale"}));
  std::vector<std::string> names;
  for (const auto& [name, p] : net.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"list.0", "list.1", "list.2", "dict.scale"}));
  const Net copy = nn::clone(net);
  EXPECT_EQ(copy.list.size(), 3);
  EXPECT_FALSE(copy.list[0].is_same(net.list[0]));
  EXPECT_TRUE(copy.list[0].requires_grad());
  EXPECT_EQ(net.list.describe(), "ParameterList(0: [2], 1: [3], 2: [4])");
  const Tensor y = sum(net(ones({2})));
  y.backward();
  EXPECT_EQ(net.list[0].grad().to_vector<float>(), (std::vector<float>{1, 1}));
  const nn::ParameterList list = net.list;
  const nn::ParameterDict dict = net.dict;
  expect_errors({
      Misuse{"IndexError", "ParameterList", "index 3 is out of range, it holds 3", [=] { (void)list[3]; }},
      Misuse{"IndexError", "ParameterDict", "there is no 'shift'", [=] { (void)dict["shift"]; }},
      Misuse{"DTypeError", "parameter", "'3' is not floating-point",
             [=] { nn::ParameterList(list).push_back(ones({2}, int64)); }},
  });
}

TEST(Containers, ModulesByNameAndPath) {
  struct Block : nn::Module {
    nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 2, 3));
  };
  struct Net : nn::Module {
    nn::Sequential layer1 = child("layer1", nn::Sequential(Block(), nn::ReLU()));
    nn::Sequential head = child("head", nn::Sequential{{"fc", nn::Linear(4, 3)}, {"act", nn::ReLU()}});
  } const net;
  EXPECT_TRUE(net.get_submodule<nn::Conv2d>("layer1.0.conv1").weight.is_same(net.layer1.get<Block>(0).conv1.weight));
  EXPECT_EQ(net.get_submodule("head.act").describe(), "ReLU");
  EXPECT_EQ(net.get_submodule("").num_parameters(), net.num_parameters());
  EXPECT_EQ(&net.head["fc"], &net.head[0]);
  EXPECT_EQ(&net.head.get<nn::Linear>("fc"), &net.head[std::string("fc")]);
  EXPECT_EQ(net.layer1["1"].describe(), "ReLU");
  expect_errors({
      Misuse{"IndexError", "get_submodule", "'layer1.0' Block\n  children  'conv1'",
             [&] { (void)net.get_submodule("layer1.0.conv2"); }},
      Misuse{"IndexError", "get_submodule", "module    Net\n  children  'layer1', 'head'",
             [&] { (void)net.get_submodule("layer2.0"); }},
      Misuse{"IndexError", "get_submodule", "Conv2d(1, 2, kernel 3)\n  children  none",
             [&] { (void)net.get_submodule("layer1.0.conv1.x"); }},
      Misuse{"IndexError", "get_submodule", "there is no 'layer1.'", [&] { (void)net.get_submodule("layer1."); }},
      Misuse{"ValueError", "get_submodule", "module 'head.act' is ReLU, not a Linear",
             [&] { (void)net.get_submodule<nn::Linear>("head.act"); }},
      Misuse{"IndexError", "Sequential", "names  'fc', 'act'", [&] { (void)net.head["out"]; }},
      Misuse{"ValueError", "get", "module 'act' is ReLU", [&] { (void)net.head.get<nn::Linear>("act"); }},
  });
}

TEST(ParameterVector, ThereAndBack) {
  nn::Linear net(2, 3);
  const Tensor vector = nn::parameters_to_vector(net.parameters());
  EXPECT_EQ(vector.shape(), (Shape{9}));
  EXPECT_TRUE(vector.requires_grad());
  nn::vector_to_parameters(vector.detach() * 2, net.parameters());
  EXPECT_TRUE(nn::parameters_to_vector(net.parameters()).detach().equal(vector.detach() * 2));
  sum(square(nn::parameters_to_vector(net.parameters()))).backward();
  EXPECT_TRUE(net.bias.grad().equal(net.bias.detach() * 2));
  expect_errors({
      Misuse{"ValueError", "parameters_to_vector", "is empty", [] { (void)nn::parameters_to_vector({}); }},
      Misuse{"ShapeError", "vector_to_parameters", "must have 9 elements",
             [=] { nn::vector_to_parameters(ones({8}), net.parameters()); }},
  });
}

TEST(Freezing, ByPrefix) {
  struct Net : nn::Module {
    nn::Linear encoder = child("encoder", nn::Linear(2, 2));
    nn::Linear head = child("head", nn::Linear(2, 1));
    Tensor forward(const Tensor& x) override { return head(encoder(x)); }
  } net;
  net.freeze("encoder.");
  EXPECT_FALSE(net.encoder.weight.requires_grad() || net.encoder.bias.requires_grad());
  EXPECT_TRUE(net.head.weight.requires_grad());
  optim::SGD sgd(net.parameters(), {.lr = 1});
  const Tensor before = net.encoder.weight.detach().clone();
  sum(net(ones({1, 2}))).backward();
  sgd.step();
  EXPECT_TRUE(net.encoder.weight.equal(before));
  net.unfreeze("encoder.weight");
  EXPECT_TRUE(net.encoder.weight.requires_grad());
  EXPECT_FALSE(net.encoder.bias.requires_grad());
  const nn::Module& model = net;
  expect_errors({Misuse{"ValueError", "freeze", "begins with 'decoder.'", [=] { Net(net).freeze("decoder."); }}});
  expect_contains(model.to_string(), "Net(\n  (encoder): Linear(2, 2)\n  (head): Linear(2, 1)\n)");
}

/// A language model whose decoder is its embedding.
struct Tied : nn::Module {
  nn::Embedding embedding = child("embedding", nn::Embedding(5, 3));
  nn::Linear decoder = child("decoder", nn::Linear(3, 5));
  Tied() { decoder.weight = embedding.weight; }
  Tensor forward(const Tensor& x) override { return decoder(embedding(x)); }
};

class TiedWeights : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, TiedWeights, test::all_devices(), test::device_test_name);

TEST_P(TiedWeights, AreOneParameter) {
  Tied net;
  EXPECT_EQ(net.parameters().size(), 2U);
  EXPECT_EQ(net.num_parameters(), 15 + 5);
  EXPECT_EQ(net.named_parameters()[0].name, "embedding.weight");
  EXPECT_EQ(net.state_dict().size(), 3U);
  EXPECT_TRUE(net.state_dict().contains("decoder.weight"));
  net.to(device());
  const auto tied = [](const Tied& m) { return m.embedding.weight.storage() == m.decoder.weight.storage(); };
  EXPECT_TRUE(tied(net));
  EXPECT_TRUE(net.decoder.weight.is_same(net.embedding.weight));
  EXPECT_FALSE(net.decoder.weight.detach().is_same(net.embedding.weight.detach()));
  EXPECT_FALSE(net.decoder.weight.is_same(net.decoder.bias));
  EXPECT_EQ(net.decoder.weight.device(), device());

  // The gradient is that of both uses, and the optimizer's step is one.
  const Tensor x = tensor({0, 3}).to(device());
  Tensor w = net.embedding.weight.detach().clone().requires_grad_();
  const Tensor bias = net.decoder.bias.detach();
  sum(square(linear(embedding(x, w), w, bias))).backward();
  sum(square(net(x))).backward();
  EXPECT_TRUE(net.decoder.weight.grad().allclose(w.grad()));
  EXPECT_TRUE(net.embedding.weight.grad().allclose(w.grad()));
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  sgd.step();
  EXPECT_TRUE(net.decoder.weight.detach().allclose((w - 0.1 * w.grad()).detach()));
  EXPECT_TRUE(tied(net));

  // A layer that is moved by itself takes the other along; so does a change of the dtype.
  net.decoder.to(float64);
  EXPECT_TRUE(tied(net));
  EXPECT_EQ(net.embedding.weight.dtype(), float64);
  net.to(float32);

  const Tied copy = nn::clone(net);
  EXPECT_TRUE(tied(copy));
  EXPECT_FALSE(copy.decoder.weight.storage() == net.decoder.weight.storage());
  EXPECT_EQ(copy.parameters().size(), 2U);
  EXPECT_TRUE(copy(x).detach().equal(net(x).detach()));
}

TEST_P(TiedWeights, AreSavedByBothNamesAndLoaded) {
  Tied net, other;
  net.to(device());
  const std::string path = (std::filesystem::temp_directory_path() / ("tied-" + std::to_string(::getpid()))).string();
  save(net.state_dict(), path);
  other.load_state_dict(load(path));
  EXPECT_TRUE(other.decoder.weight.equal(net.embedding.weight.cpu()));
  EXPECT_TRUE(other.embedding.weight.storage() == other.decoder.weight.storage());
  StateDict one = load(path);
  StateDict without;
  for (const auto& [name, value] : one)
    if (name != "decoder.weight") without.set(name, value);
  nn::init::zeros_(other.embedding.weight);
  other.load_state_dict(without);  // a value for one of the names is enough
  EXPECT_TRUE(other.decoder.weight.equal(net.embedding.weight.cpu()));
  std::filesystem::remove(path);
}

TEST(TiedWeightsErrors, WhatCannotBeTied) {
  nn::Linear a(2, 3), b(3, 2), c(2, 3, false);
  expect_contains(error_of<ShapeError>([&] { a.weight = b.weight; }), "tied parameters must have one shape");
  expect_contains(error_of<ValueError>([&] { c.bias = a.bias; }), "undefined");
  nn::Linear d(2, 3);
  a.weight = d.weight;
  EXPECT_THROW(optim::SGD({a.weight, d.weight}, {.lr = 1}), ValueError);  // one parameter twice
}

}  // namespace
}  // namespace minnow
