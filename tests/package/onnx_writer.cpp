// Writes models that onnx_test.py runs: onnx_writer FOLDER [PREFIX].  NAME.onnx, and for some sizes NAME.SIZE.npz with
// inputs and outputs.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

#include "../../examples/models/bert.h"
#include "../../examples/models/gpt2.h"
#include "../../examples/models/mnist.h"
#include "../../examples/models/mobilenet.h"
#include "../../examples/models/resnet.h"
#include "../../examples/models/vgg.h"
#include "../../examples/models/vit.h"

using namespace minnow;

namespace {

using Inputs = std::vector<Tensor>;
using Make = std::function<Inputs(std::int64_t batch)>;

std::string folder, only;

bool is_wanted(const std::string& name) { return name.compare(0, only.size(), only) == 0; }

/// What a step of SGD makes of the parameters, by their names, and the gradients of the inputs, "input 0", ...
std::map<std::string, Tensor> step(const nn::Module& net, const onnx::Forward& forward, const Inputs& given) {
  Inputs inputs;
  for (const Tensor& x : given) inputs.push_back(x.is_floating_point() ? x.clone().requires_grad_() : x);
  Tensor loss = zeros({});
  for (const Tensor& y : forward(inputs))
    if (y.is_floating_point()) loss = loss + y.square().mean();
  std::map<std::string, Tensor> found;
  if (!loss.requires_grad()) return found;
  loss.backward();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].grad().defined()) found["input " + std::to_string(i)] = inputs[i].grad();
  const NoGradGuard no_grad;
  for (const auto& [parameter, p] : net.named_parameters())
    if (p.grad().defined()) found[parameter] = p.sub_(p.grad() * 0.1);
  return found;
}

/// The first difference between a step of the model and one of that which was loaded again; empty if there is none.
std::string step_fault(const std::string& name, const nn::Module& net, const onnx::Forward& forward, onnx::Model loaded,
                       const Inputs& inputs) {
  std::map<std::string, Tensor> wanted;
  try {
    wanted = step(net, forward, inputs);
  } catch (const AutogradError&) { return ""; }  // int8
  const auto again = [&](std::span<const Tensor> x) { return loaded.forward(Inputs(x.begin(), x.end())); };
  const std::map<std::string, Tensor> got = step(loaded, again, inputs);
  // Recurrent layers have their gates in another order, and a constant in place of weight_norm's two.
  const std::string kind = name.substr(0, 3);
  const bool has_others = kind == "lst" || kind == "gru" || kind == "rnn" || kind == "wei";
  for (const auto& [key, value] : wanted) {
    const auto found = got.find(key);
    if (found != got.end() && !allclose(found->second, value, 1e-5, 1e-5, true)) return key + " differs after a step";
    if (found == got.end() && !has_others) return key + " has no gradient when it is loaded again";
  }
  return "";
}

using Fault = std::function<void(std::string)>;

