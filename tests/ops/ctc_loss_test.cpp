#include <gtest/gtest.h>
#include <minnow/autograd/engine.h>
#include <minnow/nn/losses/ctc_loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/index.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

using nn::Reduction;

Tensor lengths(const std::vector<std::int64_t>& numbers, const Tensor& like) {
  return tensor(numbers, {DType::int64, like.device()});
}

OpCase ctc_loss_row(const std::string& golden, const Function& call, const std::vector<Inputs>& inputs,
                    Gradient gradient = Gradient::kFirst) {
  return {.function = "ctc_loss",
          .variant = golden,
          .call = call,
          .inputs = inputs,
          .dtypes = {DType::float32, DType::float64},
          .gradient = gradient,
          .golden = {"ctc_loss: " + golden}};
}

OpCases cases() {
  OpCases rows;
  const Inputs padded{values({6, 3, 5}, -1, 1), indices({3, 2}, 4)}, joined{values({6, 3, 5}, -1, 1), indices({5}, 4)};
  for (const auto& [name, r] :
       {std::pair("mean", Reduction::mean), {"sum", Reduction::sum}, {"none", Reduction::none}}) {
    const Reduction reduction = r;
    rows.push_back(ctc_loss_row(std::string("padded/") + name, one([=](const Tensors& x) {
                                  return nn::ctc_loss(log_softmax(x[0], 2), x[1] + 1, lengths({6, 4, 5}, x[0]),
                                                      lengths({2, 1, 2}, x[0]), {.reduction = reduction});
                                }),
                                {padded}));
    rows.push_back(ctc_loss_row(std::string("joined/") + name, one([=](const Tensors& x) {
                                  return nn::ctc_loss(log_softmax(x[0], 2), x[1], lengths({6, 6, 5}, x[0]),
                                                      lengths({2, 0, 3}, x[0]), {.blank = 4, .reduction = reduction});
                                }),
                                {joined}));
  }
  rows.push_back(ctc_loss_row("single", one([](const Tensors& x) {
                                return nn::ctc_loss(
                                    log_softmax(x[0], 1), x[1] + 1, full({}, 6, {DType::int64, x[0].device()}),
                                    full({}, 2, {DType::int64, x[0].device()}), {.reduction = Reduction::none});
                              }),
                              {{values({6, 5}, -1, 1), indices({2}, 4)}}));
  // The gradient of log-probabilities is PyTorch's, which is that of log_softmax's argument.
  rows.push_back(ctc_loss_row("log_probs", one([](const Tensors& x) {
                                return nn::ctc_loss(x[0], x[1] + 1, lengths({6, 4, 5}, x[0]), lengths({2, 1, 2}, x[0]));
                              }),
                              {padded}, Gradient::kUnchecked));
  // Targets that are longer than the input.
  rows.push_back(ctc_loss_row("infinite", one([](const Tensors& x) {
                                return nn::ctc_loss(log_softmax(x[0], 2), x[1], lengths({6, 1, 0}, x[0]),
                                                    lengths({2, 2, 2}, x[0]), {.reduction = Reduction::none});
                              }),
                              {padded}, Gradient::kUnchecked));
  rows.push_back(ctc_loss_row("zero_infinity", one([](const Tensors& x) {
                                return nn::ctc_loss(log_softmax(x[0], 2), x[1] + 1, lengths({6, 1, 0}, x[0]),
                                                    lengths({2, 2, 0}, x[0]), {.zero_infinity = true});
                              }),
                              {padded}));
  rows.push_back(ctc_loss_row("long", one([](const Tensors& x) {
                                return nn::ctc_loss(log_softmax(x[0], 2), x[1], lengths({40, 33}, x[0]),
                                                    lengths({16, 12}, x[0]), {.blank = 9, .reduction = Reduction::sum});
                              }),
                              {{values({40, 2, 10}, -1, 1), indices({2, 16}, 9)}}));
  rows.back().tolerance = {3e-5, 3e-5};  // a chain of 40 logarithms in float32
  return rows;
}

const Register kCtcLossTable(cases);

TEST(CtcLoss, RefusesWrongNumbersOnEachDevice) {
  for (const Device& device : test_devices()) {
    const Tensor x = log_softmax(zeros({4, 2, 3}, {DType::float32, device}), 2);
    const auto numbers = [&](const std::vector<std::int64_t>& n) { return tensor(n, {DType::int64, device}); };
    const auto loss = [&](const Tensor& targets, const Tensor& in, const Tensor& out) {
      const Tensor y = nn::ctc_loss(x, targets, in, out);
      synchronize(device);
      return y;
    };
    const Tensor two = ones({2, 2}, {DType::int64, device}), all4 = numbers({4, 4}), all2 = numbers({2, 2});
    EXPECT_NO_THROW(loss(two, all4, all2));
    EXPECT_THROW(loss(two, numbers({4, 5}), all2), ValueError);
    EXPECT_THROW(loss(two, numbers({-1, 4}), all2), ValueError);
    EXPECT_THROW(loss(two, all4, numbers({3, 2})), ValueError);
    EXPECT_THROW(loss(two, all4, numbers({2, -2})), ValueError);
    EXPECT_THROW(loss(two + 2, all4, all2), IndexError);
    EXPECT_THROW(loss(two - 2, all4, all2), IndexError);
    EXPECT_THROW(loss(numbers({1, 1, 1, 1, 1}), all4, all2), ValueError);
    EXPECT_THROW(loss(numbers({1, 1, 1}), all4, all2), ValueError);
    // What the lengths leave out is not read.
    EXPECT_NO_THROW(loss(tensor({{1, 9}, {2, -9}}, {DType::int64, device}), all4, numbers({1, 1})));
  }
}

TEST(CtcLoss, SecondDerivativeIsAnError) {
  const Tensor x = zeros({4, 1, 3}).requires_grad_(), n = full({1}, 4, DType::int64), s = full({1}, 1, DType::int64);
  const Tensor y = nn::ctc_loss(log_softmax(x, 2), ones({1, 1}, DType::int64), n, s);
  const Tensor g = grad({y}, {x}, {.create_graph = true})[0];
  EXPECT_THROW(sum(g * g).backward(), AutogradError);
}

}  // namespace
}  // namespace minnow::test
