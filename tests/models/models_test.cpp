#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <minnow/minnow.h>

#include "../../examples/models/bert.h"
#include "../../examples/models/gpt2.h"
#include "../../examples/models/mobilenet.h"
#include "../../examples/models/resnet.h"
#include "../../examples/models/vgg.h"
#include "../../examples/models/vit.h"
#include "devices.h"
#include "formula.h"
#include "golden.h"
#include "sanitizer.h"

namespace minnow::test {
namespace {

/// The floating-point tensors of a module in the order of their names.
std::map<std::string, Tensor> state_of(const nn::Module& model) {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : model.state_dict())
    if (tensor.is_floating_point()) state.emplace(name, tensor.detach().to(float32).cpu().clone());
  return state;
}

class Models : public DeviceTest {
 protected:
  /// With the weights of the formula the model gives the results of its maker's, and has its weights after a step.
  /// run(): the outputs; loss(outputs): what is trained; before_training() is called between.
  template <class Run, class Loss>
  void expect_as_its_maker(
      const std::string& name, nn::Module& model, double lr, double gain, const Run& run, const Loss& loss,
      const std::function<void()>& before_training = [] {}) {
    const Book book("models", device());
    model.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : model.state_dict())
      weights.set(key, tensor.is_floating_point() ? weight(key, tensor.shape(), gain) : tensor);
    model.load_state_dict(weights);
    {
      const NoGradGuard no_grad;
      model.eval();
      const std::vector<Tensor> outputs = run();
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string what = name + "/out" + std::to_string(i);
        expect_close(outputs[i], book[what], what, {1e-5, 1e-5});
      }
    }
    before_training();
    model.train();
    const auto before = state_of(model);
    optim::SGD sgd(model.parameters(), {.lr = lr, .momentum = 0.9, .weight_decay = 1e-3});
    const Tensor value = loss(run());
    expect_close(value.to(float32), book[name + "/loss"], name + "/loss", {1e-5, 1e-5});
    value.backward();
    sgd.step();
    expect_state(name, book, before, state_of(model));
  }

  static void expect_state(const std::string& name, const Book& book, const std::map<std::string, Tensor>& before,
                           const std::map<std::string, Tensor>& after) {
    std::string names;
    for (const auto& [key, t] : after) names += key + ' ' + t.shape().str() + '\n';
    ASSERT_EQ(fnv1a(names), book[name + "/names"].item<std::uint32_t>()) << "other names or shapes than the maker's:\n"
                                                                         << names;
    const Tensor samples = book[name + "/after"].cpu(), changes = book[name + "/changes"].cpu();
    const std::int64_t count = samples.size(1);
    ASSERT_EQ(samples.size(0), static_cast<std::int64_t>(after.size()));
    std::int64_t row = 0;
    for (const auto& [key, t] : after) {
      const float *const now = t.data<float>(), *const old = before.at(key).data<float>();
      const float* const want = samples[row].data<float>();
      for (std::int64_t k = 0; k < count; ++k)
        EXPECT_NEAR(now[k * t.numel() / count], want[k], 1e-4) << name << ' ' << key << ", sample " << k;
      // Of all elements: 1e-4 of the norm of the change, and what rounding of the weights makes of it.
      double norm = 0, product = 0, largest = 0;
      const std::uint32_t hash = fnv1a("probe." + key);
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        const double change = static_cast<double>(now[i]) - old[i];
        norm += change * change;
        product += change * static_cast<float>(2 * uniform(hash, i) - 1);
        largest = std::max<double>(largest, std::abs(now[i]));
      }
      norm = std::sqrt(norm);
      const auto* const wanted = changes[row++].data<float>();
      const double tolerance = 1e-4 * wanted[0] + 1e-7 * largest * std::sqrt(static_cast<double>(t.numel()));
      EXPECT_NEAR(norm, wanted[0], tolerance) << name << ' ' << key;
      EXPECT_NEAR(product, wanted[1], 3 * tolerance) << name << ' ' << key;
    }
  }

  void expect_images(const std::string& name, nn::Module& model, std::int64_t size, double gain = 6, double lr = 0.1) {
    if (!kSpeedCounts) GTEST_SKIP() << "a sanitizer takes minutes: the small ones show the same";
    if (!device().is_cpu()) GTEST_SKIP() << "the whole ones run on the CPU: see Models.SmallOnesAgreeWithTheCpu";
    Tensor images = symmetric("images", {4, 3, size, size}).to(device());
    const Tensor labels = integers("labels", 1000, {4}).to(device());
    expect_as_its_maker(
        name, model, lr, gain, [&] { return std::vector<Tensor>{model(images)}; },
        [&](const std::vector<Tensor>& out) { return nn::cross_entropy(out[0], labels); },
        [&] {  // in float32 rounding decides on the gradients of inputs of relu that are almost 0
          model.to(float64);
          images = images.to(float64);
        });
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Models, all_devices(), device_test_name);

TEST_P(Models, GPT2LMHeadModel) {
  models::GPT2LMHeadModel model(
      {.vocab_size = 96, .n_positions = 32, .n_embd = 48, .n_layer = 3, .n_head = 4, .dropout = 0});
  const Tensor tokens = integers("tokens", 96, {2, 24}).to(device());
  expect_as_its_maker(
      "gpt2", model, 0.1, 6, [&] { return std::vector<Tensor>{model(tokens)}; },
      [&](const std::vector<Tensor>& out) {
        return nn::cross_entropy(out[0](all, slice(0, -1)).flatten(0, 1), tokens(all, slice(1)).flatten());
      });
}

