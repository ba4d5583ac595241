#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "errors.h"
#include "golden.h"

namespace minnow::test {
namespace {

using Tensors = std::vector<Tensor>;

class GoldenLayers : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenLayers, all_devices(), device_test_name);

TEST_P(GoldenLayers, AreAsInPyTorch) {
  const Book book("pair_layers", device());
  const auto pair = [](const auto& layer) { return [layer](const Tensors& x) { return Tensors{layer(x[0], x[1])}; }; };
  const auto one = [](const auto& layer) { return [layer](const Tensors& x) { return Tensors{layer(x[0])}; }; };
  expect_golden(book, "CosineSimilarity", pair(nn::CosineSimilarity()));
  expect_golden(book, "CosineSimilarity/dim", pair(nn::CosineSimilarity(0, 1e-6)));
  expect_golden(book, "PairwiseDistance", pair(nn::PairwiseDistance()));
  expect_golden(book, "PairwiseDistance/1", pair(nn::PairwiseDistance(1, 1e-6, true)));
  expect_golden(book, "GLU", one(nn::GLU()));
  expect_golden(book, "GLU/0", one(nn::GLU(0)));
  expect_golden(book, "Softmin", one(nn::Softmin(1)));
  nn::RReLU rrelu(0.1, 0.3);
  rrelu.eval();
  expect_golden(book, "RReLU/eval", one(rrelu));
  for (const bool bias : {true, false}) {
    const std::string name = bias ? "Bilinear" : "Bilinear/no bias";
    nn::Bilinear net(5, 3, 2, bias);
    net.to(device());
    StateDict weights;
    weights.set("weight", book[name + "/in2"]);
    if (bias) weights.set("bias", book[name + "/in3"]);
    net.load_state_dict(weights);
    Tensor x = book[name + "/in0"].requires_grad_(), y = book[name + "/in1"].requires_grad_();
    const Tensor out = net(x, y);
    expect_close(out, book[name + "/out0"], name);
    out.backward(book[name + "/grad_out"]);
    expect_close(x.grad(), book[name + "/grad0"], name, {1e-5, 1e-5});
    expect_close(y.grad(), book[name + "/grad1"], name, {1e-5, 1e-5});
    expect_close(net.weight.grad(), book[name + "/grad2"], name, {1e-5, 1e-5});
    if (bias) expect_close(net.bias.grad(), book[name + "/grad3"], name, {1e-5, 1e-5});
  }
}

TEST_P(GoldenLayers, RandomSlopesAndUnflatten) {
  const nn::RReLU layer(0.2, 0.4);
  Tensor x = full({1000}, -1.0, {.device = device()}).requires_grad_();
  const Tensor y = layer(x);
  sum(y).backward();
  EXPECT_TRUE(x.grad().allclose(-y.detach()));
  EXPECT_GE(amin(x.grad()).item(), 0.2);
  EXPECT_LE(amax(x.grad()).item(), 0.4);
  EXPECT_NEAR(mean(x.grad()).item(), 0.3, 0.01);
  EXPECT_EQ(nn::Unflatten(1, {2, -1})(ones({3, 8, 2}, {.device = device()})).shape(), (Shape{3, 2, 4, 2}));
  EXPECT_EQ(nn::Unflatten(-1, {2, 4}).describe(), "Unflatten(-1, [2, 4])");
}

TEST(LayerErrors, BadInputs) {
  const nn::Bilinear net(5, 3, 2);
  expect_errors({
      Misuse{"ValueError", "Bilinear", "must be positive, got 0", [] { nn::Bilinear(5, 0, 2); }},
      Misuse{"ShapeError", "Bilinear", "in1_features",
             [=] {
               (void)net(ones({2, 5}), ones({2, 5}));
             }},
      Misuse{"ShapeError", "GLU", "must be even", [] { (void)nn::GLU()(ones({3})); }},
      Misuse{"ValueError", "RReLU", "got 2 and 1", [] { nn::RReLU(2, 1); }},
  });
}

}  // namespace
}  // namespace minnow::test
