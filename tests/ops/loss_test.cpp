#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"
#include "reductions.h"

namespace minnow::test {
namespace {

using nn::Reduction;

Tensor weight_of(const Tensor& x) { return tensor({0.5, 1.0, 2.0, 0.1}, {x.dtype(), x.device()}); }

const std::vector<Inputs>& rows() {
  static const std::vector<Inputs> inputs{{values({5, 4}, -2, 2), indices({5}, 4)},
                                          {values({0, 4}), indices({0}, 4)},
                                          {values({2, 4, 3}, -2, 2), indices({2, 3}, 4)},
                                          {values({4}, -2, 2), indices({}, 4)}};
  return inputs;
}

OpCase cross_entropy(const std::string& variant, const nn::CrossEntropyLossOptions& options, bool weighted,
                     const std::vector<std::string>& golden) {
  OpCase c{.function = "cross_entropy", .variant = variant, .inputs = rows()};
  c.call = one([=](const Tensors& x) {
    nn::CrossEntropyLossOptions o = options;
    if (weighted) o.weight = weight_of(x[0]);
    return nn::cross_entropy(x[0], x[1], o);
  });
  for (const std::string& name : golden) c.golden.push_back("losses: cross_entropy/" + name);
  return c;
}

OpCases of_classes() {
  OpCases cases;
  for (const auto& [name, r] : kReductions) {
    cases.push_back(cross_entropy(name, {.reduction = r}, false, {name, "ignore," + name, "probabilities," + name}));
    cases.push_back(cross_entropy("weight," + name, {.reduction = r}, true, {"weight," + name}));
    cases.push_back(
        cross_entropy("smooth," + name, {.label_smoothing = 0.1, .reduction = r}, false, {"smooth," + name}));
    cases.push_back(cross_entropy("all," + name, {.ignore_index = 3, .label_smoothing = 0.2, .reduction = r}, true,
                                  {"all," + name}));
    cases.push_back(cross_entropy("probabilities,all," + name, {.label_smoothing = 0.2, .reduction = r}, true,
                                  {"probabilities,all," + name}));
    cases.back().inputs = {{values({5, 4}, -2, 2), values({5, 4}, 0.1, 0.9)},
                           {values({2, 4, 3}, -2, 2), values({2, 4, 3}, 0.1, 0.9)}};
    const auto nll = [r = r](bool weighted) {
      return one([=](const Tensors& x) {
        nn::NLLLossOptions o{.reduction = r};
        if (weighted) o.weight = weight_of(x[0]), o.ignore_index = 3;
        return nn::nll_loss(x[0], x[1], o);
      });
    };
    cases.push_back({.function = "nll_loss",
                     .variant = name,
                     .call = nll(false),
                     .inputs = rows(),
                     .golden = {"losses: nll_loss/" + name}});
    cases.push_back({.function = "nll_loss",
                     .variant = "weight,ignore," + name,
                     .call = nll(true),
                     .inputs = rows(),
                     .golden = {"losses: nll_loss/weight,ignore," + name}});
  }
  cases.push_back(cross_entropy("of images", {}, false, {"images", "one", "all ignored", "large"}));
  cases.push_back(
      {.function = "cross_entropy_rows",
       .call = one([](const Tensors& x) { return cross_entropy_rows(x[0], x[1]); }),
       .inputs = {rows()[0], rows()[1]},
       .same_as = one([](const Tensors& x) { return nn::cross_entropy(x[0], x[1], {.reduction = Reduction::none}); })});
  return cases;
}

using Loss = Tensor (*)(const In&, const In&, Reduction);

OpCases of_distances() {
  const std::vector<Inputs> pairs{{values({2, 3}), values({2, 3})},
                                  {values({0, 3}), values({0, 3})},
                                  {values({}), values({})},
                                  {values({3, 2}, -1.3, 0.3), values({3, 2})}};
  OpCases cases;
  for (const auto& [name, golden, function] : std::initializer_list<std::tuple<std::string, const char*, Loss>>{
           {"mse_loss", "mse_loss",
            [](const In&x, const In&y, Reduction r) { return nn::mse_loss(x, y, {.reduction = r}); }},
           {"l1_loss", "l1_loss",
            [](const In&x, const In&y, Reduction r) { return nn::l1_loss(x, y, {.reduction = r}); }},
           {"smooth_l1_loss", "smooth_l1_loss",
            [](const In&x, const In&y,
               Reduction r) { return nn::smooth_l1_loss(x, y, {.beta = 0.7, .reduction = r}); }},
           {"binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits",
            [](const In&x, const In&y, Reduction r) {
              return nn::binary_cross_entropy_with_logits(x, y, {.reduction = r});
            }}})
    for (const auto& [reduction, r] : kReductions)
      cases.push_back({.function = name,
                       .variant = reduction,
                       .call = one([f = function, r = r](const Tensors& x) { return f(x[0], x[1], r); }),
                       .inputs = pairs,
                       .golden = {"losses: " + std::string(golden) + "/" + reduction}});
  cases.push_back({.function = "binary_cross_entropy_with_logits",
                   .variant = "weights",
                   .call = one([](const Tensors& x) {
                     return nn::binary_cross_entropy_with_logits(x[0], x[1], {.weight = x[2], .pos_weight = x[3]});
                   }),
                   .inputs = {{values({2, 3}, -1, 1), values({2, 3}, 0.1, 0.9), values({3}), values({3})}},
                   .optional_from = 2});
  cases.push_back({.function = "binary_cross_entropy_with_logits",
                   .variant = "weights of classes",
                   .call = one([](const Tensors& x) {
                     const Tensor w = weight_of(x[0]);
                     return nn::binary_cross_entropy_with_logits(x[0], x[1], {.weight = w, .pos_weight = w + 1});
                   }),
                   .inputs = {{values({5, 4}, -2, 2), values({5, 4}, 0.1, 0.9)}},
                   .golden = {"losses: binary_cross_entropy_with_logits/weights"}});
  return cases;
}

const Register kLossTables[] = {Register(of_classes), Register(of_distances)};

}  // namespace
}  // namespace minnow::test