/// Inputs and outputs for some sizes, which the loaded model computes too.
void write_cases(const std::string& path, const onnx::Forward& forward, const Make& make,
                 const std::optional<onnx::Model>& loaded, const Fault& fault) {
  const NoGradGuard no_grad;
  for (const std::int64_t batch : {1, 2, 7}) {
    const Inputs inputs = make(batch);
    const std::vector<Tensor> outputs = forward(inputs);
    StateDict values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values.set("in" + std::to_string(i), inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) values.set("out" + std::to_string(i), outputs[i]);
    save(values, path + "." + std::to_string(batch) + ".npz");
    if (!loaded) continue;
    try {
      const std::vector<Tensor> again = (*loaded)(inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (again[i].shape() != outputs[i].shape() || !allclose(again[i], outputs[i], 1e-5, 1e-5, true))
          fault("loaded again, output " + std::to_string(i) + " differs: " + again[i].shape().str());
    } catch (const Error& e) { fault(e.what()); }
  }
}

void write(const std::string& name, const nn::Module& net, const onnx::Forward& forward, const Make& make,
           const onnx::SaveOptions& options) {
  if (!is_wanted(name)) return;
  const std::string path = folder + "/" + name;
  const Fault fault = [&](std::string text) {
    std::replace(text.begin(), text.end(), '\n', ';');
    std::printf("%s: %s\n", name.c_str(), text.c_str());
  };
  std::optional<onnx::Model> loaded;
  try {
    onnx::save(net, make(2), forward, path + ".onnx", options);
    loaded.emplace(onnx::load(path + ".onnx"));
  } catch (const Error& e) {
    fault(e.what());
    if (!std::filesystem::exists(path + ".onnx")) return;
  }
  write_cases(path, forward, make, loaded, fault);
  if (!loaded) return;
  try {
    const std::string text = step_fault(name, net, forward, *loaded, make(3));
    if (!text.empty()) fault(text);
  } catch (const Error& e) { fault(e.what()); }
}

/// A module of one tensor.
template <class M> void layer(const std::string& name, M net, const Make& make, const onnx::SaveOptions& options = {}) {
  net.eval();
  write(
      name, net, [&](std::span<const Tensor> x) -> Inputs { return {net(x[0])}; }, make, options);
}
template <class M> void layer(const std::string& name, M net, const Shape& one, const onnx::SaveOptions& options = {}) {
  layer(
      name, net,
      [&](std::int64_t batch) -> Inputs {
        Shape shape = one;
        shape.insert(0, batch);
        return {randn(shape)};
      },
      options);
}

/// A function of one tensor, or of several.
void function(const std::string& name, const std::function<Tensor(const Tensor&)>& f, const Shape& one) {
  write(
      name, nn::Identity().eval(), [&](std::span<const Tensor> x) -> Inputs { return {f(x[0])}; },
      [&](std::int64_t batch) -> Inputs {
        Shape shape = one;
        shape.insert(0, batch);
        return {randn(shape)};
      },
      {});
}

void layers() {
  layer("linear", nn::Linear(5, 3), {5});
  layer("linear_3d", nn::Linear(5, 3), {4, 5});
  layer("linear_no_bias", nn::Linear(5, 3, {.bias = false}), {5});
  layer("mlp", nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4), nn::Softmax(-1)), {8});
  layer("conv1d", nn::Conv1d(3, 4, 3, {.padding = 1}), {3, 10});
  layer("conv2d", nn::Conv2d(3, 4, 3, {.stride = 2, .padding = 1}), {3, 9, 9});
  layer("conv2d_groups", nn::Conv2d(4, 8, {3, 2}, {.dilation = {2, 1}, .groups = 2}), {4, 9, 8});
  layer("conv2d_same", nn::Conv2d(3, 4, 4, {.padding = Padding::same}), {3, 9, 9});
  layer("conv3d", nn::Conv3d(2, 3, 3, {.padding = 1}), {2, 5, 6, 7});
  layer("conv_transpose1d", nn::ConvTranspose1d(3, 4, 3, {.stride = 2}), {3, 6});
  layer("conv_transpose2d", nn::ConvTranspose2d(3, 4, 3, {.stride = 2, .padding = 1, .output_padding = 1}), {3, 6, 5});
  layer("conv_transpose3d", nn::ConvTranspose3d(2, 3, 2, {.stride = 2}), {2, 3, 4, 3});
  layer("max_pool1d", nn::MaxPool1d(2), {3, 9});
  layer("max_pool2d", nn::MaxPool2d(3, {.stride = 2, .padding = 1}), {3, 9, 8});
  layer("max_pool2d_ceil", nn::MaxPool2d(3, {.stride = 2, .ceil_mode = true}), {3, 8, 8});
  layer("max_pool3d", nn::MaxPool3d(2), {2, 4, 6, 5});
  layer("avg_pool1d", nn::AvgPool1d(2), {3, 9});
  layer("avg_pool2d", nn::AvgPool2d(3, {.stride = 2, .padding = 1}), {3, 9, 8});
  layer("avg_pool2d_exclude", nn::AvgPool2d(3, {.stride = 2, .padding = 1, .count_include_pad = false}), {3, 9, 8});
  layer("avg_pool3d", nn::AvgPool3d(2), {2, 4, 6, 5});
  layer("lp_pool2d", nn::LPPool2d(2, 2), {2, 4, 6});
  layer("adaptive_avg_pool1d", nn::AdaptiveAvgPool1d(3), {3, 8});
  layer("adaptive_avg_pool2d", nn::AdaptiveAvgPool2d(1), {3, 8, 7});
  layer("adaptive_avg_pool2d_even", nn::AdaptiveAvgPool2d(2), {3, 8, 6});
  layer("adaptive_avg_pool2d_uneven", nn::AdaptiveAvgPool2d({3, 5}), {3, 8, 7});
  layer("adaptive_avg_pool3d", nn::AdaptiveAvgPool3d(2), {2, 5, 4, 6});
  layer("adaptive_max_pool2d", nn::AdaptiveMaxPool2d(2), {3, 8, 6});
  nn::BatchNorm2d norm(4);
  (void)norm(randn({16, 4, 5, 5}) * 3 + 1);
  layer("batch_norm2d", norm, {4, 5, 5});
  layer("batch_norm1d", nn::BatchNorm1d(4), {4});
  layer("batch_norm3d", nn::BatchNorm3d(2, {.affine = false}), {2, 3, 3, 3});
  layer("layer_norm", nn::LayerNorm(6), {5, 6});
  layer("layer_norm_plain", nn::LayerNorm({5, 6}, {.elementwise_affine = false}), {5, 6});
  layer("rms_norm", nn::RMSNorm(6), {5, 6});
  layer("rms_norm_23", nn::RMSNorm(6), {5, 6}, {.opset = 23});
  layer("external", nn::Linear(40, 20), {40}, {.external_data = true});
  layer("group_norm", nn::GroupNorm(2, 6), {6, 4, 5});
  layer("instance_norm1d", nn::InstanceNorm(3), {3, 7});
  layer("instance_norm2d", nn::InstanceNorm(3, {.affine = true}), {3, 7, 5});
  layer("local_response_norm", nn::LocalResponseNorm(5), {7, 4, 4});
  layer("prelu", nn::PReLU(3), {3, 5});
  layer("weight_norm",
        [] {
          nn::Linear linear(5, 3);
          nn::weight_norm(linear);
          return linear;
        }(),
        {5});
  layer("dropout", nn::Dropout(0.5), {5});
  layer("flatten", nn::Flatten(), {3, 4});
  layer("unflatten", nn::Sequential(nn::Unflatten(1, {3, 4}), nn::Flatten(2)), {12, 2});
  layer("upsample_nearest", nn::Upsample({.scale_factor = 2}), {2, 4, 5});
  layer("upsample_bilinear", nn::Upsample({.scale_factor = 1.5, .mode = Interpolation::bilinear}), {2, 4, 6});
  layer("upsample_aligned", nn::Upsample({.size = {7, 9}, .mode = Interpolation::bilinear, .align_corners = true}),
        {2, 4, 6});
  layer("upsample_bicubic", nn::Upsample({.size = {7, 9}, .mode = Interpolation::bicubic}), {2, 4, 6});
  layer("upsample_exact", nn::Upsample({.size = {7, 9}, .mode = Interpolation::nearest_exact}), {2, 4, 6});
  for (const auto& [name, mode] :
       {std::pair("antialias", Interpolation::bilinear), {"antialias_cubic", Interpolation::bicubic}})
    function(name,
             [=, mode = mode](const Tensor& x) {
               return interpolate(x, {.size = {5, 3}, .mode = mode, .antialias = true});
             },
             {2, 9, 8});
  layer("upsample_area", nn::Upsample({.size = {2, 3}, .mode = Interpolation::area}), {2, 4, 6});
  layer("pixel_shuffle", nn::PixelShuffle(2), {8, 3, 4});
  layer("pixel_unshuffle", nn::PixelUnshuffle(2), {2, 6, 4});
  layer("channel_shuffle", nn::ChannelShuffle(2), {6, 3, 4});
  layer("zero_pad2d", nn::ZeroPad2d({1, 2, 0, 3}), {2, 4, 5});
  layer("reflection_pad2d", nn::ReflectionPad2d(2), {2, 4, 5});
  layer("replication_pad1d", nn::ReplicationPad1d({1, 3}), {2, 5});
  layer("circular_pad2d", nn::CircularPad2d({1, 2, 2, 1}), {2, 4, 5});
  layer("glu", nn::GLU(), {6});
  layer("unfold", nn::Unfold(3, {.padding = 1, .stride = 2}), {3, 7, 6});
  layer("fold", nn::Fold({5, 6}, 2), {12, 20});
  layer("quantized", nn::quantize_dynamic(nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4))), {8});
  layer("quantized_3d", nn::quantize_dynamic(nn::Linear(8, 3)), {4, 8});
  layer("embedding", nn::Embedding(10, 4), [](std::int64_t batch) -> Inputs { return {randint(0, 10, {batch, 5})}; });
  layer("softmax", nn::Softmax(1), {3, 4});
  layer("log_softmax", nn::LogSoftmax(-1), {3, 4});
  layer("softmin", nn::Softmin(-1), {3, 4});
  write(
      "grid_sample", nn::Identity().eval(),
      [](std::span<const Tensor> x) -> Inputs { return {grid_sample(x[0], x[1])}; },
      [](std::int64_t batch) -> Inputs {
        return {randn({batch, 2, 5, 6}), rand({batch, 4, 3, 2}) * 2.2 - 1.1};
      },
      {});
  const auto pairs = [](const char* name, const auto& net, std::int64_t a, std::int64_t b) {
    write(
        name, net, [&](std::span<const Tensor> x) -> Inputs { return {net(x[0], x[1])}; },
        [&](std::int64_t batch) -> Inputs {
          return {randn({batch, a}), randn({batch, b})};
        },
        {});
  };
  pairs("bilinear", nn::Bilinear(3, 4, 5).eval(), 3, 4);
  nn::CosineSimilarity cosine;
  pairs("cosine_similarity", cosine.eval(), 6, 6);
  nn::PairwiseDistance distance;
  pairs("pairwise_distance", distance.eval(), 6, 6);
}

