#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <support/devices.h>
#include <unistd.h>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow {
namespace {

struct Body : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(3, 4));
  nn::Buffer count = buffer("count", tensor({1, 2}));
  Tensor forward(const Tensor& x) override { return relu(fc(x)); }
};

struct ScaledNet : nn::Module {
  Body body = child("body", Body());
  nn::Sequential head = child("head", nn::Sequential(nn::Linear(4, 2), nn::Dropout(0.5)));
  nn::Parameter scale = parameter("scale", ones({2}));
  Tensor forward(const Tensor& x) override { return head(body(x)) * scale; }
};

/// The message of the E that f throws.
using test::error_of;
using test::expect_contains;

TEST(Module, ParameterNamesAreStateDictKeys) {
  ScaledNet net;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : net.named_parameters()) {
    names.push_back(name);
    EXPECT_EQ(tensor.name(), name);
    EXPECT_TRUE(tensor.requires_grad());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"scale", "body.fc.weight", "body.fc.bias", "head.0.weight", "head.0.bias"}));
  EXPECT_TRUE(net.state_dict().contains("body.count"));
  EXPECT_EQ(net.state_dict().size(), 6u);
  EXPECT_EQ(net.num_parameters(), 2 + 16 + 10);
  EXPECT_EQ(net.named_modules().size(), 6u);
}

TEST(Module, CopiesAndMovesShare) {
  ScaledNet net;
  ScaledNet copy = net;
  ScaledNet moved = std::move(copy);
  EXPECT_TRUE(moved.body.fc.weight.is_same(net.body.fc.weight));
  nn::init::constant_(moved.scale, 7);
  EXPECT_EQ(net.scale.to_vector<float>(), (std::vector<float>{7, 7}));
  moved.eval();
  EXPECT_FALSE(net.head[1].is_training());
  static_assert(!std::is_copy_assignable_v<ScaledNet> && !std::is_move_assignable_v<ScaledNet>);
  static_assert(!std::is_assignable_v<nn::Parameter&, Tensor>);
}

TEST(Module, RegistersInTheBodyOfAConstructor) {
  struct Late : nn::Module {
    nn::Parameter scale;
    nn::Buffer shift;
    Late() {
      scale = parameter("scale", ones({3}));
      shift = buffer("shift", zeros({3}));
    }
    void again() { shift = buffer("other", zeros({3})); }
    Tensor forward(const Tensor& x) override { return x * scale + shift; }
  };
  Late net;
  Late copy = nn::clone(net);
  optim::SGD sgd(net.parameters(), {.lr = 1});
  net.to(float64);
  sum(net(ones({2, 3}, float64))).backward();
  sgd.step();
  EXPECT_EQ(net.scale.to_vector<double>(), (std::vector<double>{-1, -1, -1}));
  EXPECT_TRUE(net.scale.is_same(net.parameters()[0]));
  EXPECT_TRUE(net.shift.is_same(net.named_buffers()[0].tensor));
  EXPECT_TRUE(copy.scale.is_same(copy.parameters()[0]));
  EXPECT_EQ(copy.scale.to_vector<float>(), (std::vector<float>{1, 1, 1}));
  expect_contains(error_of<ValueError>([&] { net.again(); }), "the buffer exists already");
}

TEST(Module, ApplyZeroGradAndRequiresGradReachAllModules) {
  ScaledNet net;
  std::vector<std::string> order;
  net.apply([&](nn::Module& m) { order.push_back(m.describe().substr(0, 3)); });
  EXPECT_EQ(order.back(), "Sca");  // children first
  EXPECT_EQ(order.size(), 6u);
  for (const Tensor& p : net.parameters()) p.set_grad(ones_like(p));
  net.zero_grad();
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
  net.requires_grad_(false);
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.requires_grad());
}

TEST(Module, StateDictSharesMemoryAndOmitsNonPersistentBuffers) {
  struct Scratch : nn::Module {
    nn::Parameter w = parameter("w", ones({2}));
    nn::Buffer kept = buffer("kept", ones({1})), scratch = buffer("scratch", ones({1}), false);
  };
  Scratch module;
  const StateDict dict = module.state_dict();
  EXPECT_EQ(dict.size(), 2u);
  EXPECT_FALSE(dict.contains("scratch"));
  EXPECT_EQ(module.named_buffers().size(), 2u);
  EXPECT_EQ(dict.at("w").storage(), module.w.storage());
  EXPECT_FALSE(dict.at("w").requires_grad());
}

