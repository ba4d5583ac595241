// benchmarks/workloads/networks.cpp on LibTorch.

#include <algorithm>
#include <cmath>
#include "workloads.h"

namespace bench {
namespace {

using torch::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

void fill_by_name(nn::Module& model) {
  const torch::NoGradGuard no_grad;
  auto named = model.named_parameters().pairs();
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint32_t seed = 100;
  for (auto& [name, p] : named) {
    const bool wide = p.dim() > 1;
    const Tensor values = formula(seed++, p.sizes(), wide ? 1 / std::sqrt(static_cast<double>(p[0].numel())) : 0.1);
    p.copy_(!wide && name.ends_with("weight") ? values + 1 : values);
  }
}

/// Steps of SGD on loss(); the losses of three are checked.
template <class Model, class Loss> void add_steps(Ready& ready, const std::string& variant, Model model, Loss loss) {
  const auto optimizer =
      std::make_shared<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  const auto step = [model, optimizer, loss]() mutable {
    const Tensor value = loss(model);
    optimizer->zero_grad();
    value.backward();
    optimizer->step();
    return value;
  };
  auto checked = step;
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(checked().template item<double>());
  if (ready.values.empty()) ready.values = losses;
  ready.variants.push_back({variant, step});
}

template <class Layer> void add_recurrent(std::vector<Workload>& list, const std::string& name) {
  const auto input = [](const Settings& s) { return s.quick ? formula(1, {5, 2, 16}) : formula(1, {100, 64, 512}); };
  list.push_back({name + "_forward", [=](const Settings& s) {
                    const Tensor x = input(s);
                    Layer layer(x.size(2), x.size(2));
                    fill_by_name(*layer);
                    return forward_only([net = layer.ptr(), x] { return std::get<0>(net->forward(x)); });
                  }});
  list.push_back({name + "_step", [=](const Settings& s) {
                    const Tensor x = input(s);
                    Layer layer(x.size(2), x.size(2));
                    fill_by_name(*layer);
                    Ready ready;
                    add_steps(ready, "", layer, [x](Layer& l) { return std::get<0>(l(x)).square().mean(); });
                    return ready;
                  }});
}

nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", conv(in, out, 3, stride))),
        conv2(register_module("conv2", conv(out, out, 3, 1))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))) {
    if (stride != 1 || in != out)
      downsample = register_module("downsample", nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out)));
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(y + (downsample ? downsample->forward(x) : x));
  }
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Sequential downsample = nullptr;
};
TORCH_MODULE(Block);

struct ResNetImpl : nn::Module {
  ResNetImpl(std::int64_t width, std::int64_t classes)
      : conv1(register_module("conv1", conv(3, width, 7, 2))),
        bn1(register_module("bn1", nn::BatchNorm2d(width))),
        fc(register_module("fc", nn::Linear(8 * width, classes))) {
    std::int64_t in = width, out = width;
    for (int i = 0; i < 4; ++i, in = out, out *= 2)
      layers.push_back(register_module("layer" + std::to_string(i + 1),
                                       nn::Sequential(Block(in, out, i ? 2 : 1), Block(out, out, 1))));
  }
  Tensor forward(const Tensor& images) {
    Tensor x = torch::max_pool2d(torch::relu(bn1(conv1(images))), 3, 2, 1);
    for (auto& layer : layers) x = layer->forward(x);
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Linear fc;
  std::vector<nn::Sequential> layers;
};
TORCH_MODULE(ResNet);

Ready resnet(const Settings& s) {
  const std::int64_t n = s.quick ? 2 : 16, side = s.quick ? 32 : 64;
  const Tensor labels = torch::arange(n) * 7 % 10;
  Ready ready;
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    ResNet model(s.quick ? 4 : 64, 10);
    fill_by_name(*model);
    for (Tensor& p : model->parameters())
      if (p.dim() == 4) p.set_data(p.contiguous(format));
    const Tensor images = formula(1, {n, 3, side, side}).contiguous(format);
    add_steps(ready, format == torch::MemoryFormat::Contiguous ? "NCHW" : "NHWC", model,
              [=](ResNet& net) { return F::cross_entropy(net(images), labels); });
  }
  return ready;
}

