#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "errors.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;
using test::expect_errors;
using test::Misuse;

/// Of the largest result; the half where products of bytes are added exactly (activations have 8 bits then, not 7).
constexpr double kError = 0.03;

struct Classifier : nn::Module {
  nn::Sequential body = child("body", nn::Sequential(nn::Linear(64, 96), nn::ReLU(), nn::Dropout(0.5)));
  nn::Linear head = child("head", nn::Linear(96, 10, {.bias = false}));
  Tensor forward(const Tensor& x) override { return head(body(x)); }
};

double difference(const Tensor& a, const Tensor& b) {
  const NoGradGuard no_grad;
  return (amax(abs(a - b)) / amax(abs(b))).item();
}

struct TempFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("minnow_quantize_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".safetensors"))
                         .string();
  ~TempFile() { std::filesystem::remove(path); }
};

TEST(QuantizeDynamic, LinearLayersOfATreeBecomeInt8InPlace) {
  manual_seed(1);
  Classifier net;
  const Tensor x = randn({8, 64});
  net.eval();
  const Tensor before = net(x).detach();
  net.train();
  nn::quantize_dynamic_(net);
  EXPECT_FALSE(net.is_training());
  const Tensor y = net(x);  // outside of a NoGradGuard
  EXPECT_FALSE(y.requires_grad());
  EXPECT_LT(difference(y, before), kError);
  EXPECT_GT(difference(y, before), 0);
  const StateDict state = net.state_dict();
  EXPECT_EQ(state.at("body.0.weight").dtype(), int8);
  EXPECT_EQ(state.at("body.0.weight_scale").shape(), (Shape{96}));
  EXPECT_EQ(state.at("body.0.bias").dtype(), float32);
  EXPECT_EQ(state.size(), 5U);
  EXPECT_EQ(net.head.describe(), "Linear(96, 10, no bias, int8)");
  EXPECT_EQ(net.head.weight.dtype(), int8);  // the members of the user's struct
  // The weight is at most half a step from the float's, or a whole one at the end of the range.
  EXPECT_EQ(net.parameters().size(), 1U);
}

TEST(QuantizeDynamic, OfACopyLeavesTheModel) {
  manual_seed(1);
  const Classifier net;
  const Tensor x = randn({8, 64}), before = nn::clone(net).eval()(x);
  const Classifier quantized = nn::quantize_dynamic(net);
  EXPECT_EQ(net.head.weight.dtype(), float32);
  EXPECT_TRUE(net.is_training() && net.head.weight.requires_grad());
  EXPECT_LT(difference(quantized(x), before.detach()), kError);
  const Classifier again = nn::clone(quantized);
  EXPECT_TRUE(again(x).equal(quantized(x)));
  again.head.weight.zero_();
  EXPECT_FALSE(again(x).equal(quantized(x)));  // a write to the weight is seen
}

TEST(QuantizeDynamic, FilesAreAQuarterAndLoad) {
  struct Wide : nn::Module {
    nn::Linear first = child("first", nn::Linear(512, 512)), second = child("second", nn::Linear(512, 512));
    Tensor forward(const Tensor& x) override { return second(relu(first(x))); }
  };
  const TempFile whole, small;
  Wide net;
  save(net.state_dict(), whole.path);
  nn::quantize_dynamic_(net);
  save(net.state_dict(), small.path);
  const double part = static_cast<double>(std::filesystem::file_size(small.path)) /
                      static_cast<double>(std::filesystem::file_size(whole.path));
  EXPECT_NEAR(part, 0.25, 0.01);
  Wide other;
  const Tensor x = randn({3, 512}), wanted = net(x);
  EXPECT_FALSE(nn::quantize_dynamic(other)(x).equal(wanted));
  const std::string unquantized = error_of<ValueError>([&] { other.load_state_dict(load(small.path)); });
  expect_contains(unquantized, "'first.weight' is int8[512, 512], the module has float32[512, 512]");
  expect_contains(unquantized, "call nn::quantize_dynamic_() on this one first");
  nn::quantize_dynamic_(other);
  other.load_state_dict(load(small.path));
  EXPECT_TRUE(other(x).equal(wanted));
  const std::string twice = error_of<ValueError>([&] { other.load_state_dict(load(whole.path)); });
  expect_contains(twice, "missing     'first.weight_scale', 'second.weight_scale'");
  expect_contains(twice, "the module is quantized to int8: load before nn::quantize_dynamic_()");
  EXPECT_TRUE(other(x).equal(wanted));
}