TEST(Module, IsSavedAsItsStateDict) {
  const ScaledNet net;
  ScaledNet other;
  const std::string path = testing::TempDir() + "module-" + std::to_string(::getpid()) + ".safetensors";
  save(net, path, {{"epoch", "3"}});
  EXPECT_EQ(load_metadata(path).at("epoch"), "3");
  other.load_state_dict(load(path));
  for (const auto& [name, value] : net.state_dict()) EXPECT_TRUE(other.state_dict().at(name).equal(value)) << name;
  save(net.scale, path);  // a parameter is a tensor
  EXPECT_TRUE(load_tensor(path).equal(net.scale));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST(Module, CloneIsIndependent) {
  ScaledNet net;
  net.eval();
  const Tensor x = randn({5, 3});
  ScaledNet copy = nn::clone(net);
  EXPECT_EQ(copy(x).to_vector<float>(), net(x).to_vector<float>());
  EXPECT_FALSE(copy.is_training());
  const auto before = net(x).to_vector<float>();
  for (const Tensor& p : copy.parameters()) nn::init::zeros_(p);
  EXPECT_EQ(net(x).to_vector<float>(), before);
  EXPECT_EQ(copy(x).to_vector<float>(), std::vector<float>(10, 0.f));
  // The members and the registered tensors of the copy are the same.
  EXPECT_TRUE(copy.body.fc.weight.is_same(copy.named_parameters()[1].tensor));
  EXPECT_FALSE(copy.body.fc.weight.is_same(net.body.fc.weight));
  EXPECT_EQ(copy.body.fc.weight.name(), "body.fc.weight");
}

TEST(Module, ASnapshotKeepsItsValues) {
  ScaledNet net;
  const Tensor x = randn({5, 3});
  net.eval();
  const auto before = net(x).to_vector<float>();
  const StateDict best = nn::snapshot(net);
  for (const Tensor& p : net.parameters()) nn::init::zeros_(p);
  EXPECT_NE(net(x).to_vector<float>(), before);
  net.load_state_dict(best);
  EXPECT_EQ(net(x).to_vector<float>(), before);
  for (const auto& [name, tensor] : best) EXPECT_FALSE(tensor.requires_grad()) << name;
}

TEST(Module, CloneNamesMembersThatItCannotCopy) {
  struct Plain : nn::Module {
    Tensor w = parameter("w", ones({2}));
  };
  expect_contains(error_of<Error>([] { (void)nn::clone(Plain()); }),
                  "parameter 'w' of Plain is held as a plain Tensor");
  struct Outer : nn::Module {
    Plain inner = child("inner", Plain());
  };
  expect_contains(error_of<Error>([] { (void)nn::clone(Outer()); }), "'inner.w'");
  struct Pointer : nn::Module {
    std::shared_ptr<nn::Linear> fc = std::make_shared<nn::Linear>(child("fc", nn::Linear(2, 2)));
  };
  expect_contains(error_of<Error>([] { (void)nn::clone(Pointer()); }), "child 'fc' is not held by value");
  struct Forgotten : nn::Module {
    nn::Linear fc{2, 2};
  };
  expect_contains(error_of<Error>([] { (void)nn::clone(Forgotten()); }), "not registered");
  // Nothing stays behind.
  EXPECT_NO_THROW((void)nn::clone(ScaledNet()));
}

TEST(Module, RefusesBadRegistrations) {
  struct Bad : nn::Module {
    using Module::buffer;
    using Module::child;
    using Module::parameter;
  };
  Bad bad;
  bad.parameter("w", ones({1}));
  expect_contains(error_of<ValueError>([&] { bad.parameter("w", ones({1})); }), "there is a parameter 'w' already");
  expect_contains(error_of<ValueError>([&] { bad.buffer("w", ones({1})); }), "already");
  expect_contains(error_of<ValueError>([&] { bad.child("w", nn::ReLU()); }), "already");
  expect_contains(error_of<ValueError>([&] { bad.child("a.b", nn::ReLU()); }), "dot");
  expect_contains(error_of<ValueError>([&] { bad.child("", nn::ReLU()); }), "empty");
  expect_contains(error_of<ValueError>([&] { bad.child("self", bad); }), "contains");
  expect_contains(error_of<ValueError>([&] { bad.parameter("u", Tensor()); }), "undefined");
  expect_contains(error_of<DTypeError>([&] { bad.parameter("i", tensor({1, 2})); }), "buffer()");
  const Tensor leaf = ones({1}).requires_grad_();
  expect_contains(error_of<AutogradError>([&] { bad.parameter("n", leaf * 2); }), "detach");
  expect_contains(error_of<Error>([&] { bad(ones({1})); }), "has no forward");
}

TEST(Module, SharedChildIsListedOnceAndSavedByBothNames) {
  struct Tied : nn::Module {
    nn::Linear a = child("a", nn::Linear(2, 2));
    nn::Linear b = child("b", a);
  };
  Tied tied;
  EXPECT_EQ(tied.parameters().size(), 2u);
  EXPECT_EQ(tied.state_dict().size(), 4u);
  EXPECT_EQ(tied.a.weight.name(), "a.weight");
  Tied copy = nn::clone(tied);
  EXPECT_TRUE(copy.a.weight.is_same(copy.b.weight));
  EXPECT_FALSE(copy.a.weight.is_same(tied.a.weight));
}

TEST(LoadStateDict, ListsEveryProblemAndChangesNothing) {
  ScaledNet net;
  StateDict dict = nn::clone(net).state_dict();
  for (const auto& [name, t] : dict)
    if (t.is_floating_point()) nn::init::constant_(t, 3);
  dict.erase("scale");
  dict.set("extra", ones({1}));
  dict.set("body.fc.weight", ones({4, 4}));
  dict.set("body.fc.bias", ones({4}, {.dtype = DType::float64}));
  const auto before = net.head.get<nn::Linear>(0).weight.to_vector<float>();
  const std::string text = error_of<ValueError>([&] { net.load_state_dict(dict); });
  expect_contains(text, "missing     'scale'");
  expect_contains(text, "unexpected  'extra'");
  expect_contains(text, "'body.fc.weight' is float32[4, 4], the module has float32[4, 3]");
  expect_contains(text, "'body.fc.bias' is float64[4]");
  expect_contains(text, "module_test.cpp");
  EXPECT_EQ(net.head.get<nn::Linear>(0).weight.to_vector<float>(), before);
  // Shapes are refused even so.
  expect_contains(error_of<ValueError>([&] { net.load_state_dict(dict, {.strict = false}); }), "[4, 4]");
  dict.set("body.fc.weight", ones({4, 3}));
  const auto report = net.load_state_dict(dict, {.strict = false, .convert = true});
  EXPECT_EQ(report.missing, std::vector<std::string>{"scale"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"extra"});
  EXPECT_EQ(report.loaded.size(), 5u);
  EXPECT_EQ(net.body.fc.bias.to_vector<float>(), (std::vector<float>(4, 1.f)));
}

TEST(LoadStateDict, WholeErrorText) {
  ScaledNet net;
  StateDict dict = nn::clone(net).state_dict();
  dict.erase("scale");
  dict.erase("body.count");
  dict.set("extra", ones({1}));
  dict.set("head.0.bias", ones({3}));
  std::string text = error_of<ValueError>([&] { net.load_state_dict(dict); });
  text.erase(text.find("  (module_test.cpp"),
             text.find(")", text.find("  (module_test.cpp")) + 1 - text.find("  (module_test.cpp"));
  EXPECT_EQ(text,
            "ValueError: load_state_dict: the values do not fit ScaledNet\n"
            "  'head.0.bias' is float32[3], the module has float32[2]\n"
            "  missing     'scale', 'body.count'\n"
            "  unexpected  'extra'\n"
            "load into the architecture that was saved; {.strict = false} skips missing and unexpected names, "
            "{.convert = true} converts floating-point values");
  struct Many : nn::Module {
    Many() {
      for (int i = 0; i < 25; ++i) parameter("p" + std::to_string(i), ones({1}));
    }
  };
  Many many;
  expect_contains(error_of<ValueError>([&] { many.load_state_dict(StateDict()); }), "'p19' and 5 more");
}

TEST(LoadStateDict, SaysWhatTheNamesBeginWith) {
  nn::Linear net(2, 3);
  StateDict dict{{"epoch", zeros({})}};
  for (const auto& [name, value] : nn::Linear(2, 3).state_dict()) dict.set("model.net." + name, value);
  expect_contains(error_of<ValueError>([&] { net.load_state_dict(dict); }),
                  R"(load(path, {.prefix = "model.net.", .rename = {{"model.net.", ""}}}))");
  expect_contains(error_of<ValueError>([&] { net.load_state_dict(dict, {.strict = false}); }),
                  "unexpected  'epoch', 'model.net.weight'");
  expect_contains(error_of<ValueError>([&] {
                    net.load_state_dict({{"w", ones({1})}}, {.strict = false});
                  }),
                  "no name fits");
  EXPECT_TRUE(net.load_state_dict({}, {.strict = false}).loaded.empty());
  dict.set("bias", ones({3}));
  EXPECT_EQ(net.load_state_dict(dict, {.strict = false}).loaded, std::vector<std::string>{"bias"});
  dict.set("weight", ones({3}));
  dict.erase("model.net.weight");
  expect_contains(error_of<ValueError>([&] { net.load_state_dict(dict); }), "load into the architecture");
}

TEST(LoadStateDict, IntoAMovedAndTrainedModule) {
  ScaledNet source, target;
  target.to("sim:0");
  target.to(DType::float64);
  const Tensor weight = target.body.fc.weight;
  sum(target(randn({4, 3}, {DType::float64, "sim:0"}))).backward();
  const auto grad = weight.grad().to_vector<double>();
  expect_contains(error_of<ValueError>([&] { target.load_state_dict(source.state_dict()); }),
                  "is float32[4, 3], the module");
  target.load_state_dict(source.state_dict(), {.convert = true});
  EXPECT_EQ(weight.device(), Device("sim:0"));
  EXPECT_EQ(weight.dtype(), DType::float64);
  EXPECT_EQ(weight.to_vector<float>(), source.body.fc.weight.to_vector<float>());
  EXPECT_EQ(weight.grad().to_vector<double>(), grad);  // a load leaves gradients alone
  nn::init::zeros_(source.body.fc.weight);             // and the source is not shared
  EXPECT_NE(weight.to_vector<float>(), source.body.fc.weight.to_vector<float>());
  // Back into a module on the host.
  ScaledNet host;
  host.load_state_dict(target.state_dict(), {.convert = true});
  EXPECT_TRUE(host.scale.device().is_cpu());
  EXPECT_EQ(host.body.fc.weight.to_vector<float>(), weight.to_vector<float>());
}

TEST(Module, CloneOfAMovedModuleIsOnTheSameDevice) {
  ScaledNet net;
  net.to("sim:0");
  net.body.fc.weight.requires_grad_(false);
  sum(net(ones({1, 3}, {{}, "sim:0"}))).backward();
  ScaledNet copy = nn::clone(net);
  EXPECT_EQ(copy.scale.device(), Device("sim:0"));
  EXPECT_FALSE(copy.scale.grad().defined());
  EXPECT_FALSE(copy.body.fc.weight.requires_grad());
  EXPECT_TRUE(copy.body.fc.bias.requires_grad());
  copy.to(Device());
  EXPECT_EQ(net.scale.device(), Device("sim:0"));
}

TEST(Linear, ActivationIsThatOfTheFunction) {
  nn::Linear bent(3, 8, {.activation = Activation::relu});
  EXPECT_EQ(bent.describe(), "Linear(3, 8, relu)");
  const Tensor x = randn({5, 3});
  EXPECT_EQ(bent(x).to_vector<float>(), relu(linear(x, bent.weight, bent.bias)).to_vector<float>());
  nn::Conv2d conv(2, 3, 2, {.bias = false, .activation = Activation::relu});
  EXPECT_EQ(conv.describe(), "Conv2d(2, 3, kernel 2, no bias, relu)");
  const Tensor image = randn({1, 2, 4, 4});
  EXPECT_EQ(conv(image).to_vector<float>(), relu(conv2d(image, conv.weight)).to_vector<float>());
  nn::Linear copy = nn::clone(bent);
  EXPECT_EQ(copy(x).to_vector<float>(), bent(x).to_vector<float>());
}

TEST(Containers, NamesOrderAndErrors) {
  nn::Sequential named{{"hidden", nn::Linear(2, 3)}, {"act", nn::ReLU()}};
  EXPECT_EQ(named.named_parameters()[0].name, "hidden.weight");
  nn::ModuleList list(nn::Linear(2, 3), nn::ReLU());
  list.push_back(nn::Dropout(0.1));
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(list[-1].describe(), "Dropout(0.1)");
  expect_contains(error_of<IndexError>([&] { list[3]; }), "index 3 is out of range");
  expect_contains(error_of<ValueError>([&] { list.get<nn::Linear>(1); }), "not a Linear");
  expect_contains(error_of<Error>([&] { list(ones({1, 2})); }), "has no forward");
  nn::Sequential copy(named);
  EXPECT_EQ(copy.size(), 2);
  EXPECT_TRUE(copy.get<nn::Linear>(0).weight.is_same(named.get<nn::Linear>(0).weight));
}

TEST(Hooks, RunWhileTheHandleLives) {
  nn::Linear fc(2, 3);
  int calls = 0;
  {
    const auto handle = fc.register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor& out) {
      EXPECT_EQ(in.size(1), 2);
      EXPECT_EQ(out.size(1), 3);
      ++calls;
    });
    fc(ones({1, 2}));
  }
  fc(ones({1, 2}));
  EXPECT_EQ(calls, 1);
}

