#pragma once

#include <minnow/minnow.h>

/// He et al. 2015, "Deep Residual Learning for Image Recognition", with torchvision's names: ResNet() is its resnet18,
/// ResNet({3, 4, 6, 3}) its resnet34.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

inline nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride = 1) {
  return nn::Conv2d(in, out, 3, {.stride = stride, .padding = 1, .bias = false});
}

struct BasicBlock : nn::Module {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Sequential downsample = child("downsample", nn::Sequential());  // empty: the input itself

  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(child("conv1", conv3x3(in, out, stride))),
        conv2(child("conv2", conv3x3(out, out))),
        bn1(child("bn1", nn::BatchNorm2d(out))),
        bn2(child("bn2", nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    downsample.push_back(nn::Conv2d(in, out, 1, {.stride = stride, .bias = false}));
    downsample.push_back(nn::BatchNorm2d(out));
  }

  Tensor forward(const Tensor& x) override { return relu(bn2(conv2(relu(bn1(conv1(x))))) + downsample(x)); }
};

struct ResNetOptions {
  std::int64_t num_classes = 1000;
  std::int64_t width = 64;    ///< channels of the first stage
  bool small_images = false;  ///< a 3x3 convolution and no pool at the beginning, for images of 32x32
};

struct ResNet : nn::Module {
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Sequential maxpool, layer1, layer2, layer3, layer4;
  nn::AdaptiveAvgPool2d avgpool = child("avgpool", nn::AdaptiveAvgPool2d(1));
  nn::Linear fc;

  explicit ResNet(std::array<int, 4> blocks = {2, 2, 2, 2}, const ResNetOptions& o = {})
      : conv1(child("conv1", o.small_images ? conv3x3(3, o.width)
                                            : nn::Conv2d(3, o.width, 7, {.stride = 2, .padding = 3, .bias = false}))),
        bn1(child("bn1", nn::BatchNorm2d(o.width))),
        maxpool(child("maxpool", nn::Sequential())),
        layer1(child("layer1", stage(blocks[0], o.width, o.width, 1))),
        layer2(child("layer2", stage(blocks[1], o.width, 2 * o.width, 2))),
        layer3(child("layer3", stage(blocks[2], 2 * o.width, 4 * o.width, 2))),
        layer4(child("layer4", stage(blocks[3], 4 * o.width, 8 * o.width, 2))),
        fc(child("fc", nn::Linear(8 * o.width, o.num_classes))) {
    if (!o.small_images) maxpool.push_back(nn::MaxPool2d(3, {.stride = 2, .padding = 1}));
    for (const auto& [name, module] : named_modules())
      if (auto* const conv = dynamic_cast<nn::Conv2d*>(&module))
        nn::init::kaiming_normal_(conv->weight, {.mode = nn::init::FanMode::fan_out, .nonlinearity = "relu"});
  }

  /// images: [N, 3, H, W]  ->  [N, num_classes]
  Tensor forward(const Tensor& images) override {
    const Tensor x = maxpool(relu(bn1(conv1(images))));
    return fc(avgpool(layer4(layer3(layer2(layer1(x))))).flatten(1));
  }

 private:
  static nn::Sequential stage(int blocks, std::int64_t in, std::int64_t out, std::int64_t stride) {
    nn::Sequential stage(BasicBlock(in, out, stride));
    for (int i = 1; i < blocks; ++i) stage.push_back(BasicBlock(out, out, 1));
    return stage;
  }
};

}  // namespace models