TEST(QuantizeDynamic, EmptyNarrowAndStridedInputs) {
  manual_seed(2);
  const nn::Sequential net(nn::Linear(37, 11), nn::ReLU());
  const nn::Sequential small = nn::quantize_dynamic(net);
  const NoGradGuard no_grad;
  for (const Shape& shape : {Shape{0, 37}, Shape{2, 0, 37}}) {
    Shape wanted = shape;
    wanted[-1] = 11;
    EXPECT_EQ(small(empty(shape)).shape(), wanted);
  }
  const Tensor x = randn({37, 6});
  const Tensor y = small(x.t());
  EXPECT_LT(difference(y, net(x.t())), kError);
  EXPECT_TRUE(y.equal(small(x.t().contiguous())));
  EXPECT_EQ(amin(y).item(), 0);  // ReLU is in the same pass
  EXPECT_LT(difference(small(x.select(1, 3)), net(x.select(1, 3))), kError);
  EXPECT_LT(difference(small(zeros({2, 37})), net(zeros({2, 37}))), 1e-6);
  EXPECT_TRUE(small(x.t().contiguous().view({2, 3, 37})).equal(y.view({2, 3, 11})));
  const nn::LSTM lstm = nn::quantize_dynamic(nn::LSTM(5, 3));
  EXPECT_EQ(std::get<0>(lstm(empty({4, 0, 5}))).shape(), (Shape{4, 0, 3}));
}

TEST(QuantizeDynamic, UnderAnAutocastGuardLayersTakeHalves) {
  const NoGradGuard no_grad;
  Classifier net;
  nn::quantize_dynamic_(net);
  nn::LSTM lstm(5, 3);
  nn::quantize_dynamic_(lstm);
  const Tensor x = randn({4, 64}).to(bfloat16).to(float32), steps = randn({2, 4, 5});
  const Tensor y = net(x), states = std::get<0>(lstm(steps));
  const Autocast guard(bfloat16, {.force = true});
  EXPECT_TRUE(net(x).equal(y));
  EXPECT_TRUE(net(x.to(bfloat16)).equal(y));
  EXPECT_TRUE(std::get<0>(lstm(steps)).equal(states));
}

TEST(QuantizeDynamic, WritesByAddressAreSeen) {
  const NoGradGuard no_grad;
  nn::Linear layer(20, 4, {.bias = false});
  nn::quantize_dynamic_(layer);
  const Tensor x = randn({2, 20});
  EXPECT_NE(amax(abs(layer(x))).item(), 0);
  for (std::int8_t& value : layer.weight.span<std::int8_t>()) value = 0;
  EXPECT_EQ(amax(abs(layer(x))).item(), 0);
}

TEST(QuantizeDynamic, DigitsAreReadAsInFloat32) {
  struct Reader : nn::Module {
    nn::Linear fc1 = child("fc1", nn::Linear(784, 64)), fc2 = child("fc2", nn::Linear(64, 10));
    Tensor forward(const Tensor& images) override { return fc2(relu(fc1(images.flatten(1)))); }
  };
  manual_seed(1);
  Reader net;
  optim::Adam adam(net.parameters(), {.lr = 2e-3});
  data::DataLoader train(data::SyntheticDigits(4000), {.batch_size = 50, .shuffle = true});
  for (int epoch = 0; epoch < 4; ++epoch)
    for (auto& [images, labels] : train) {
      adam.zero_grad();
      nn::cross_entropy(net(images), labels).backward();
      adam.step();
    }
  constexpr std::int64_t kImages = 4000;
  const auto percent_right = [&](const nn::Module& model) {
    const NoGradGuard no_grad;
    double right = 0;
    data::DataLoader test(data::SyntheticDigits(kImages, {.first = 1'000'000}), {.batch_size = 500});
    for (auto& [images, labels] : test) right += sum(argmax(model(images), 1) == labels).item();
    return 100 * right / kImages;
  };
  const double before = percent_right(net), after = percent_right(nn::quantize_dynamic(net));
  EXPECT_GT(before, 85);
  EXPECT_NEAR(after, before, 0.2);
}