TEST(Summary, WholeText) {
  ScaledNet net;
  net.body.fc.weight.requires_grad_(false);
  EXPECT_EQ(nn::summary(net, {5, 3}),
            "layer                 output  parameters  multiply-adds\n"
            "-------------------------------------------------------\n"
            "ScaledNet             [5, 2]           2              -\n"
            "  body: Body          [5, 4]           -              -\n"
            "    fc: Linear(3, 4)  [5, 4]          16             60\n"
            "  head: Sequential    [5, 2]           -              -\n"
            "    0: Linear(4, 2)   [5, 2]          10             40\n"
            "    1: Dropout(0.5)   [5, 2]           -              -\n"
            "-------------------------------------------------------\n"
            "parameters: 28, trainable: 16\n"
            "multiply-adds: 100, activations: 1.5 KB\n");
  net.to("sim:0");
  EXPECT_EQ(nn::summary(net, {5, 3}).substr(0, 5), "layer");
}

TEST(Summary, CountsTransposedConvolutions) {
  // Each element of the input is multiplied with (out_channels / groups) kernels.
  expect_contains(nn::summary(nn::ConvTranspose2d(4, 6, 3, {.stride = 2}), {1, 4, 5, 5}), "multiply-adds: 5,400,");
  expect_contains(nn::summary(nn::ConvTranspose1d(4, 6, 3, {.groups = 2}), {2, 4, 5}), "multiply-adds: 360,");
  expect_contains(nn::summary(nn::ConvTranspose3d(2, 3, 2), {1, 2, 2, 3, 4}), "multiply-adds: 1,152,");
  expect_contains(nn::summary(nn::Conv3d(2, 3, 2), {1, 2, 2, 3, 4}), "multiply-adds: 288,");
}