TEST_P(Models, Gpt2OfHuggingFacesFile) {
  const Book book("models", device());
  models::GPT2LMHeadModel model({.vocab_size = 40, .n_positions = 16, .n_embd = 16, .n_layer = 2, .n_head = 2});
  model.load_weights(std::string(MINNOW_TEST_DIR) + "/golden/gpt2_weights.safetensors");
  model.to(device()).eval();
  const NoGradGuard no_grad;
  Tensor tokens = integers("tokens", 39, {1, 5}).to(device());
  while (tokens.size(1) < 16) tokens = cat({tokens, argmax(model(tokens)(all, -1), -1, true)}, 1);
  expect_close(tokens, book["gpt2_file/continued"], "gpt2_file/continued");
  expect_close(model.generate(tokens(all, slice(0, 5)), 11), book["gpt2_file/continued"], "with a cache");
}

TEST_P(Models, Gpt2WithAKVCacheGivesTheSame) {
  models::GPT2LMHeadModel model(
      {.vocab_size = 96, .n_positions = 100, .n_embd = 48, .n_layer = 3, .n_head = 4, .dropout = 0.5});
  model.to(device()).eval();
  const Tensor tokens = integers("tokens", 96, {2, 90}).to(device());
  const NoGradGuard no_grad;
  const Tensor whole = model(tokens);
  models::KVCache cache;
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < 90;) {  // the prompt, then one at a time, then several, past the first room
    const std::int64_t count = at == 0 ? 7 : at < 40 ? 1 : std::min<std::int64_t>(25, 90 - at);
    parts.push_back(model(tokens(all, slice(at, at + count)), cache));
    at += count;
    EXPECT_EQ(cache.length(), at);
  }
  expect_close(cat(parts, 1), whole, "logits", {1e-4, 1e-4});
  EXPECT_THROW((void)model(tokens(all, slice(0, 11)), cache), ValueError);
  EXPECT_THROW((void)model(tokens(slice(0, 1), slice(0, 1)), cache), ValueError);
  EXPECT_EQ(cache.length(), 90);
  Tensor continued = tokens(all, slice(0, 5));
  for (int i = 0; i < 20; ++i) continued = cat({continued, argmax(model(continued)(all, -1), -1, true)}, 1);
  EXPECT_TRUE(model.generate(tokens(all, slice(0, 5)), 20).equal(continued));
}

TEST_P(Models, BertModel) {
  models::BertModel model({.vocab_size = 96,
                           .hidden_size = 48,
                           .num_hidden_layers = 3,
                           .num_attention_heads = 4,
                           .intermediate_size = 80,
                           .max_position_embeddings = 32,
                           .dropout = 0});
  const Tensor tokens = integers("tokens", 96, {2, 24}).to(device());
  const Tensor types = integers("types", 2, {2, 24}).to(device());
  Tensor mask = ones({2, 24}, {int64, device()});
  mask(1, slice(17)) = 0;
  const Tensor probe = symmetric("probe", {2, 24, 48}).to(device());
  expect_as_its_maker(
      "bert", model, 1, 6,
      [&] {
        const auto [states, pooled] = model(tokens, mask, types);
        return std::vector<Tensor>{states, pooled};
      },
      [&](const std::vector<Tensor>& out) { return mean(out[0] * probe) + mean(out[1] * out[1]); });
}

TEST_P(Models, Resnet18) {
  models::ResNet model;
  expect_images("resnet18", model, 64, 3);
}

TEST_P(Models, MobilenetV2) {
  models::MobileNetV2 model({.dropout = 0});
  expect_images("mobilenet_v2", model, 64, 3, 0.02);
}

TEST_P(Models, Vgg11Bn) {
  models::VGG model({.hidden = 256, .dropout = 0});
  expect_images("vgg11_bn", model, 32);
}

TEST_P(Models, VitB16) {
  models::VisionTransformer model({.image_size = 64, .num_layers = 3});
  expect_images("vit_b_16", model, 64);
}

/// What a GPU computes of the others.
TEST_P(Models, SmallOnesAgreeWithTheCpu) {
  if (device().is_cpu()) GTEST_SKIP() << "the CPU's results are compared with PyTorch's";
  const auto expect_same = [&](const std::string& name, auto model) {
    const Tensor images = symmetric("images", {2, 3, 32, 32}), labels = integers("labels", 10, {2});
    const auto copy = nn::clone(model);
    model.to(device());
    const Tensor want = copy(images), got = model(images.to(device()));
    expect_close(got.cpu(), want.detach(), name, {1e-4, 1e-4});
    nn::cross_entropy(want, labels).backward();
    nn::cross_entropy(got, labels.to(device())).backward();
    const auto wanted = copy.named_parameters(), parameters = model.named_parameters();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tensor grad = wanted[i].tensor.grad(), other = parameters[i].tensor.grad().cpu();
      EXPECT_LE((other - grad).norm().item(), 1e-3 * grad.norm().item() + 1e-5) << name << ' ' << wanted[i].name;
    }
  };
  expect_same("resnet", models::ResNet({1, 1, 1, 1}, {.num_classes = 10, .width = 8}));
  models::MobileNetV2 mobile({.num_classes = 10, .width_mult = 0.1, .dropout = 0});
  mobile.eval();  // two images are too few for its norms
  expect_same("mobilenet", mobile);
  expect_same("vgg", models::VGG({.layers = {8, 0, 16, 0, 0}, .hidden = 16, .num_classes = 10, .dropout = 0}));
  expect_same(
      "vit",
      models::VisionTransformer(
          {.image_size = 32, .num_layers = 2, .num_heads = 2, .hidden_dim = 16, .mlp_dim = 32, .num_classes = 10}));
}

}  // namespace
}  // namespace minnow::test
