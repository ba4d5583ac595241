#pragma once

#include <minnow/minnow.h>

/// Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", with torchvision's names.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

/// The multiple of 8 that is nearest to value, but not below 0.9 of it.
inline std::int64_t make_divisible(double value) {
  const std::int64_t near = std::max<std::int64_t>(8, static_cast<std::int64_t>(value + 4) / 8 * 8);
  return static_cast<double>(near) < 0.9 * value ? near + 8 : near;
}

/// Convolution, norm and ReLU6.
inline nn::Sequential conv_norm_relu(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
                                     std::int64_t groups = 1) {
  return nn::Sequential(
      nn::Conv2d(in, out, kernel, {.stride = stride, .padding = (kernel - 1) / 2, .groups = groups, .bias = false}),
      nn::BatchNorm2d(out), nn::ReLU6());
}

struct InvertedResidual : nn::Module {
  nn::Sequential conv = child("conv", nn::Sequential());

  InvertedResidual(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t expand_ratio)
      : adds_(stride == 1 && in == out) {
    const std::int64_t hidden = in * expand_ratio;
    if (expand_ratio != 1) conv.push_back(conv_norm_relu(in, hidden, 1));
    conv.push_back(conv_norm_relu(hidden, hidden, 3, stride, hidden));
    conv.push_back(nn::Conv2d(hidden, out, 1, {.bias = false}));
    conv.push_back(nn::BatchNorm2d(out));
  }

  Tensor forward(const Tensor& x) override { return adds_ ? x + conv(x) : conv(x); }

 private:
  bool adds_;
};

struct MobileNetV2Options {
  std::int64_t num_classes = 1000;
  double width_mult = 1;
  double dropout = 0.2;
};

struct MobileNetV2 : nn::Module {
  nn::Sequential features = child("features", nn::Sequential());
  nn::Sequential classifier = child("classifier", nn::Sequential());

  explicit MobileNetV2(const MobileNetV2Options& o = {}) {
    struct Stage {
      std::int64_t expand_ratio;
      double channels;
      int blocks;
      std::int64_t stride;
    };
    std::int64_t channels = make_divisible(32 * o.width_mult);
    features.push_back(conv_norm_relu(3, channels, 3, 2));
    for (const Stage& stage : {Stage{1, 16, 1, 1},
                               {6, 24, 2, 2},
                               {6, 32, 3, 2},
                               {6, 64, 4, 2},
                               {6, 96, 3, 1},
                               {6, 160, 3, 2},
                               {6, 320, 1, 1}}) {
      const std::int64_t out = make_divisible(stage.channels * o.width_mult);
      for (int i = 0; i < stage.blocks; ++i, channels = out)
        features.push_back(InvertedResidual(channels, out, i == 0 ? stage.stride : 1, stage.expand_ratio));
    }
    const std::int64_t last = make_divisible(1280 * std::max(1.0, o.width_mult));
    features.push_back(conv_norm_relu(channels, last, 1));
    classifier.push_back(nn::Dropout(o.dropout));
    classifier.push_back(nn::Linear(last, o.num_classes));

    for (const auto& [name, module] : named_modules())
      if (auto* const conv = dynamic_cast<nn::Conv2d*>(&module))
        nn::init::kaiming_normal_(conv->weight, {.mode = nn::init::FanMode::fan_out});
    auto& linear = classifier.get<nn::Linear>(1);
    nn::init::normal_(linear.weight, 0, 0.01);
    nn::init::zeros_(linear.bias);
  }

  /// images: [N, 3, H, W]  ->  [N, num_classes]
  Tensor forward(const Tensor& images) override {
    return classifier(adaptive_avg_pool2d(features(images), 1).flatten(1));
  }
};

}  // namespace models
