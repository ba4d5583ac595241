#pragma once

#include <minnow/minnow.h>

/// Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition", with batch
/// normalization and torchvision's names.  VGG() is its vgg11_bn.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

struct VGGOptions {
  std::vector<std::int64_t> layers = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};  ///< channels; 0: a pool
  std::int64_t hidden = 4096, num_classes = 1000;
  double dropout = 0.5;
};

struct VGG : nn::Module {
  nn::Sequential features = child("features", nn::Sequential());
  nn::AdaptiveAvgPool2d avgpool = child("avgpool", nn::AdaptiveAvgPool2d(7));
  nn::Sequential classifier = child("classifier", nn::Sequential());

  explicit VGG(const VGGOptions& o = {}) {
    std::int64_t channels = 3;
    for (const std::int64_t out : o.layers) {
      if (out == 0) {
        features.push_back(nn::MaxPool2d(2, {.stride = 2}));
        continue;
      }
      const nn::Conv2d conv(channels, out, 3, {.padding = 1});
      nn::init::kaiming_normal_(conv.weight, {.mode = nn::init::FanMode::fan_out, .nonlinearity = "relu"});
      nn::init::zeros_(conv.bias);
      features.push_back(conv);
      features.push_back(nn::BatchNorm2d(out));
      features.push_back(nn::ReLU());
      channels = out;
    }
    for (const auto& [in, out] : {std::pair(49 * channels, o.hidden), std::pair(o.hidden, o.hidden)}) {
      classifier.push_back(linear(in, out));
      classifier.push_back(nn::ReLU());
      classifier.push_back(nn::Dropout(o.dropout));
    }
    classifier.push_back(linear(o.hidden, o.num_classes));
  }

  /// images: [N, 3, H, W]  ->  [N, num_classes]
  Tensor forward(const Tensor& images) override { return classifier(avgpool(features(images)).flatten(1)); }

 private:
  static nn::Linear linear(std::int64_t in, std::int64_t out) {
    nn::Linear linear(in, out);
    nn::init::normal_(linear.weight, 0, 0.01);
    nn::init::zeros_(linear.bias);
    return linear;
  }
};

}  // namespace models
