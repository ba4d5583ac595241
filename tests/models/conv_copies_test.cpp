// After its first steps a network on channels-last images copies no activation because of its layout.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include "../../examples/models/resnet.h"

namespace minnow {
namespace {

/// What a step copies, after two others.
template <class Model> cpu::ConvCopies copies_of_a_step(Model& model, const Tensor& images) {
  optim::SGD sgd(model.parameters(), {.lr = 0.01});
  const Tensor labels = arange(images.size(0), int64) % 10;
  cpu::ConvCopies before{};
  for (int i = 0; i < 3; ++i) {
    before = cpu::conv_copies();
    const Tensor loss = nn::cross_entropy(model(images), labels);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  const cpu::ConvCopies after = cpu::conv_copies();
  return {after.activations - before.activations, after.weights - before.weights};
}

TEST(ConvCopies, OfACnnOnDigits) {
  manual_seed(1);
  nn::Sequential net(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Dropout(0.25), nn::Flatten(), nn::Linear(9216, 10));
  const cpu::ConvCopies copies = copies_of_a_step(net, randn({16, 1, 28, 28}));
  EXPECT_EQ(copies.activations, 0);
  EXPECT_LE(copies.weights, 2);  // the second convolution's, for each direction
}

TEST(ConvCopies, OfResNet18) {
  manual_seed(2);
  models::ResNet net({2, 2, 2, 2}, {.num_classes = 10, .width = 32});
  const Tensor images = randn({8, 3, 64, 64}).contiguous(MemoryFormat::channels_last);
  const cpu::ConvCopies copies = copies_of_a_step(net, images);
  EXPECT_EQ(copies.activations, 0);
  EXPECT_LE(copies.weights, 2 * 20);
}

TEST(ConvCopies, TheGradientOfTheImagesIsNotComputed) {
  const Tensor images = zeros({1, 2, 1024, 1024}).contiguous(MemoryFormat::channels_last);
  nn::Conv2d conv(2, 16, 3, {.stride = 8});
  const Tensor loss = sum(conv(images));
  reset_peak_memory("cpu");
  const std::int64_t before = max_memory("cpu");
  loss.backward();
  EXPECT_LT(max_memory("cpu") - before, images.nbytes() / 2);
}

TEST(ConvCopies, AreCounted) {
  const std::int64_t before = cpu::conv_copies().activations;
  (void)conv2d(randn({2, 3, 8, 8}), randn({16, 3, 3, 3}));
  EXPECT_EQ(cpu::conv_copies().activations, before + 1);
}

}  // namespace
}  // namespace minnow
