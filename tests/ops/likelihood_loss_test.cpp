#include <minnow/nn/losses/likelihood_loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"
#include "reductions.h"

namespace minnow::test {
namespace {

using nn::Reduction;

std::vector<Inputs> pairs(double low, double high, double target_low, double target_high) {
  const auto pair = [&](const Shape& shape) {
    return Inputs{values(shape, low, high), values(shape, target_low, target_high)};
  };
  return {pair({5, 4}), pair({2, 3, 2}), pair({0, 3}), pair({})};
}

OpCase likelihood_loss_row(const std::string& function, const std::string& golden, const Function& call,
                           const std::vector<Inputs>& inputs) {
  return {.function = function,
          .variant = golden,
          .call = call,
          .inputs = inputs,
          .golden = {"likelihood_losses: " + golden}};
}

OpCases of_pairs() {
  OpCases cases;
  const auto probabilities = pairs(0.1, 0.9, 0.1, 0.9), logs = pairs(-3, -0.1, 0.1, 0.9), rates = pairs(-1, 1, 2, 9);
  const auto weight = [](const Tensor& x) { return tensor({0.5, 1.0, 2.0, 0.1}, {x.dtype(), x.device()}); };
  for (const auto& [name, reduction] : kReductions) {
    const Reduction r = reduction;
    cases.push_back(likelihood_loss_row("huber_loss", "huber/" + name, one([r](const Tensors& x) {
                                          return nn::huber_loss(x[0], x[1], {.delta = 0.7, .reduction = r});
                                        }),
                                        pairs(-2, 2, -0.3, 0.3)));
    cases.push_back(likelihood_loss_row(
        "binary_cross_entropy", "bce/" + name,
        one([r](const Tensors& x) { return nn::binary_cross_entropy(x[0], x[1], {.reduction = r}); }), probabilities));
    cases.push_back(likelihood_loss_row("binary_cross_entropy", "bce/weight," + name, one([=](const Tensors& x) {
                                          return nn::binary_cross_entropy(x[0], x[1],
                                                                          {.weight = weight(x[0]), .reduction = r});
                                        }),
                                        {probabilities[0]}));
    cases.push_back(likelihood_loss_row("kl_div", "kl_div/" + name,
                                        one([r](const Tensors& x) { return nn::kl_div(x[0], x[1], {.reduction = r}); }),
                                        logs));
    cases.push_back(likelihood_loss_row("kl_div", "kl_div/log," + name, one([r](const Tensors& x) {
                                          return nn::kl_div(x[0], x[1], {.reduction = r, .log_target = true});
                                        }),
                                        pairs(-3, -0.1, -3, -0.1)));
    cases.push_back(likelihood_loss_row(
        "poisson_nll_loss", "poisson/" + name,
        one([r](const Tensors& x) { return nn::poisson_nll_loss(x[0], x[1], {.reduction = r}); }), rates));
    cases.push_back(likelihood_loss_row("poisson_nll_loss", "poisson/full," + name, one([r](const Tensors& x) {
                                          return nn::poisson_nll_loss(x[0], x[1], {.full = true, .reduction = r});
                                        }),
                                        rates));
    cases.push_back(likelihood_loss_row(
        "poisson_nll_loss", "poisson/rate," + name, one([r](const Tensors& x) {
          return nn::poisson_nll_loss(x[0], x[1], {.log_input = false, .full = true, .eps = 1e-3, .reduction = r});
        }),
        pairs(0.5, 4, 0.1, 0.9)));
  }
  cases.push_back(likelihood_loss_row("huber_loss", "huber/delta 1",
                                      one([](const Tensors& x) { return nn::huber_loss(x[0], x[1]); }),
                                      pairs(-3, 3, -0.3, 0.3)));
  cases.push_back(likelihood_loss_row("binary_cross_entropy", "bce/edges", one([](const Tensors& x) {
                                        return nn::binary_cross_entropy(x[0], x[1], {.reduction = Reduction::none});
                                      }),
                                      probabilities));
  cases.push_back({.function = "binary_cross_entropy",
                   .variant = "weights",
                   .call = one([](const Tensors& x) { return nn::binary_cross_entropy(x[0], x[1], {.weight = x[2]}); }),
                   .inputs = {{values({2, 3}, 0.1, 0.9), values({2, 3}, 0.1, 0.9), values({3})}},
                   .optional_from = 2});
  cases.push_back(likelihood_loss_row(
      "kl_div", "kl_div/batchmean",
      one([](const Tensors& x) { return nn::kl_div(x[0], x[1], {.reduction = Reduction::batchmean}); }), logs));
  cases.push_back(likelihood_loss_row("kl_div", "kl_div/log,batchmean", one([](const Tensors& x) {
                                        return nn::kl_div(x[0], x[1],
                                                          {.reduction = Reduction::batchmean, .log_target = true});
                                      }),
                                      pairs(-3, -0.1, -3, -0.1)));
  cases.push_back(likelihood_loss_row("kl_div", "kl_div/zeros", one([](const Tensors& x) {
                                        const Tensor few = tensor({0., 0.5, 0.5, 0.}, {x[0].dtype(), x[0].device()});
                                        return nn::kl_div(x[0], few.expand(x[0].shape()),
                                                          {.reduction = Reduction::none});
                                      }),
                                      {{values({5, 4}, -3, -0.1)}}));
  for (OpCase& c : cases)
    if (c.function == "kl_div") c.exact = false;  // the difference of two like numbers
  return cases;
}

OpCases gaussian() {
  OpCases cases;
  const Input x = values({5, 4}, -1, 1), target = values({5, 4}, -1, 1), var = values({5, 4}, 0.6, 2);
  for (const auto& [name, reduction] : kReductions) {
    const Reduction r = reduction;
    cases.push_back(likelihood_loss_row(
        "gaussian_nll_loss", "gaussian/" + name,
        one([r](const Tensors& t) { return nn::gaussian_nll_loss(t[0], t[1], t[2], {.reduction = r}); }),
        {{x, target, var}, {values({0, 3}), values({0, 3}), values({0, 3})}, {values({}), values({}), values({})}}));
    cases.push_back(likelihood_loss_row("gaussian_nll_loss", "gaussian/full," + name, one([r](const Tensors& t) {
                                          return nn::gaussian_nll_loss(t[0], t[1], t[2],
                                                                       {.full = true, .eps = 0.5, .reduction = r});
                                        }),
                                        {{x, target, var}}));
  }
  const Function plain = one([](const Tensors& t) { return nn::gaussian_nll_loss(t[0], t[1], t[2]); });
  cases.push_back(likelihood_loss_row("gaussian_nll_loss", "gaussian/rows", plain, {{x, target, values({5}, 0.6, 2)}}));
  cases.push_back(likelihood_loss_row("gaussian_nll_loss", "gaussian/columns", plain,
                                      {{x, target, values({5, 1}, 0.6, 2)}, {x, target, values({}, 0.6, 2)}}));
  return cases;
}

const Register kLikelihoodLossTables[] = {Register(of_pairs), Register(gaussian)};

}  // namespace
}  // namespace minnow::test
