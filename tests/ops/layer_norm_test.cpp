#include <minnow/ops/norms/layer_norm.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

/// Over the last `rank` dimensions of the first input; the others are weight and bias.
Function over(int rank, double eps = 1e-5) {
  return one([=](const Tensors& x) {
    Shape sizes;
    for (int d = -rank; d < 0; ++d) sizes.push_back(x[0].dim() < rank ? 1 : x[0].size(d));
    return layer_norm(x[0], sizes, x.size() > 1 ? x[1] : Tensor(), x.size() > 2 ? x[2] : Tensor(), eps);
  });
}

OpCases of_rows() {
  const Input weight = values({5}), bias = values({5}, -0.5, 0.5);
  return {{.function = "layer_norm",
           .call = over(1),
           .inputs = {{values({2, 3, 5}, -1, 1), weight, bias},
                      {values({3, 5}, 1, 3), weight},
                      {values({5}, -1, 1)},
                      {values({4, 1}), values({1}), values({1})},
                      {values({3, 70}, -2, 2), values({70}), values({70})},
                      {values({0, 5}), weight, bias},
                      {values({3, 0}), values({0}), values({0})}},
           .golden = {"layer_norm: last", "layer_norm: last/no bias", "layer_norm: last/alone",
                      "layer_norm: last/torch.float64", "layer_norm: last/torch.float16",
                      "layer_norm: last/torch.bfloat16", "layer_norm: last/long", "layer_norm: last/equal",
                      "layer_norm: last/no rows", "layer_norm: last/empty rows", "layer_norm: last/nan"},
           .optional_from = 1},
          {.function = "layer_norm",
           .variant = "over two dimensions",
           .call = over(2),
           .inputs = {{values({2, 3, 5}, -1, 1), values({3, 5}), values({3, 5})}, {values({3, 5})}},
           .golden = {"layer_norm: two"},
           .optional_from = 1},
          {.function = "layer_norm",
           .variant = "with a bias alone",
           .call = one([](const Tensors& x) { return layer_norm(x[0], 5, {}, x[1]); }),
           .inputs = {{values({3, 5}, -1, 1), bias}},
           .golden = {"layer_norm: bias"},
           .optional_from = 1},
          {.function = "layer_norm",
           .variant = "with eps",
           .call = over(1, 0.5),
           .inputs = {{values({2, 5}, -1, 1)}},
           .golden = {"layer_norm: eps"}}};
}

const Register kLayerNormTable(of_rows);

OpCases without_mean() {
  const auto over_last = [](std::optional<double> eps) {
    return one([=](const Tensors& x) {
      return rms_norm(x[0], x[0].dim() ? x[0].size(-1) : 1, x.size() > 1 ? x[1] : Tensor(), eps);
    });
  };
  return {{.function = "rms_norm",
           .call = over_last({}),
           .inputs = {{values({2, 3, 5}, -1, 1), values({5})}, {values({3, 5}, 1, 3)}, {values({0, 5}), values({5})}},
           .golden = {"layer_norm: rms", "layer_norm: rms/alone", "layer_norm: rms/torch.float64"},
           .optional_from = 1},
          {.function = "rms_norm",
           .variant = "with eps",
           .call = over_last(0.5),
           .inputs = {{values({3, 5}, -1, 1), values({5})}, {values({4, 1}), values({1})}, {values({3, 70}, -2, 2)}},
           .golden = {"layer_norm: rms/eps"},
           .optional_from = 1}};
}
const Register kRms(without_mean);

}  // namespace
}  // namespace minnow::test
