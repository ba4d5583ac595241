#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

// A constructor's arguments stand behind forward()'s, and have names: c0, c1 if they have a position.
constexpr std::size_t kNamed = 100;

std::int64_t integer(const X& x, const char* name, std::int64_t otherwise = 0) {
  return x.integer(kNamed, name, otherwise);
}
double number(const X& x, const char* name, double otherwise = 0) { return x.number(kNamed, name, otherwise); }
bool flag(const X& x, const char* name, bool otherwise) { return x.flag(kNamed, name, otherwise); }
Tensor named(const X& x, const char* name) { return x.tensor(kNamed, name); }
template <class Size> Size size(const X& x, const char* name, std::int64_t otherwise = 0) {
  return x.size<Size>(kNamed, name, otherwise);
}

/// What the layer gives in the sample's mode, with its parameters and buffers, which are the arguments p.NAME.
template <class M, class... A> auto through(M layer, const X& x, A&&... arguments) {
  layer.train(flag(x, "train", true));
  std::vector<nn::NamedTensor> weights;
  for (const auto& [name, given] : x.named)
    if (name.starts_with("p."))  // a buffer may be written to, and is not expanded
      weights.push_back(
          {name.substr(2), given.differentiable ? named(x, name.c_str()) : named(x, name.c_str()).clone()});
  return nn::functional_call(layer, weights, std::forward<A>(arguments)...);
}

/// By a function from a sample to a layer of one operand.
template <class F> SampleCall layer_by(F f) {
  return [f](const X& x) { return std::vector<Tensor>{through(f(x), x, x.tensor(0, "f.input"))}; };
}

template <class M> SampleCall plain() {
  return layer_by([](const X&) { return M(); });
}
template <class M> SampleCall of_number(double otherwise) {
  return layer_by(
      [otherwise](const X& x) { return M(x.has(kNamed, "alpha") ? number(x, "alpha") : number(x, "c0", otherwise)); });
}
template <class M> SampleCall along() {
  return layer_by(
      [](const X& x) { return M(static_cast<int>(x.has(kNamed, "dim") ? integer(x, "dim") : integer(x, "c0", -1))); });
}

template <class M, class Size> SampleCall max_pool() {
  return layer_by([](const X& x) {
    if (flag(x, "return_indices", false)) throw NoForm();
    return M(size<Size>(x, "c0"), MaxPoolOptions<Size>{.stride = size<Size>(x, "c1"),
                                                       .padding = size<Size>(x, "c2"),
                                                       .dilation = size<Size>(x, "c3", 1),
                                                       .ceil_mode = flag(x, "c5", false)});
  });
}
template <class M, class Size> SampleCall avg_pool() {
  return layer_by([](const X& x) {
    const char* kernel = x.has(kNamed, "kernel_size") ? "kernel_size" : "c0";
    AvgPoolOptions<Size> options{.stride = size<Size>(x, "c1"), .padding = size<Size>(x, "c2")};
    options.divisor_override = integer(x, "divisor_override");
    return M(size<Size>(x, kernel), options);
  });
}
template <class M, class Size> SampleCall lp_pool() {
  return layer_by([](const X& x) {
    return M(number(x, "c0"), size<Size>(x, "c1"), LPPoolOptions<Size>{.stride = size<Size>(x, "c2")});
  });
}
/// None of PyTorch's sizes stands for that of x.
template <class M, class Size> SampleCall adaptive_pool() {
  return layer_by([](const X& x) {
    const SampleValue& wanted = x.value(kNamed, "c0");
    for (const SampleValue& one : wanted.items)
      if (one.kind == SampleValue::Kind::kNone) throw NoForm();
    return M(size<Size>(x, "c0"));
  });
}
template <class M, class Size> SampleCall fractional_pool() {
  return [](const X& x) {
    if (flag(x, "return_indices", false)) throw NoForm();
    FractionalMaxPoolOptions<Size> options{.output_size = size<Size>(x, "output_size"),
                                           .random_samples = named(x, "_random_samples")};
    const SampleValue& ratio = x.value(kNamed, "output_ratio");
    if (ratio.kind == SampleValue::Kind::kNumber) options.output_ratio = {ratio.number};
    for (const SampleValue& one : ratio.items) options.output_ratio.push_back(one.number);
    return std::vector<Tensor>{through(M(size<Size>(x, "c0"), options), x, x.tensor(0))};
  };
}

