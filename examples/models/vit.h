#pragma once

#include <minnow/minnow.h>

/// Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale", with
/// torchvision's names.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

/// The defaults are those of torchvision's vit_b_16.
struct ViTOptions {
  std::int64_t image_size = 224, patch_size = 16, num_layers = 12, num_heads = 12, hidden_dim = 768, mlp_dim = 3072;
  std::int64_t num_classes = 1000;
  double dropout = 0;
};

struct ViTBlock : nn::Module {
  nn::LayerNorm ln_1, ln_2;
  nn::MultiheadAttention self_attention;
  nn::Dropout dropout;
  nn::Sequential mlp;

  explicit ViTBlock(const ViTOptions& o)
      : ln_1(child("ln_1", nn::LayerNorm(o.hidden_dim, {.eps = 1e-6}))),
        ln_2(child("ln_2", nn::LayerNorm(o.hidden_dim, {.eps = 1e-6}))),
        self_attention(child("self_attention", nn::MultiheadAttention(o.hidden_dim, o.num_heads))),
        dropout(child("dropout", nn::Dropout(o.dropout))),
        mlp(child("mlp", nn::Sequential(nn::Linear(o.hidden_dim, o.mlp_dim), nn::GELU(), nn::Dropout(o.dropout),
                                        nn::Linear(o.mlp_dim, o.hidden_dim), nn::Dropout(o.dropout)))) {}

  Tensor forward(const Tensor& x) override {
    const Tensor y = x + dropout(self_attention(ln_1(x)));
    return y + mlp(ln_2(y));
  }
};

struct ViTEncoder : nn::Module {
  nn::Parameter pos_embedding;
  nn::Dropout dropout;
  nn::Sequential layers = child("layers", nn::Sequential());
  nn::LayerNorm ln;

  ViTEncoder(std::int64_t length, const ViTOptions& o)
      : pos_embedding(parameter("pos_embedding", minnow::randn({1, length, o.hidden_dim}) * 0.02)),
        dropout(child("dropout", nn::Dropout(o.dropout))),
        ln(child("ln", nn::LayerNorm(o.hidden_dim, {.eps = 1e-6}))) {
    for (std::int64_t i = 0; i < o.num_layers; ++i)
      layers.push_back({"encoder_layer_" + std::to_string(i), ViTBlock(o)});
  }

  Tensor forward(const Tensor& x) override { return ln(layers(dropout(x + pos_embedding))); }
};

struct VisionTransformer : nn::Module {
  nn::Parameter class_token;
  nn::Conv2d conv_proj;
  ViTEncoder encoder;
  nn::Sequential heads;

  explicit VisionTransformer(const ViTOptions& o = {})
      : class_token(parameter("class_token", minnow::zeros({1, 1, o.hidden_dim}))),
        conv_proj(child("conv_proj", nn::Conv2d(3, o.hidden_dim, o.patch_size, {.stride = o.patch_size}))),
        encoder(child("encoder", ViTEncoder((o.image_size / o.patch_size) * (o.image_size / o.patch_size) + 1, o))),
        heads(child("heads", nn::Sequential{{"head", nn::Linear(o.hidden_dim, o.num_classes)}})) {
    const auto fan_in = static_cast<double>(3 * o.patch_size * o.patch_size);
    nn::init::trunc_normal_(conv_proj.weight, {.std = std::sqrt(1 / fan_in)});
    nn::init::zeros_(conv_proj.bias);
    nn::init::zeros_(heads.get<nn::Linear>(0).weight);
    nn::init::zeros_(heads.get<nn::Linear>(0).bias);
  }

  /// images: [N, 3, image_size, image_size]  ->  [N, num_classes]
  Tensor forward(const Tensor& images) override {
    const Tensor patches = conv_proj(images).flatten(2).transpose(1, 2);  // [N, patches, hidden_dim]
    const Tensor tokens = minnow::cat({class_token.expand({images.size(0), 1, -1}), patches}, 1);
    return heads(encoder(tokens)(minnow::all, 0));
  }
};

}  // namespace models