void activations() {
  const Shape one{4, 5};
  layer("relu", nn::ReLU(), one);
  layer("relu6", nn::ReLU6(), one);
  layer("leaky_relu", nn::LeakyReLU(0.2), one);
  layer("elu", nn::ELU(), one);
  layer("celu", nn::CELU(1.5), one);
  layer("selu", nn::SELU(), one);
  layer("gelu", nn::GELU(), one);
  layer("gelu_20", nn::GELU(), one, {.opset = 20});
  function(
      "gelu_tanh", [](const Tensor& x) { return gelu_tanh(x); }, one);
  layer("silu", nn::SiLU(), one);
  layer("mish", nn::Mish(), one);
  layer("hardswish", nn::Hardswish(), one);
  layer("hardsigmoid", nn::Hardsigmoid(), one);
  layer("hardtanh", nn::Hardtanh(), one);
  layer("hardshrink", nn::Hardshrink(), one);
  layer("softshrink", nn::Softshrink(), one);
  layer("tanhshrink", nn::Tanhshrink(), one);
  layer("softsign", nn::Softsign(), one);
  layer("softplus", nn::Softplus(2.0), one);
  layer("log_sigmoid", nn::LogSigmoid(), one);
  layer("sigmoid", nn::Sigmoid(), one);
  layer("tanh", nn::Tanh(), one);
  layer("threshold", nn::Threshold(0.1, 0.5), one);
  layer("rrelu", nn::RReLU(), one);
}