TEST(QuantizeDynamic, RecurrentLayers) {
  manual_seed(3);
  const Tensor x = randn({7, 2, 20});
  const NoGradGuard no_grad;
  nn::LSTM lstm(20, 40, {.num_layers = 2, .bidirectional = true}), projected(20, 40, {.proj_size = 24});
  nn::GRU gru(20, 40);
  const Tensor of_lstm = std::get<0>(lstm(x)), of_projected = std::get<0>(projected(x)), of_gru = std::get<0>(gru(x));
  nn::quantize_dynamic_(lstm);
  nn::quantize_dynamic_(projected);
  nn::quantize_dynamic_(gru);
  EXPECT_EQ(lstm.describe(), "LSTM(20, 40, 2 layers, bidirectional, int8)");
  EXPECT_EQ(lstm.state_dict().at("weight_hh_l1_reverse_scale").shape(), (Shape{160}));
  const auto close = [&](const Tensor& a, const Tensor& b) {
    EXPECT_LT(difference(a, b), 0.03);
    EXPECT_GT(difference(a, b), 0);
  };
  close(std::get<0>(lstm(x)), of_lstm);
  close(std::get<0>(projected(x)), of_projected);
  close(std::get<0>(gru(x)), of_gru);
  const nn::LSTM copy = nn::clone(lstm);
  EXPECT_TRUE(std::get<0>(copy(x)).equal(std::get<0>(lstm(x))));
  const auto [packed, h, c] = lstm(nn::pack_padded_sequence(x, {7, 4}));
  EXPECT_LT(difference(packed.padded.narrow(1, 0, 1), of_lstm.narrow(1, 0, 1)), 0.03);
}

TEST(QuantizeDynamic, TiedWeightsBecomeTwo) {
  struct Tied : nn::Module {
    nn::Embedding embedding = child("embedding", nn::Embedding(30, 16));
    nn::Linear out = child("out", nn::Linear(16, 30, false));
    Tied() { out.weight = embedding.weight; }
    Tensor forward(const Tensor& x) override { return out(embedding(x)); }
  } net;
  const Tensor words = arange(5, int64), before = net(words).detach();
  nn::quantize_dynamic_(net);
  EXPECT_EQ(net.embedding.weight.dtype(), float32);
  EXPECT_EQ(net.out.weight.dtype(), int8);
  EXPECT_LT(difference(net(words), before), kError);
  net.to(Device("sim")).to(Device("cpu"));
  EXPECT_EQ(net.embedding.weight.dtype(), float32);
  EXPECT_LT(difference(net(words), before), kError);
}

TEST(QuantizeDynamic, RunsOnOtherDevicesAndInCapturedSteps) {
  Classifier net;
  nn::quantize_dynamic_(net);
  const Tensor x = randn({4, 64}), y = net(x);
  net.to(Device("sim"));
  EXPECT_TRUE(net(x.to(Device("sim"))).cpu().equal(y));
  net.to(Device("cpu"));
  const Tensor into = empty({4, 10});
  CapturedStep step([&](const Tensor& in) { copy_(into, net(in)); }, {.device = Device()});
  for (int i = 0; i < 5; ++i) step(x);
  EXPECT_TRUE(into.equal(y));
}