/// GPT-2's linear map, whose weight is [in, out].
struct Conv1DImpl : nn::Module {
  Conv1DImpl(std::int64_t in, std::int64_t out)
      : weight(register_parameter("weight", torch::empty({in, out}))),
        bias(register_parameter("bias", torch::empty({out}))) {}
  Tensor forward(const Tensor& x) { return torch::linear(x, weight.t(), bias); }
  Tensor weight, bias;
};
TORCH_MODULE(Conv1D);

struct PairImpl : nn::Module {
  PairImpl(const char* first, Conv1D a, const char* second, Conv1D b)
      : in(register_module(first, std::move(a))), out(register_module(second, std::move(b))) {}
  Conv1D in, out;
};
TORCH_MODULE(Pair);

struct LayerImpl : nn::Module {
  LayerImpl(std::int64_t width, std::int64_t head_count)
      : heads(head_count),
        ln_1(register_module("ln_1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        ln_2(register_module("ln_2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        attn(register_module("attn", Pair("c_attn", Conv1D(width, 3 * width), "c_proj", Conv1D(width, width)))),
        mlp(register_module("mlp", Pair("c_fc", Conv1D(width, 4 * width), "c_proj", Conv1D(4 * width, width)))) {}
  Tensor forward(const Tensor& given) {
    const Tensor qkv =
        attn->in(ln_1(given)).view({given.size(0), given.size(1), 3, heads, -1}).permute({2, 0, 3, 1, 4});
    const Tensor y = torch::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0, true);
    const Tensor x = given + attn->out(y.transpose(1, 2).flatten(2));
    return x + mlp->out(torch::gelu(mlp->in(ln_2(x)), "tanh"));
  }
  std::int64_t heads;
  nn::LayerNorm ln_1, ln_2;
  Pair attn, mlp;
};
TORCH_MODULE(Layer);

struct GptImpl : nn::Module {
  GptImpl(std::int64_t words, std::int64_t length, std::int64_t width, std::int64_t count, std::int64_t heads) {
    auto body = register_module("transformer", std::make_shared<nn::Module>());
    wte = body->register_module("wte", nn::Embedding(words, width));
    wpe = body->register_module("wpe", nn::Embedding(length, width));
    auto h = body->register_module("h", std::make_shared<nn::Module>());
    for (std::int64_t i = 0; i < count; ++i)
      layers.push_back(h->register_module(std::to_string(i), Layer(width, heads)));
    ln_f = body->register_module("ln_f", nn::LayerNorm(nn::LayerNormOptions({width})));
  }
  Tensor forward(const Tensor& tokens) {
    Tensor x = wte(tokens) + wpe(torch::arange(tokens.size(1)));
    for (Layer& layer : layers) x = layer(x);
    return torch::linear(ln_f(x), wte->weight);
  }
  nn::Embedding wte = nullptr, wpe = nullptr;
  nn::LayerNorm ln_f = nullptr;
  std::vector<Layer> layers;
};
TORCH_MODULE(Gpt);

Ready gpt(const Settings& s) {
  const std::int64_t n = s.quick ? 2 : 8, length = s.quick ? 8 : 256, words = 256;
  Gpt model = s.quick ? Gpt(words, length, 24, 2, 2) : Gpt(words, length, 384, 6, 6);
  fill_by_name(*model);
  const Tensor places = torch::arange(n * length), tokens = (places * places * 31).remainder(words).view({n, length});
  const Tensor next = ((places + 1) * (places + 1) * 31).remainder(words);
  Ready ready;
  add_steps(ready, "", model, [=](Gpt& net) { return F::cross_entropy(net(tokens).view({-1, words}), next); });
  return ready;
}

}  // namespace

std::vector<Workload> network_workloads() {
  std::vector<Workload> list;
  add_recurrent<nn::LSTM>(list, "lstm");
  add_recurrent<nn::GRU>(list, "gru");
  list.push_back({"resnet18_step", resnet});
  list.push_back({"gpt_step", gpt});
  return list;
}

}  // namespace bench