void functions() {
  const Shape one{4, 6};
  const auto f = [&](const char* name, const std::function<Tensor(const Tensor&)>& of) { function(name, of, one); };
  f("f_exp", [](const Tensor& x) { return exp(x) + expm1(x) * exp2(x); });
  f("f_log", [](const Tensor& x) { return log(abs(x) + 1) + log1p(abs(x)) + log2(abs(x) + 1) * log10(abs(x) + 1); });
  f("f_roots", [](const Tensor& x) { return sqrt(abs(x)) + rsqrt(abs(x) + 1) + reciprocal(abs(x) + 1) + square(x); });
  f("f_trigonometry",
    [](const Tensor& x) { return sin(x) * cos(x) + atan(x) + tanh(x) + asinh(x) + erf(x) + erfc(x); });
  f("f_round", [](const Tensor& x) { return floor(x * 3) + ceil(x) * 10 + round(x * 4) + trunc(x * 5) + frac(x); });
  f("f_compare", [](const Tensor& x) { return where((x > 0.1) & (x <= 1), x, -x) + (x != 0).to(float32); });
  f("f_clamp", [](const Tensor& x) { return clamp(x, -0.5, 0.7) + clamp_min(x, tensor(0.1F)); });
  f("f_pow", [](const Tensor& x) { return pow(abs(x), 1.5) + pow(2, x); });
  f("f_integers",
    [](const Tensor& x) { return floor_divide((x * 10).to(int64), 3) + remainder((x * 10).to(int64), 4); });
  f("f_remainder", [](const Tensor& x) { return remainder(x, 0.3) + fmod(x, 0.7) + floor_divide(x, 0.4); });
  f("f_in_place", [](const Tensor& x) {
    const Tensor y = x * 2;
    relu_(y);
    add_(y, 1);
    y.mul_(x);
    return y;
  });
  f("f_sum", [](const Tensor& x) { return x.sum(1) + x.mean({1}) + amax(x, {1}) - amin(x, {1}) + prod(x, {1}); });
  f("f_reduce_all", [](const Tensor& x) {
    return x - x.sum({1, 2}, true) + norm(x, 2, {-1}, true) + norm(x, 1, {1}, true);
  });
  f("f_var", [](const Tensor& x) { return var(x, {1}) + stddev(x, {1}, 0) + logsumexp(x, {1}); });
  f("f_max",
    [](const Tensor& x) { return max(x, 1).values + max(x, 1).indices.to(float32) + argmin(x, 1).to(float32); });
  f("f_any", [](const Tensor& x) { return any(x > 1, {1}).to(float32) + all(x > -1, {1}).to(float32); });
  f("f_cumsum", [](const Tensor& x) { return cumsum(x, 1) + cumsum(x, -1); });
  f("f_views", [](const Tensor& x) { return x.permute({0, 2, 1}).reshape({x.size(0), -1}).unsqueeze(1).squeeze(1); });
  f("f_slice",
    [](const Tensor& x) { return x(all, slice(1, 3)) + x(all, slice(0, 4, 2)) + x.select(1, -1).unsqueeze(1); });
  f("f_batch_slice", [](const Tensor& x) { return x(slice(0, 1)) + x(-1); });
  f("f_split", [](const Tensor& x) { return cat({chunk(x, 2, 2)[1], split(x, 3, 2)[0]}, 1); });
  f("f_stack", [](const Tensor& x) { return stack({x, x * 2}, 1).flatten(1); });
  f("f_expand", [](const Tensor& x) { return x.unsqueeze(1).expand({x.size(0), 3, -1, -1}) + 1; });
  f("f_repeat", [](const Tensor& x) { return x.repeat({1, 2, 3}) + repeat_interleave(x, 2, 1).repeat({1, 1, 3}); });
  f("f_flip", [](const Tensor& x) { return flip(x, {1}) + roll(x, 2, 2); });
  f("f_tril", [](const Tensor& x) { return tril(x) + triu(x, 1) * 2; });
  f("f_zeros", [](const Tensor& x) { return cat({zeros({x.size(0), 1, 6}), x, ones_like(x)}, 1); });
  f("f_arange", [](const Tensor& x) { return x + arange(x.size(0)).reshape({-1, 1, 1}); });
  f("f_gather", [](const Tensor& x) { return gather(x, 2, argsort(x, 2)); });
  f("f_topk",
    [](const Tensor& x) { return topk(x, 2).values + sort(x, 1, true).values.narrow(2, 0, 2).narrow(1, 0, 4); });
  f("f_index_select", [](const Tensor& x) { return index_select(x, 2, tensor({0, 2, 5})); });
  f("f_masked_fill", [](const Tensor& x) { return masked_fill(x, x > 0, -1); });
  f("f_einsum", [](const Tensor& x) { return einsum("bij,bkj->bik", {x, x}); });
  f("f_matmul", [](const Tensor& x) { return matmul(x, x.mT()) + bmm(x, x.transpose(1, 2)); });
  f("f_lerp", [](const Tensor& x) { return lerp(x, x * 2, 0.3) + addcmul(x, x, x, 0.5) + add(x, x, 0.5); });
  f("f_attached", [](const Tensor& x) { return x.detach().flatten(1).view({x.size(0), 24}).clone().contiguous(); });
  f("f_scatter_add", [](const Tensor& x) {
    const Tensor index = (abs(x) * 2).to(int64).remainder(4);
    return scatter_add(x, 1, index, x * 2) + zeros_like(x).scatter_add_(1, index(all, slice(0, 2)), x);
  });
  f("f_logaddexp", [](const Tensor& x) {
    const Tensor far = masked_fill(x * 20, x > 1, kInfinity), low = masked_fill(flip(x, {1}), x < -1, -kInfinity);
    return logaddexp(x, flip(x, {2})) + nan_to_num(logaddexp(far, low), 0, 5, -5) + logaddexp(x, x);
  });
  f("f_nan_to_num", [](const Tensor& x) { return nan_to_num(log(x), 0.5, 3) + nan_to_num(1 / floor(x), 0, 1, -1); });
  f("f_input", [](const Tensor& x) { return x; });
}