TEST(Summary, ShowsShapesAndRestoresModes) {
  ScaledNet net;
  net.body.eval();
  const std::string text = nn::summary(net, {5, 3});
  expect_contains(text, "fc: Linear(3, 4)");
  expect_contains(text, "[5, 2]");
  expect_contains(text, "parameters: 28, trainable: 28");
  EXPECT_TRUE(net.is_training());
  EXPECT_FALSE(net.body.is_training());
}

class ModuleOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ModuleOn, test::all_devices(), test::device_test_name);

TEST_P(ModuleOn, ToKeepsHandlesAndMovesGradients) {
  ScaledNet net;
  const Tensor weight = net.body.fc.weight;
  sum(net(randn({4, 3}))).backward();
  const auto values = weight.to_vector<float>(), grads = weight.grad().to_vector<float>();
  EXPECT_EQ(&net.to(device()), static_cast<nn::Module*>(&net));
  EXPECT_EQ(weight.device(), device());
  EXPECT_EQ(weight.grad().device(), device());
  EXPECT_EQ(net.body.count.device(), device());
  EXPECT_EQ(weight.to_vector<float>(), values);
  EXPECT_EQ(weight.grad().to_vector<float>(), grads);
  EXPECT_TRUE(weight.is_leaf() && weight.requires_grad());
  net.to(DType::float64);
  EXPECT_EQ(weight.grad().dtype(), DType::float64);
  EXPECT_EQ(net.body.count.dtype(), DType::int64);
  EXPECT_EQ(net(randn({4, 3}, {.dtype = DType::float64, .device = device()})).dtype(), DType::float64);
  expect_contains(error_of<DTypeError>([&] { net.to(DType::int32); }), "floating-point");
}

TEST_P(ModuleOn, LoadsToTheParametersDevice) {
  ScaledNet source, target;
  target.to(device());
  EXPECT_EQ(target.load_state_dict(source.state_dict()).loaded.size(), 6u);
  EXPECT_EQ(target.scale.device(), device());
  EXPECT_EQ(target.body.fc.weight.to_vector<float>(), source.body.fc.weight.to_vector<float>());
}

}  // namespace
}  // namespace minnow
