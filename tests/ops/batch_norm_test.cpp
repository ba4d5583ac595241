#include <minnow/ops/norms/batch_norm.h>

#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include "op_cases.h"

namespace minnow::test {
namespace {

Tensor at(const Tensors& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

/// The others are weight and bias.
Function in_training(double eps = 1e-5) {
  return one(
      [=](const Tensors& x) { return batch_norm(x[0], {}, {}, at(x, 1), at(x, 2), {.training = true, .eps = eps}); });
}

/// Running statistics as those of the golden cases.
std::pair<Tensor, Tensor> running(const Tensor& x) {
  const auto like = [&](const Tensor& t) {
    return t.narrow(0, 0, x.dim() > 1 ? x.size(1) : 0)
        .to(x.is_floating_point() ? x.dtype() : DType::float32)
        .to(x.device());
  };
  return {like(tensor({0.5, -1, 2})), like(tensor({0.5, 1, 4}))};
}
Function in_evaluation() {
  return one([=](const Tensors& x) {
    const auto [mean, variance] = running(x[0]);
    return batch_norm(x[0], mean, variance, at(x, 1), at(x, 2));
  });
}
/// What is left in the running statistics, too.
Function with_running(double momentum) {
  return one([=](const Tensors& x) {
    const auto [mean, variance] = running(x[0]);
    const Tensor y = batch_norm(x[0], mean, variance, {}, {}, {.training = true, .momentum = momentum});
    return cat({y.flatten(), mean, variance});
  });
}

OpCases of_channels() {
  const Input weight = values({3}), bias = values({3}, -0.5, 0.5);
  const std::vector<Inputs> inputs = {{values({2, 3, 2, 2}, -1, 1), weight, bias},
                                      {values({5, 3}, 1, 3), weight},
                                      {values({4, 3, 5}, -2, 2)},
                                      {values({2, 3, 1, 2, 3}), weight, bias},
                                      {values({0, 3, 2}), weight, bias},
                                      {values({3, 3, 0}), weight, bias}};
  return {{.function = "batch_norm",
           .variant = "in training",
           .call = in_training(),
           .inputs = inputs,
           .golden = {"batch_norm: train", "batch_norm: train/alone", "batch_norm: train/no bias",
                      "batch_norm: train/rows", "batch_norm: train/sequence", "batch_norm: train/volume",
                      "batch_norm: train/last", "batch_norm: train/torch.float64"},
           .optional_from = 1},
          {.function = "batch_norm",
           .variant = "in evaluation",
           .call = in_evaluation(),
           .inputs = inputs,
           .golden = {"batch_norm: eval", "batch_norm: eval/alone", "batch_norm: eval/torch.float64",
                      "batch_norm: eval/torch.float16", "batch_norm: eval/torch.bfloat16"},
           .optional_from = 1},
          {.function = "batch_norm",
           .variant = "with running statistics",
           .call = with_running(0.1),
           .inputs = {{values({2, 3, 2}, -1, 1)}},
           .gradient = Gradient::kUnchecked,  // the running statistics have none
           .golden = {"batch_norm: running"}},
          {.function = "batch_norm",
           .variant = "with momentum",
           .call = with_running(0.7),
           .inputs = {{values({2, 3, 2}, -1, 1)}},
           .gradient = Gradient::kUnchecked,
           .golden = {"batch_norm: running/momentum"}},
          {.function = "batch_norm",
           .variant = "with eps",
           .call = in_training(0.5),
           .inputs = {{values({4, 2}, -1, 1)}},
           .golden = {"batch_norm: train/eps"}},
          {.function = "instance_norm",
           .call = one([](const Tensors& x) { return instance_norm(x[0], at(x, 1), at(x, 2)); }),
           .inputs = {{values({2, 3, 2, 2}, -1, 1), weight, bias}, {values({3, 2, 5})}, {values({0, 3, 2}), weight}},
           .golden = {"batch_norm: instance"},
           .optional_from = 1},
          {.function = "instance_norm",
           .variant = "with eps",
           .call = one([](const Tensors& x) { return instance_norm(x[0], {}, {}, 0.1); }),
           .inputs = {{values({2, 3, 4}, -1, 1)}},
           .golden = {"batch_norm: instance/alone"}}};
}
const Register kBatchNormTable(of_channels);

Function in_groups(std::int64_t groups) {
  return one([=](const Tensors& x) { return group_norm(x[0], groups, at(x, 1), at(x, 2)); });
}
OpCases of_groups() {
  const Input weight = values({6}), bias = values({6}, -0.5, 0.5);
  OpCases cases;
  for (const int groups : {1, 2, 6})
    cases.push_back({.function = "group_norm",
                     .variant = std::to_string(groups),
                     .call = in_groups(groups),
                     .inputs = {{values({3, 6, 2, 2}, -1, 1), weight, bias},
                                {values({2, 6, 3}), weight},
                                {values({0, 6, 3}), weight, bias}},
                     .golden = {"batch_norm: group/" + std::to_string(groups)},
                     .optional_from = 1});
  cases.push_back({.function = "group_norm",
                   .variant = "alone",
                   .call = in_groups(3),
                   .inputs = {{values({3, 6, 2, 2}, -1, 1)}},
                   .golden = {"batch_norm: group/alone"}});
  cases.push_back({.function = "group_norm",
                   .variant = "rows",
                   .call = in_groups(2),
                   .inputs = {{values({3, 6}, -1, 1)}},
                   .golden = {"batch_norm: group/rows"}});
  return cases;
}
const Register kGroups(of_groups);

}  // namespace
}  // namespace minnow::test