void recurrent() {
  const auto sequence = [](std::int64_t batch) -> Inputs { return {randn({batch, 5, 3})}; };
  const auto run = [&](const std::string& name, auto net, auto call) {
    net.eval();
    write(name, net, [&](std::span<const Tensor> x) -> Inputs { return call(net, x[0]); }, sequence, {});
  };
  const auto lstm = [](const nn::LSTM& net, const Tensor& x) -> Inputs {
    const auto [y, h, c] = net(x, {}, {});
    return {y, h, c};
  };
  const auto others = [](const auto& net, const Tensor& x) -> Inputs {
    const auto [y, h] = net(x);
    return {y, h};
  };
  run("lstm", nn::LSTM(3, 4, {.batch_first = true}), lstm);
  run("lstm_deep", nn::LSTM(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true}), lstm);
  run("gru", nn::GRU(3, 4, {.batch_first = true}), others);
  run("gru_no_bias", nn::GRU(3, 4, {.bias = false, .batch_first = true}), others);
  run("rnn", nn::RNN(3, 4, {.batch_first = true}), others);
  run("lstm_projected", nn::LSTM(3, 4, {.batch_first = true, .proj_size = 2}), lstm);
  run("rnn_relu", nn::RNN(3, 4, {.batch_first = true}, nn::Nonlinearity::relu), others);
  const auto row = [](std::int64_t batch) -> Inputs { return {randn({batch, 3})}; };
  nn::LSTMCell cell(3, 4);
  cell.eval();
  write("lstm_cell", cell,
        [&](std::span<const Tensor> x) -> Inputs {
          const auto [h, c] = cell(x[0], {}, {});
          return {h, c};
        },
        row, {});
  layer("gru_cell", nn::GRUCell(3, 4), row);
  layer("rnn_cell", nn::RNNCell(3, 4), row);
}