TEST(QuantizeDynamic, WritesInACapturedStepAreSeen) {
  const NoGradGuard no_grad;
  nn::Linear layer(20, 4, {.bias = false});
  nn::quantize_dynamic_(layer);
  const Tensor x = randn({2, 20}), first = empty({2, 4}), second = empty({2, 4}), weight = layer.weight;
  CapturedStep step(
      [&](const Tensor& sign) {
        copy_(first, layer(x));
        copy_(weight, (weight * sign).to(int8));
        copy_(second, layer(x));
      },
      {.device = Device()});
  weight.clamp_(-100, 100);  // which have a negative
  const Tensor plus = layer(x);
  ASSERT_GT(amax(abs(plus)).item(), 0);
  for (int i = 0; i < 6; ++i) {
    step(full({}, -1, {.dtype = int8}));
    EXPECT_TRUE(first.equal(i % 2 ? -plus : plus)) << i;
    EXPECT_TRUE(second.equal(i % 2 ? plus : -plus)) << i;
    EXPECT_TRUE(layer(x).equal(second)) << i;
  }
}

TEST(QuantizeDynamic, FrozenPartsOfATrainedModel) {
  manual_seed(1);
  nn::Linear encoder(8, 6), head(6, 1);
  nn::quantize_dynamic_(encoder);
  optim::SGD sgd(head.parameters(), {.lr = 0.1});
  const Tensor x = randn({16, 8});
  const Tensor loss = mean(square(head(encoder(x)) - 1));
  loss.backward();
  sgd.step();
  EXPECT_LT(mean(square(head(encoder(x)) - 1)).item(), loss.item());
}

TEST(QuantizeDynamic, MisuseIsNamed) {
  Classifier net;
  nn::quantize_dynamic_(net);
  nn::Conv2d conv(1, 2, 3);
  nn::Linear half(3, 4), same(96, 10), wide(65537, 1), normed(3, 4);
  half.to(bfloat16);
  nn::weight_norm(normed);
  nn::Linear broken(3, 4);
  broken.weight.detach()(1, 2) = std::nan("");
  struct Sharing : nn::Module {
    nn::Linear a = child("a", nn::Linear(3, 4));
    nn::Parameter also = parameter("also", a.weight);
  } sharing;
  const Tensor grad = randn({2, 96}).requires_grad_();
  nn::LSTM lstm(3, 4);
  nn::quantize_dynamic_(lstm);
  expect_errors({
      Misuse{"ValueError", "quantize_dynamic_", "Classifier has no Linear, LSTM or GRU of float32",
             [&] { nn::quantize_dynamic_(net); }},
      Misuse{"ValueError", "quantize_dynamic", "Conv2d", [&] { (void)nn::quantize_dynamic(conv); }},
      Misuse{"DTypeError", "quantize_dynamic_", "bfloat16[4, 3]", [&] { nn::quantize_dynamic_(half); }},
      Misuse{"ValueError", "quantize_dynamic_", "at most 65536 inputs", [&] { nn::quantize_dynamic_(wide); }},
      Misuse{"ValueError", "quantize_dynamic_", "weight_norm", [&] { nn::quantize_dynamic_(normed); }},
      Misuse{"ValueError", "quantize_dynamic_", "the weight has NaN or infinity",
             [&] { nn::quantize_dynamic_(broken); }},
      Misuse{"ValueError", "quantize_dynamic_", "several modules hold the weight",
             [&] { nn::quantize_dynamic_(sharing); }},
      Misuse{"DTypeError", "to", "'body.0' is quantized to int8", [&] { net.to(bfloat16); }},
      Misuse{"DTypeError", "to", "'body.0' is quantized to int8", [&] { net.to(Device("cpu"), float64); }},
      Misuse{"AutogradError", "linear", "parameter 'head.weight'", [&] { net.head(grad); }},
      Misuse{"AutogradError", "lstm", "has no gradient",
             [&] {
               (void)lstm(randn({2, 1, 3}).requires_grad_());
             }},
      Misuse{"DTypeError", "linear", "takes float32", [&] { net.head(grad.detach().to(float64)); }},
      Misuse{"ShapeError", "linear", "the sizes do not match",
             [&] {
               net.head(randn({2, 63}));
             }},
  });
  EXPECT_EQ(sharing.a.weight.dtype(), float32);
  EXPECT_TRUE(half.weight.requires_grad());
  EXPECT_THROW(same.weight = net.head.weight, DTypeError);
  net.to(float32);
}

}  // namespace
}  // namespace minnow