template <class M, class Size> SampleCall conv() {
  return layer_by([](const X& x) {
    nn::ConvOptions<Size> options;
    const std::string padding = x.text(kNamed, "padding", "");
    if (padding == "same") options.padding = Padding::same;
    else if (padding == "valid") options.padding = Padding::valid;
    else if (x.has(kNamed, "padding")) options.padding = size<Size>(x, "padding");
    return M(integer(x, "c0"), integer(x, "c1"), size<Size>(x, "c2"), options);
  });
}
template <class M, class Size> SampleCall conv_transpose() {
  return layer_by([](const X& x) { return M(integer(x, "c0"), integer(x, "c1"), size<Size>(x, "c2")); });
}

template <class M> SampleCall batch_norm() {
  return layer_by([](const X& x) {
    nn::BatchNormOptions options{.eps = number(x, "c1", 1e-5), .bias = flag(x, "bias", true)};
    if (x.has(kNamed, "c2")) options.momentum = number(x, "c2");
    else if (x.has(kNamed, "c1")) options.momentum.reset();  // c2=None
    options.affine = flag(x, "c3", true);
    options.track_running_stats = flag(x, "c4", true);
    return M(integer(x, "c0"), options);
  });
}
SampleCall instance_norm() {
  return layer_by([](const X& x) {
    nn::InstanceNormOptions options{.eps = number(x, "c1", 1e-5), .momentum = number(x, "c2", 0.1)};
    options.affine = flag(x, "affine", flag(x, "c3", false));
    options.track_running_stats = flag(x, "c4", false);
    options.bias = flag(x, "bias", true);
    return nn::InstanceNorm(integer(x, "c0"), options);
  });
}

template <int kDims, template <int> class Pad> SampleCall pad() {
  return layer_by([](const X& x) {
    nn::PaddingSizes sizes(0);
    sizes.each = x.integers(kNamed, "c0");
    if constexpr (std::same_as<Pad<kDims>, nn::ConstantPad<kDims>>) return Pad<kDims>(sizes, number(x, "c1"));
    else return Pad<kDims>(sizes);
  });
}

nn::Nonlinearity nonlinearity(const X& x, const char* name) {
  return x.text(kNamed, name, "tanh") == "relu" ? nn::Nonlinearity::relu : nn::Nonlinearity::tanh;
}
nn::RecurrentOptions recurrent(const X& x) {
  return {.num_layers = integer(x, "num_layers", 1),
          .bias = flag(x, "bias", true),
          .batch_first = flag(x, "batch_first", false),
          .bidirectional = flag(x, "bidirectional", false),
          .proj_size = integer(x, "proj_size")};
}
std::int64_t inputs(const X& x) { return integer(x, "input_size"); }
std::int64_t hidden(const X& x) { return integer(x, "hidden_size"); }
template <class... T> std::vector<Tensor> tensors_of(std::tuple<T...> y) {
  return std::apply([](auto... part) { return std::vector<Tensor>{part...}; }, y);
}

/// Batches are first here: [L, N, E] is turned, unless batch_first.
struct Turn {
  bool turns;
  explicit Turn(const X& x) : turns(!flag(x, "batch_first", false)) {}
  Tensor operator()(const Tensor& t) const { return turns && t.dim() == 3 ? t.transpose(0, 1) : t; }
};
nn::TransformerLayerOptions transformer_layer(const X& x) {
  return {.dim_feedforward = integer(x, "dim_feedforward", integer(x, "c2", 2048)),
          .dropout = number(x, "dropout", number(x, "c3", 0.1)),
          .norm_first = flag(x, "norm_first", false),
          .bias = flag(x, "bias", true)};
}
std::int64_t model(const X& x) { return integer(x, "d_model", integer(x, "c0")); }
std::int64_t heads(const X& x) { return integer(x, "nhead", integer(x, "c1")); }
/// Where a position takes part; PyTorch's layers have true where it does not.
Tensor taken(const X& x, const char* name) {
  const Tensor left_out = named(x, name);
  return left_out.defined() ? logical_not(left_out) : left_out;
}
/// That of [L, S] and of keys ([N, S], or [S] of one sequence) in one.
Tensor both(const Tensor& mask, const Tensor& keys) {
  if (!keys.defined()) return mask;
  const Tensor of_all = keys.dim() == 2 ? keys.unsqueeze(1).unsqueeze(1) : keys;
  return mask.defined() ? logical_and(mask, of_all) : of_all;
}

