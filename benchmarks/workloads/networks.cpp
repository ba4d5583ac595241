// Whole networks, and the layers that they spend their time in.

#include <algorithm>
#include <cmath>
#include <memory>
#include <minnow/minnow.h>
#include "models/gpt2.h"
#include "models/resnet.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// Parameters by formula, in the order of their names: weights uniform in ±1 / sqrt(inputs), those of norms around 1.
void fill_by_name(const Settings& s, nn::Module& model) {
  model.to(Device(s.device));
  const NoGradGuard no_grad;
  auto named = model.named_parameters();
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::uint32_t seed = 100;
  for (const auto& [name, p] : named) {
    const bool wide = p.dim() > 1;
    const Tensor values =
        formula(s, seed++, p.shape(), wide ? 1 / std::sqrt(static_cast<double>(p.numel() / p.size(0))) : 0.1);
    copy_(p, !wide && name.ends_with("weight") ? values + 1 : values);
  }
}

/// Rows of both kinds of devices have the sizes of papers on a GPU.
bool on_gpu(const Settings& s) { return s.device != "cpu"; }

/// Steps of an optimizer on loss(); the losses of three are checked.
template <class Optimizer = optim::SGD, class Options = optim::SGDOptions, class Model, class Loss>
Ready steps(const Settings& s, Model model, Loss loss, Options options = {.lr = 0.01, .momentum = 0.9}) {
  fill_by_name(s, model);
  const auto optimizer = std::make_shared<Optimizer>(model.parameters(), options);
  const auto step = [model, optimizer, loss]() mutable {
    const Tensor value = loss(model);
    optimizer->zero_grad();
    value.backward();
    optimizer->step();
    return value;
  };
  Ready ready{{{"", step}}, {}};
  auto checked = step;
  for (int i = 0; i < 3; ++i) ready.values.push_back(checked().item());
  return ready;
}

/// The sequence of a recurrent layer, and a step that makes its outputs small.
template <class Layer> void add_recurrent(std::vector<Workload>& list, const std::string& name) {
  const auto input = [](const Settings& s) {
    return s.quick ? formula(s, 1, {5, 2, 16}) : formula(s, 1, {100, on_gpu(s) ? 32 : 64, 512});
  };
  list.push_back({name + "_forward",
                  [=](const Settings& s) {
                    const Tensor x = input(s);
                    Layer layer(x.size(2), x.size(2));
                    fill_by_name(s, layer);
                    return forward_only([layer, x] { return std::get<0>(layer(x)); });
                  },
                  For::kCpu});
  list.push_back({name + "_step", [=](const Settings& s) {
                    const Tensor x = input(s);
                    return steps(s, Layer(x.size(2), x.size(2)),
                                 [x](const Layer& layer) { return mean(square(std::get<0>(layer(x)))); });
                  }});
}

Ready resnet(const Settings& s) {
  const std::int64_t n = s.quick ? 2 : on_gpu(s) ? 64 : 16, side = s.quick ? 32 : on_gpu(s) ? 224 : 64;
  models::ResNet model({2, 2, 2, 2}, {.num_classes = 10, .width = s.quick ? 4 : 64});
  const Tensor images = formula(s, 1, {n, 3, side, side}), labels = (arange(n, int64) * 7 % 10).to(Device(s.device));
  return steps(s, model, [=](const models::ResNet& net) { return nn::cross_entropy(net(images), labels); });
}

/// Two convolutions with norms.
nn::Sequential two_convolutions(std::int64_t in, std::int64_t out) {
  return nn::Sequential(nn::Conv2d(in, out, 3, {.padding = 1, .bias = false}), nn::BatchNorm2d(out), nn::ReLU(),
                        nn::Conv2d(out, out, 3, {.padding = 1, .bias = false}), nn::BatchNorm2d(out), nn::ReLU());
}

/// Ronneberger et al. 2015, with four sizes of images and norms.
struct UNet : nn::Module {
  std::vector<nn::Sequential> down, join;
  std::vector<nn::ConvTranspose2d> up;
  nn::Conv2d head;

  UNet(std::int64_t width, std::int64_t classes) : head(child("head", nn::Conv2d(width, classes, 1))) {
    for (std::int64_t i = 0, in = 1; i < 4; ++i, in = width, width *= 2)
      down.push_back(child("down" + std::to_string(i), two_convolutions(in, width)));
    for (std::int64_t i = 0; i < 3; ++i) {
      width /= 2;
      up.push_back(child("up" + std::to_string(i), nn::ConvTranspose2d(width, width / 2, 2, {.stride = 2})));
      join.push_back(child("join" + std::to_string(i), two_convolutions(width, width / 2)));
    }
  }

  Tensor forward(const Tensor& images) override {
    std::vector<Tensor> skips;
    Tensor x = down[0](images);
    for (std::size_t i = 1; i < down.size(); ++i) {
      skips.push_back(x);
      x = down[i](max_pool2d(x, 2));
    }
    for (std::size_t i = 0; i < up.size(); ++i) x = join[i](cat({up[i](x), skips[skips.size() - 1 - i]}, 1));
    return head(x);
  }
};

