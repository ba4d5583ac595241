#include <minnow/nn/losses/margin_loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"
#include "reductions.h"

namespace minnow::test {
namespace {

using nn::Reduction;

OpCase margin_loss_row(const std::string& function, const std::string& golden, const Function& call,
                       const std::vector<Inputs>& inputs) {
  return {
      .function = function, .variant = golden, .call = call, .inputs = inputs, .golden = {"margin_losses: " + golden}};
}

/// 0 and 1 become -1 and 1.
Tensor signs(const Tensor& flags) { return flags * 2 - 1; }
Tensor class_weight(const Tensor& x) { return tensor({0.5, 1.0, 2.0, 0.1}, {x.dtype(), x.device()}); }

OpCases of_signs() {
  const Input x = values({5, 4}, -2, 2), y = values({5, 4}, -2, 2);
  const std::vector<Inputs> scores{
      {x, indices({5, 4}, 2)}, {values({0, 3}), indices({0, 3}, 2)}, {values({}), indices({}, 2)}};
  const std::vector<Inputs> two{{x, y, indices({5, 4}, 2)}, {values({}), values({}), indices({}, 2)}};
  const std::vector<Inputs> vectors{{x, y, indices({5}, 2)},
                                    {values({0, 3}), values({0, 3}), indices({0}, 2)},
                                    {values({3}), values({3}), indices({}, 2)}};
  OpCases cases;
  for (const auto& [name, reduction] : kReductions) {
    const Reduction r = reduction;
    cases.push_back(margin_loss_row(
        "soft_margin_loss", "soft_margin/" + name,
        one([r](const Tensors& t) { return nn::soft_margin_loss(t[0], signs(t[1]), {.reduction = r}); }), scores));
    cases.push_back(margin_loss_row("hinge_embedding_loss", "hinge_embedding/" + name, one([r](const Tensors& t) {
                                      return nn::hinge_embedding_loss(t[0], signs(t[1]),
                                                                      {.margin = 0.7, .reduction = r});
                                    }),
                                    scores));
    cases.push_back(margin_loss_row("margin_ranking_loss", "margin_ranking/" + name, one([r](const Tensors& t) {
                                      return nn::margin_ranking_loss(t[0], t[1], signs(t[2]),
                                                                     {.margin = 0.3, .reduction = r});
                                    }),
                                    two));
    cases.push_back(margin_loss_row("cosine_embedding_loss", "cosine_embedding/" + name, one([r](const Tensors& t) {
                                      return nn::cosine_embedding_loss(t[0], t[1], signs(t[2]),
                                                                       {.margin = 0.1, .reduction = r});
                                    }),
                                    vectors));
    cases.push_back(margin_loss_row(
        "multilabel_soft_margin_loss", "multilabel_soft_margin/" + name,
        one([r](const Tensors& t) { return nn::multilabel_soft_margin_loss(t[0], t[1], {.reduction = r}); }),
        {scores[0], scores[1], {values({2, 3, 2}, -1, 1), indices({2, 3, 2}, 2)}}));
    cases.push_back(margin_loss_row(
        "multilabel_soft_margin_loss", "multilabel_soft_margin/weight," + name, one([r](const Tensors& t) {
          return nn::multilabel_soft_margin_loss(t[0], t[1], {.weight = class_weight(t[0]), .reduction = r});
        }),
        {scores[0]}));
  }
  cases.push_back(margin_loss_row(
      "cosine_embedding_loss", "cosine_embedding/one",
      one([](const Tensors& t) { return nn::cosine_embedding_loss(t[0], t[1], signs(t[2])); }), {vectors[2]}));
  return cases;
}

OpCases margins_of_classes() {
  const Input x = values({5, 4}, -2, 2);
  const std::vector<Inputs> scores{
      {x, indices({5}, 4)}, {values({0, 4}), indices({0}, 4)}, {values({4}), indices({}, 4)}};
  // Equal classes count twice.
  const std::vector<Inputs> labels{{x, indices({5, 4}, 4)}, {values({0, 3}), indices({0, 3}, 3)}};
  OpCases cases;
  for (const auto& [name, reduction] : kReductions) {
    const Reduction r = reduction;
    cases.push_back(margin_loss_row(
        "multilabel_margin_loss", "multilabel_margin/" + name,
        one([r](const Tensors& t) { return nn::multilabel_margin_loss(t[0], t[1], {.reduction = r}); }), labels));
    cases.push_back(margin_loss_row(
        "multi_margin_loss", "multi_margin/" + name,
        one([r](const Tensors& t) { return nn::multi_margin_loss(t[0], t[1], {.reduction = r}); }), scores));
    cases.push_back(margin_loss_row("multi_margin_loss", "multi_margin/weight," + name, one([r](const Tensors& t) {
                                      return nn::multi_margin_loss(
                                          t[0], t[1],
                                          {.p = 2, .margin = 0.7, .weight = class_weight(t[0]), .reduction = r});
                                    }),
                                    scores));
  }
  cases.push_back(margin_loss_row("multilabel_margin_loss", "multilabel_margin/one",
                                  one([](const Tensors& t) { return nn::multilabel_margin_loss(t[0], t[1]); }),
                                  {{values({4}), indices({4}, 4)}}));
  cases.push_back(margin_loss_row("multi_margin_loss", "multi_margin/one",
                                  one([](const Tensors& t) { return nn::multi_margin_loss(t[0], t[1]); }),
                                  {scores[2]}));
  cases.push_back(margin_loss_row("multi_margin_loss", "multi_margin/one of one", one([](const Tensors& t) {
                                    return nn::multi_margin_loss(t[0], t[1], {.reduction = Reduction::none});
                                  }),
                                  {{values({4}), indices({1}, 4)}}));
  return cases;
}

OpCases margins_of_distances() {
  const Input a = values({5, 4}, -2, 2), b = values({5, 4}, -2, 2);
  const std::vector<Inputs> pairs{
      {a, b}, {values({0, 3}), values({0, 3})}, {values({2, 1, 3}), values({4, 3}, 1.5, 2)}};
  OpCases cases;
  for (const auto& [name, reduction] : kReductions) {
    const Reduction r = reduction;
    cases.push_back(margin_loss_row("triplet_margin_loss", "triplet_margin/" + name, one([r](const Tensors& t) {
                                      return nn::triplet_margin_loss(t[0], t[1], t[2], {.reduction = r});
                                    }),
                                    {{a, b, values({5, 4}, -2, 2)}, {values({3}), values({3}, 1, 2), values({3})}}));
    cases.push_back(margin_loss_row("triplet_margin_loss", "triplet_margin/swap," + name, one([r](const Tensors& t) {
                                      return nn::triplet_margin_loss(
                                          t[0], t[1], t[2],
                                          {.margin = 2.5, .p = 3, .eps = 0.1, .swap = true, .reduction = r});
                                    }),
                                    {{a, b, values({5, 4}, -2, 2)}}));
  }
  cases.push_back(margin_loss_row("pairwise_distance", "pairwise_distance/2",
                                  one([](const Tensors& t) { return pairwise_distance(t[0], t[1]); }), pairs));
  cases.push_back(
      margin_loss_row("pairwise_distance", "pairwise_distance/2,keep",
                      one([](const Tensors& t) { return pairwise_distance(t[0], t[1], {.keepdim = true}); }), pairs));
  cases.push_back(margin_loss_row(
      "pairwise_distance", "pairwise_distance/1,eps",
      one([](const Tensors& t) { return pairwise_distance(t[0], t[1], {.p = 1, .eps = 0.1}); }), pairs));
  cases.push_back(margin_loss_row("cosine_similarity", "cosine_similarity/1",
                                  one([](const Tensors& t) { return cosine_similarity(t[0], t[1]); }),
                                  {pairs[0], pairs[1]}));
  cases.push_back(margin_loss_row("cosine_similarity", "cosine_similarity/0",
                                  one([](const Tensors& t) { return cosine_similarity(t[0], t[1], 0); }),
                                  {pairs[0], {values({3}), values({3})}}));
  cases.push_back(margin_loss_row("cosine_similarity", "cosine_similarity/broadcast",
                                  one([](const Tensors& t) { return cosine_similarity(t[0], t[1], -1, 2); }),
                                  {{values({5, 4}, 1.5, 2), values({4}, 1.5, 2)}}));
  return cases;
}

const Register kMarginLossTables[] = {Register(of_signs), Register(margins_of_classes), Register(margins_of_distances)};

}  // namespace
}  // namespace minnow::test
