#pragma once

#include <memory>
#include <string>
#include <minnow/minnow.h>

/// Small networks for images of one channel and 28x28 pixels: [N, 1, 28, 28] -> [N, 10].
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

struct Mlp : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(784, 128));
  nn::Linear fc2 = child("fc2", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override { return fc2(relu(fc1(x.flatten(1)))); }
};

struct Cnn : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 32, 3));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(32, 64, 3));
  nn::MaxPool2d pool = child("pool", nn::MaxPool2d(2));
  nn::Dropout dropout1 = child("dropout1", nn::Dropout(0.25));
  nn::Linear fc1 = child("fc1", nn::Linear(9216, 128));
  nn::Dropout dropout2 = child("dropout2", nn::Dropout(0.5));
  nn::Linear fc2 = child("fc2", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override {
    const Tensor features = dropout1(pool(relu(conv2(relu(conv1(x))))));
    return fc2(dropout2(relu(fc1(features.flatten(1)))));
  }
};

/// "mlp" or "cnn".
inline std::unique_ptr<nn::Module> mnist(const std::string& name) {
  if (name == "mlp") return std::make_unique<Mlp>();
  return std::make_unique<Cnn>();
}

}  // namespace models