Ready unet(const Settings& s, bool amp) {
  const std::int64_t n = s.quick ? 2 : 8, side = s.quick ? 16 : 96;
  const Tensor images = formula(s, 1, {n, 1, side, side});
  const Tensor labels = (arange(n * side * side, int64) * 7 % 3).view({n, side, side}).to(Device(s.device));
  return steps<optim::AdamW>(
      s, UNet(s.quick ? 4 : 32, 3),
      [=](const UNet& net) {
        const Autocast guard(bfloat16, {.enabled = amp});
        return nn::cross_entropy(net(images), labels);
      },
      optim::AdamWOptions{.lr = 1e-3});
}

/// `amp`: in bfloat16, under a guard.
Ready gpt(const Settings& s, bool amp) {
  const std::int64_t n = s.quick ? 2 : 8, length = s.quick ? 8 : 256, words = 256;
  const models::GPT2Options small{
      .vocab_size = words, .n_positions = length, .n_embd = 24, .n_layer = 2, .n_head = 2, .dropout = 0};
  const models::GPT2Options full{
      .vocab_size = words, .n_positions = length, .n_embd = 384, .n_layer = 6, .n_head = 6, .dropout = 0};
  const Tensor places = arange(n * length, int64), tokens = (places * places * 31 % words).view({n, length});
  const Tensor next = ((places + 1) * (places + 1) * 31 % words).to(Device(s.device));
  return steps(s, models::GPT2LMHeadModel(s.quick ? small : full),
               [x = tokens.to(Device(s.device)), next, amp](const models::GPT2LMHeadModel& model) {
                 const Autocast guard(bfloat16, {.enabled = amp});
                 return nn::cross_entropy(model(x).view({-1, words}), next);
               });
}

/// GPT-2 of Hugging Face's size (124 million parameters).
models::GPT2Options gpt2(const Settings& s) {
  if (s.quick) return {.vocab_size = 256, .n_positions = 32, .n_embd = 24, .n_layer = 2, .n_head = 2, .dropout = 0};
  return {.dropout = 0};
}

Tensor tokens_of(const models::GPT2Options& options, std::int64_t n, std::int64_t length) {
  const Tensor places = arange(n * length, int64);
  return (places * places * 31 % options.vocab_size).view({n, length});
}

Ready gpt2_train(const Settings& s, bool amp) {
  const models::GPT2Options options = gpt2(s);
  const std::int64_t n = on_gpu(s) ? 8 : 4, length = s.quick ? 8 : on_gpu(s) ? 1024 : 64;
  const Tensor tokens = tokens_of(options, n, length + 1).to(Device(s.device));
  return steps<optim::AdamW>(
      s, models::GPT2LMHeadModel(options),
      [x = tokens(all, slice(0, -1)).contiguous(), next = tokens(all, slice(1)).flatten(), words = options.vocab_size,
       amp](const models::GPT2LMHeadModel& model) {
        const Autocast guard(bfloat16, {.enabled = amp});
        return nn::cross_entropy(model(x).view({-1, words}), next);
      },
      optim::AdamWOptions{.lr = 1e-4});
}

/// 64 tokens behind a prompt of 16, each the most probable one.
Ready gpt2_generate(const Settings& s) {
  const models::GPT2Options options = gpt2(s);
  models::GPT2LMHeadModel model(options);
  fill_by_name(s, model);
  model.eval();
  const NoGradGuard no_grad;
  const Tensor prompt = tokens_of(options, 1, s.quick ? 4 : 16).to(Device(s.device));
  const auto run = [model, prompt, count = s.quick ? 16 : 64] { return model.generate(prompt, count); };
  Ready ready{{{"", run}}, digest(model(prompt))};
  for (const double token : run().to(Device("cpu")).to(float64).flatten().to_vector<double>())
    ready.values.push_back(token);
  ready.values.resize(ready.values.size() / 9 * 9);  // by nines, as digests are compared
  return ready;
}

Ready int8_linear(const Settings& s) {
  const std::int64_t n = s.quick ? 64 : 1024;
  nn::Linear layer(n, n);
  fill_by_name(s, layer);
  nn::quantize_dynamic_(layer);
  return forward_only([layer, x = formula(s, 1, {32, n})] { return layer(x); });
}

}  // namespace

std::vector<Workload> network_workloads() {
  std::vector<Workload> list;
  add_recurrent<nn::LSTM>(list, "lstm");
  add_recurrent<nn::GRU>(list, "gru");
  list.push_back({"resnet18_step", resnet});
  list.push_back({"unet_step", [](const Settings& s) { return unet(s, false); }, For::kCpu});
  list.push_back({"unet_step_bf16", [](const Settings& s) { return unet(s, true); }, For::kCpu});
  list.push_back({"gpt_step", [](const Settings& s) { return gpt(s, false); }, For::kCpu});
  list.push_back({"gpt_step_bf16", [](const Settings& s) { return gpt(s, true); }, For::kCpu});
  list.push_back({"gpt2_train", [](const Settings& s) { return gpt2_train(s, false); }, For::kCpu});
  list.push_back({"gpt2_train_bf16", [](const Settings& s) { return gpt2_train(s, true); }});
  list.push_back({"gpt2_generate_64", gpt2_generate, For::kCpu});
  list.push_back({"int8_linear", int8_linear, For::kCpu});
  return list;
}

}  // namespace bench