void attention() {
  nn::MultiheadAttention mha(8, 2);
  mha.eval();
  const onnx::SaveOptions open{.dynamic = {{{0, 0, "batch"}, {0, 1, "length"}}}};
  const auto tokens = [](std::int64_t batch) -> Inputs { return {randn({batch, batch + 3, 8})}; };
  write(
      "attention", mha, [&](std::span<const Tensor> x) -> Inputs { return {mha(x[0], x[0], x[0])}; }, tokens, open);
  layer("encoder_layer", nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 16}), tokens, open);
  layer("encoder_first",
        nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2,
                                                           {.dim_feedforward = 16,
                                                            .activation = nn::TransformerActivation::gelu,
                                                            .norm_first = true,
                                                            .is_causal = true}),
                               2, nn::LayerNorm(8)),
        tokens, open);
  nn::TransformerDecoderLayer decoder(8, 2, {.dim_feedforward = 16});
  decoder.eval();
  write(
      "decoder_layer", decoder, [&](std::span<const Tensor> x) -> Inputs { return {decoder(x[0], x[1])}; },
      [](std::int64_t batch) -> Inputs {
        return {randn({batch, batch + 3, 8}), randn({batch, batch + 5, 8})};
      },
      {.dynamic = {{{0, 0, "batch"}, {0, 1, "length"}, {1, 0, "batch"}, {1, 1, "memory"}}}});
  nn::Transformer transformer(8, 2, {.num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 16});
  transformer.eval();
  write(
      "transformer", transformer, [&](std::span<const Tensor> x) -> Inputs { return {transformer(x[0], x[1], {})}; },
      [](std::int64_t batch) -> Inputs {
        return {randn({batch, 4, 8}), randn({batch, 6, 8})};
      },
      {});
  const auto heads = [](std::int64_t batch) -> Inputs { return {randn({batch, 4, batch + 3, 8})}; };
  const onnx::SaveOptions rows{.dynamic = {{{0, 0, "batch"}, {0, 2, "length"}}}};
  nn::Identity none;
  none.eval();
  write(
      "attention_causal", none,
      [](std::span<const Tensor> x) -> Inputs {
        return {scaled_dot_product_attention(x[0], x[0], x[0], {}, {.is_causal = true})};
      },
      heads, rows);
  write(
      "attention_groups", none,
      [](std::span<const Tensor> x) -> Inputs {
        return {
            scaled_dot_product_attention(x[0], x[0].narrow(1, 0, 2), x[0].narrow(1, 0, 2), {}, {.enable_gqa = true})};
      },
      heads, rows);
  write(
      "attention_mask", none,
      [](std::span<const Tensor> x) -> Inputs {
        return {scaled_dot_product_attention(x[0], x[0], x[0], x[1](all, newaxis, newaxis))};
      },
      [](std::int64_t batch) -> Inputs {
        return {randn({batch, 2, 6, 8}), randn({batch, 6}) > 0};
      },
      {});
}