const SampleCalls kLayers = {
    {"nn.ReLU", plain<nn::ReLU>()},
    {"nn.ReLU6", plain<nn::ReLU6>()},
    {"nn.SELU", plain<nn::SELU>()},
    {"nn.SiLU", plain<nn::SiLU>()},
    {"nn.Mish", plain<nn::Mish>()},
    {"nn.Sigmoid", plain<nn::Sigmoid>()},
    {"nn.LogSigmoid", plain<nn::LogSigmoid>()},
    {"nn.Tanh", plain<nn::Tanh>()},
    {"nn.Hardswish", plain<nn::Hardswish>()},
    {"nn.Softsign", plain<nn::Softsign>()},
    {"nn.Tanhshrink", plain<nn::Tanhshrink>()},
    {"nn.GELU", layer_by([](const X& x) {
       if (x.text(kNamed, "c0", "none") != "none") throw NoForm();
       return nn::GELU();
     })},
    {"nn.LeakyReLU", of_number<nn::LeakyReLU>(0.01)},
    {"nn.ELU", of_number<nn::ELU>(1)},
    {"nn.CELU", of_number<nn::CELU>(1)},
    {"nn.Softshrink", of_number<nn::Softshrink>(0.5)},
    {"nn.Hardshrink", of_number<nn::Hardshrink>(0.5)},
    {"nn.Softplus", layer_by([](const X& x) { return nn::Softplus(number(x, "c0", 1), number(x, "c1", 20)); })},
    {"nn.Hardtanh", layer_by([](const X& x) { return nn::Hardtanh(number(x, "c0", -1), number(x, "c1", 1)); })},
    {"nn.Threshold", layer_by([](const X& x) { return nn::Threshold(number(x, "c0"), number(x, "c1")); })},
    {"nn.Softmax", along<nn::Softmax>()},
    {"nn.Softmax2d", layer_by([](const X&) { return nn::Softmax(-3); })},
    {"nn.LogSoftmax", along<nn::LogSoftmax>()},
    {"nn.Softmin", along<nn::Softmin>()},
    {"nn.GLU", along<nn::GLU>()},
    {"nn.PReLU", layer_by([](const X& x) { return nn::PReLU(integer(x, "c0", 1)); })},
    {"nn.MaxPool1d", max_pool<nn::MaxPool1d, std::int64_t>()},
    {"nn.MaxPool2d", max_pool<nn::MaxPool2d, Pair>()},
    {"nn.MaxPool3d", max_pool<nn::MaxPool3d, Triple>()},
    {"nn.AvgPool1d", avg_pool<nn::AvgPool1d, std::int64_t>()},
    {"nn.AvgPool2d", avg_pool<nn::AvgPool2d, Pair>()},
    {"nn.AvgPool3d", avg_pool<nn::AvgPool3d, Triple>()},
    {"nn.LPPool1d", lp_pool<nn::LPPool1d, std::int64_t>()},
    {"nn.LPPool2d", lp_pool<nn::LPPool2d, Pair>()},
    {"nn.LPPool3d", lp_pool<nn::LPPool3d, Triple>()},
    {"nn.AdaptiveAvgPool1d", adaptive_pool<nn::AdaptiveAvgPool1d, std::int64_t>()},
    {"nn.AdaptiveAvgPool2d", adaptive_pool<nn::AdaptiveAvgPool2d, Pair>()},
    {"nn.AdaptiveAvgPool3d", adaptive_pool<nn::AdaptiveAvgPool3d, Triple>()},
    {"nn.AdaptiveMaxPool1d", adaptive_pool<nn::AdaptiveMaxPool1d, std::int64_t>()},
    {"nn.AdaptiveMaxPool2d", adaptive_pool<nn::AdaptiveMaxPool2d, Pair>()},
    {"nn.AdaptiveMaxPool3d", adaptive_pool<nn::AdaptiveMaxPool3d, Triple>()},
    {"nn.FractionalMaxPool2d", fractional_pool<nn::FractionalMaxPool2d, Pair>()},
    {"nn.FractionalMaxPool3d", fractional_pool<nn::FractionalMaxPool3d, Triple>()},
    {"nn.Conv1d", conv<nn::Conv1d, std::int64_t>()},
    {"nn.Conv2d", conv<nn::Conv2d, Pair>()},
    {"nn.Conv3d", conv<nn::Conv3d, Triple>()},
    {"nn.ConvTranspose1d", conv_transpose<nn::ConvTranspose1d, std::int64_t>()},
    {"nn.ConvTranspose2d", conv_transpose<nn::ConvTranspose2d, Pair>()},
    {"nn.ConvTranspose3d", conv_transpose<nn::ConvTranspose3d, Triple>()},
    {"nn.BatchNorm1d", batch_norm<nn::BatchNorm1d>()},
    {"nn.BatchNorm2d", batch_norm<nn::BatchNorm2d>()},
    {"nn.BatchNorm3d", batch_norm<nn::BatchNorm3d>()},
    {"nn.InstanceNorm1d", instance_norm()},
    {"nn.InstanceNorm2d", instance_norm()},
    {"nn.InstanceNorm3d", instance_norm()},
    {"nn.GroupNorm", layer_by([](const X& x) {
       return nn::GroupNorm(
           integer(x, "c0"), integer(x, "c1"),
           {.eps = number(x, "c2", 1e-5), .affine = flag(x, "c3", true), .bias = flag(x, "bias", true)});
     })},
    {"nn.LayerNorm", layer_by([](const X& x) {
       return nn::LayerNorm(Shape(x.integers(kNamed, "c0")),
                            {.eps = number(x, "c1", 1e-5),
                             .elementwise_affine = flag(x, "elementwise_affine", flag(x, "c2", true)),
                             .bias = flag(x, "bias", true)});
     })},
    {"nn.RMSNorm", layer_by([](const X& x) {
       nn::RMSNormOptions options{.elementwise_affine = flag(x, "c2", true)};
       if (x.has(kNamed, "c1")) options.eps = number(x, "c1");
       return nn::RMSNorm(Shape(x.integers(kNamed, "c0")), options);
     })},
    {"nn.LocalResponseNorm", layer_by([](const X& x) {
       return nn::LocalResponseNorm(
           integer(x, "c0"), {.alpha = number(x, "c1", 1e-4), .beta = number(x, "c2", 0.75), .k = number(x, "c3", 1)});
     })},
    {"nn.ZeroPad1d", pad<1, nn::ZeroPad>()},
    {"nn.ZeroPad2d", pad<2, nn::ZeroPad>()},
    {"nn.ZeroPad3d", pad<3, nn::ZeroPad>()},
    {"nn.ConstantPad1d", pad<1, nn::ConstantPad>()},
    {"nn.ConstantPad2d", pad<2, nn::ConstantPad>()},
    {"nn.ConstantPad3d", pad<3, nn::ConstantPad>()},
    {"nn.ReflectionPad1d", pad<1, nn::ReflectionPad>()},
    {"nn.ReflectionPad2d", pad<2, nn::ReflectionPad>()},
    {"nn.ReflectionPad3d", pad<3, nn::ReflectionPad>()},
    {"nn.ReplicationPad1d", pad<1, nn::ReplicationPad>()},
    {"nn.ReplicationPad2d", pad<2, nn::ReplicationPad>()},
    {"nn.ReplicationPad3d", pad<3, nn::ReplicationPad>()},
    {"nn.CircularPad1d", pad<1, nn::CircularPad>()},
    {"nn.CircularPad2d", pad<2, nn::CircularPad>()},
    {"nn.CircularPad3d", pad<3, nn::CircularPad>()},
    {"nn.Linear",
     layer_by([](const X& x) { return nn::Linear(integer(x, "c0"), integer(x, "c1"), flag(x, "bias", true)); })},
    {"nn.Bilinear",
     [](const X& x) {
       const nn::Bilinear layer(integer(x, "c0"), integer(x, "c1"), integer(x, "c2"), flag(x, "bias", true));
       return std::vector<Tensor>{through(layer, x, x.tensor(0), x.tensor(1))};
     }},
    {"nn.Embedding",
     layer_by([](const X& x) { return nn::Embedding(integer(x, "num_embeddings"), integer(x, "embedding_dim")); })},
    {"nn.RNN",
     [](const X& x) {
       const nn::RNN net(inputs(x), hidden(x), recurrent(x), nonlinearity(x, "nonlinearity"));
       return tensors_of(through(net, x, x.tensor(0), x.tensor(1)));
     }},
    {"nn.GRU",
     [](const X& x) {
       return tensors_of(through(nn::GRU(inputs(x), hidden(x), recurrent(x)), x, x.tensor(0), x.tensor(1)));
     }},
    {"nn.LSTM",
     [](const X& x) {
       const SampleValue& state = x.value(1);
       const bool given = state.items.size() == 2;
       return tensors_of(through(nn::LSTM(inputs(x), hidden(x), recurrent(x)), x, x.tensor(0),
                                 given ? state.items[0].tensor : Tensor(), given ? state.items[1].tensor : Tensor()));
     }},
    {"nn.RNNCell",
     [](const X& x) {
       const nn::RNNCell cell(integer(x, "c0"), integer(x, "c1"), flag(x, "bias", true),
                              nonlinearity(x, "nonlinearity"));
       return std::vector<Tensor>{through(cell, x, x.tensor(0), x.tensor(1))};
     }},
    {"nn.GRUCell",
     [](const X& x) {
       const nn::GRUCell cell(integer(x, "c0"), integer(x, "c1"), flag(x, "bias", true));
       return std::vector<Tensor>{through(cell, x, x.tensor(0), x.tensor(1))};
     }},
    {"nn.LSTMCell",
     [](const X& x) {
       const std::vector<SampleValue>& state = x.value(1).items;
       const nn::LSTMCell cell(integer(x, "c0"), integer(x, "c1"), flag(x, "bias", true));
       return tensors_of(through(cell, x, x.tensor(0), state.at(0).tensor, state.at(1).tensor));
     }},
    {"nn.MultiheadAttention",
     [](const X& x) {
       const Turn turn(x);
       const nn::MultiheadAttention layer(integer(x, "embed_dim"), integer(x, "num_heads"),
                                          {.bias = flag(x, "bias", true),
                                           .add_bias_kv = flag(x, "add_bias_kv", false),
                                           .add_zero_attn = flag(x, "add_zero_attn", false)});
       const Tensor q = turn(x.tensor(0)), k = turn(x.tensor(1)), v = turn(x.tensor(2));
       const Tensor mask = both(taken(x, "f.attn_mask"), taken(x, "f.key_padding_mask"));
       return std::vector<Tensor>{turn(mask.defined() ? through(layer, x, q, k, v, mask) : through(layer, x, q, k, v))};
     }},
    {"nn.TransformerEncoderLayer",
     [](const X& x) {
       const Turn turn(x);
       const nn::TransformerEncoderLayer layer(model(x), heads(x), transformer_layer(x));
       const Tensor mask = both(taken(x, "f.src_mask"), taken(x, "f.src_key_padding_mask"));
       const Tensor source = turn(x.tensor(0));
       return std::vector<Tensor>{turn(mask.defined() ? through(layer, x, source, mask) : through(layer, x, source))};
     }},
    {"nn.TransformerDecoderLayer",
     [](const X& x) {
       const Turn turn(x);
       const nn::TransformerDecoderLayer layer(model(x), heads(x), transformer_layer(x));
       const nn::TransformerDecoderMasks masks{.tgt_mask = taken(x, "f.tgt_mask"),
                                               .memory_mask = taken(x, "f.memory_mask"),
                                               .tgt_key_padding_mask = taken(x, "f.tgt_key_padding_mask"),
                                               .memory_key_padding_mask = taken(x, "f.memory_key_padding_mask")};
       return std::vector<Tensor>{turn(through(layer, x, turn(x.tensor(0)), turn(x.tensor(1)), masks))};
     }},
    {"nn.Transformer",
     [](const X& x) {
       const Turn turn(x);
       const nn::Transformer net(model(x), heads(x),
                                 {.num_encoder_layers = integer(x, "num_encoder_layers", 6),
                                  .num_decoder_layers = integer(x, "num_decoder_layers", 6),
                                  .dim_feedforward = integer(x, "dim_feedforward", 2048),
                                  .dropout = number(x, "dropout", 0.1),
                                  .norm_first = flag(x, "norm_first", false),
                                  .bias = flag(x, "bias", true)});
       const nn::TransformerMasks masks{.src_mask = taken(x, "f.src_mask"),
                                        .tgt_mask = taken(x, "f.tgt_mask"),
                                        .src_key_padding_mask = taken(x, "f.src_key_padding_mask"),
                                        .tgt_key_padding_mask = taken(x, "f.tgt_key_padding_mask")};
       return std::vector<Tensor>{turn(through(net, x, turn(x.tensor(0)), turn(x.tensor(1)), masks))};
     }},
};

class LayerSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LayerSamples, all_devices(), device_test_name);

TEST_P(LayerSamples, OfPyTorch) {
  expect_samples(
      "layers", kLayers,
      {{"nn.InstanceNorm", "the input must have 3 channels", "x has a batch: the layer serves all dimensions"},
       {"nn.FractionalMaxPool3d", "random_samples does not match x", "samples of two images for one"},
       {"nn.Transformer", "expanded: ", "normalized elements add up to rounding, at ReLU's corner"}},
      device());
}

}  // namespace
}  // namespace minnow::test
