#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/optim/optimizers.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

/// The network of make_training.py.
struct Net : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 3, 3));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(3, 4, 3, {.padding = 1}));
  nn::Linear fc = child("fc", nn::Linear(36, 5));

  Tensor forward(const Tensor& x) override { return fc(max_pool2d(relu(conv2(relu(conv1(x)))), 2).flatten(1)); }
};

class GoldenModule : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenModule, all_devices(), device_test_name);

TEST_P(GoldenModule, LoadsByNameAndTrainsAsInPyTorch) {
  const Book book("module", device());
  Net net;
  net.to(device());
  StateDict weights;
  for (const auto& [name, tensor] : net.state_dict()) weights.set(name, book["net." + name]);
  net.load_state_dict(weights);
  const Tensor images = book["images"], labels = book["labels"];

  const Tensor logits = net(images);
  expect_close(logits, book["logits"], "logits");
  nn::cross_entropy(logits, labels).backward();
  for (const auto& [name, p] : net.named_parameters()) expect_close(p.grad(), book["grad." + name], name);

  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  const std::vector<double> losses = book["losses"].to_vector<double>();
  for (const double want : losses) {
    adam.zero_grad();
    const Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    adam.step();
    EXPECT_NEAR(loss.item(), want, 1e-4 * want + 1e-5);
  }
  for (const auto& [name, p] : net.named_parameters())
    expect_close(p.detach(), book["after." + name], name, {1e-3, 1e-4});
}

}  // namespace
}  // namespace minnow::test