void example_models() {
  const auto images = [](std::int64_t side, std::int64_t channels = 3) {
    return [=](std::int64_t batch) -> Inputs { return {randn({batch, channels, side, side})}; };
  };
  layer("mnist_mlp", models::Mlp(), images(28, 1));
  layer("mnist_cnn", models::Cnn(), images(28, 1));
  layer("vgg", models::VGG({.layers = {8, 0, 16, 0}, .hidden = 32, .num_classes = 10}), images(32));
  layer("resnet", models::ResNet({1, 1, 1, 1}, {.num_classes = 10, .width = 8}), images(64));
  layer("mobilenet", models::MobileNetV2({.num_classes = 10, .width_mult = 0.25}), images(64));
  layer("vit",
        models::VisionTransformer({.image_size = 32,
                                   .patch_size = 8,
                                   .num_layers = 2,
                                   .num_heads = 2,
                                   .hidden_dim = 16,
                                   .mlp_dim = 32,
                                   .num_classes = 10}),
        images(32));
  const onnx::SaveOptions open{.dynamic = {{{0, 0, "batch"}, {0, 1, "length"}}}};
  layer(
      "gpt2", models::GPT2LMHeadModel({.vocab_size = 50, .n_positions = 16, .n_embd = 16, .n_layer = 2, .n_head = 2}),
      [](std::int64_t batch) -> Inputs {
        return {randint(0, 50, {batch, batch + 3})};
      },
      open);
  models::BertModel bert({.vocab_size = 50,
                          .hidden_size = 16,
                          .num_hidden_layers = 2,
                          .num_attention_heads = 2,
                          .intermediate_size = 32,
                          .max_position_embeddings = 16});
  bert.eval();
  write(
      "bert", bert,
      [&](std::span<const Tensor> x) -> Inputs {
        const auto [states, pooled] = bert(x[0], x[1], x[2]);
        return {states, pooled};
      },
      [](std::int64_t batch) -> Inputs {
        const Shape shape{batch, batch + 3};
        return {randint(0, 50, shape), (randint(0, 4, shape) > 0).to(int64), randint(0, 2, shape)};
      },
      {.dynamic = {
           {{0, 0, "batch"}, {0, 1, "length"}, {1, 0, "batch"}, {1, 1, "length"}, {2, 0, "batch"}, {2, 1, "length"}}}});
}

}  // namespace

int main(int count, char** arguments) {
  folder = arguments[1];
  if (count > 2) only = arguments[2];
  manual_seed(1);
  layers();
  activations();
  functions();
  recurrent();
  attention();
  example_models();
  return 0;
}
