#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/indexing/embedding_bag.h>
#include <minnow/ops/norms/local_response_norm.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/shape/rearrange.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

OpCase blocks_row(const std::string& function, const std::string& golden, const Function& call,
                  const std::vector<Inputs>& inputs) {
  return {.function = function, .variant = golden, .call = call, .inputs = inputs, .golden = {golden}};
}

OpCases blocks() {
  const UnfoldOptions wide{.stride = {2, 1}}, all{.dilation = {2, 1}, .padding = {1, 2}, .stride = 2};
  const auto unfolded = [](Pair kernel, const UnfoldOptions& o) {
    return one([=](const Tensors& x) { return unfold(x[0], kernel, o); });
  };
  const auto folded = [](Pair size, Pair kernel, const UnfoldOptions& o) {
    return one([=](const Tensors& x) { return fold(x[0], size, kernel, o); });
  };
  OpCases cases{
      blocks_row("unfold", "unfold: unfold/2", unfolded(2, {}), {{values({2, 1, 3, 4})}, {values({0, 1, 3, 4})}}),
      blocks_row("unfold", "unfold: unfold/3x2,stride 2x1", unfolded({3, 2}, wide), {{values({1, 2, 5, 3})}}),
      blocks_row("unfold", "unfold: unfold/all", unfolded({2, 3}, all), {{values({1, 2, 4, 4})}}),
      blocks_row("unfold", "unfold: unfold/one", unfolded(2, {}), {{values({1, 3, 4})}}),
      blocks_row("unfold", "unfold: windows/3,2", one([](const Tensors& x) { return x[0].unfold(3, 3, 2); }),
                 {{values({1, 2, 2, 7})}, {values({0, 2, 1, 3})}}),
      blocks_row("unfold", "unfold: windows/2,3", one([](const Tensors& x) { return x[0].unfold(1, 2, 3); }),
                 {{values({2, 5})}}),
      blocks_row("unfold", "unfold: windows/rows", one([](const Tensors& x) { return x[0].unfold(-1, 5, 1); }),
                 {{values({2, 6})}}),
      blocks_row("unflatten", "unfold: unflatten", one([](const Tensors& x) {
                   return x[0].unflatten(-1, {2, -1});
                 }),
                 {{values({2, 6})}, {values({0, 2})}, {values({4})}}),
      blocks_row("channel_shuffle", "unfold: channel_shuffle/3",
                 one([](const Tensors& x) { return channel_shuffle(x[0], 3); }),
                 {{values({2, 6, 2})}, {values({0, 3, 2})}})};
  for (OpCase& c : cases) c.dtypes = all_dtypes();
  const OpCases sums{
      blocks_row("fold", "unfold: fold/2", folded({5, 6}, 2, {}), {{values({2, 4, 20})}, {values({0, 4, 20})}}),
      blocks_row("fold", "unfold: fold/3x2,stride 2x1", folded({5, 6}, {3, 2}, wide), {{values({1, 6, 10})}}),
      blocks_row("fold", "unfold: fold/all", folded({5, 6}, {2, 3}, all), {{values({1, 6, 12})}}),
      blocks_row("fold", "unfold: fold/one", folded(3, 2, {}), {{values({4, 4})}})};
  cases.insert(cases.end(), sums.begin(), sums.end());
  const auto response = [](std::int64_t size, const LocalResponseNormOptions& o) {
    return one([=](const Tensors& x) { return local_response_norm(x[0], size, o); });
  };
  cases.push_back(blocks_row("local_response_norm", "unfold: local_response_norm/3", response(3, {}),
                             {{values({2, 4, 3})}, {values({0, 2, 2})}, {values({1, 2, 2, 1})}}));
  cases.push_back(blocks_row("local_response_norm", "unfold: local_response_norm/all", response(4, {0.5, 0.6, 2}),
                             {{values({1, 5, 2})}}));
  for (OpCase& c : cases)
    if (c.function == "fold") c.dtypes = all_dtypes();
  return cases;
}

OpCases bags() {
  OpCases cases;
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
    const std::string name = mode == BagMode::sum ? "sum" : mode == BagMode::mean ? "mean" : "max";
    const auto add = [&](const std::string& golden, const Function& call, const std::vector<Inputs>& inputs) {
      cases.push_back(blocks_row("embedding_bag", "embedding_bag: " + name + "/" + golden, call, inputs));
    };
    const auto of = [mode](std::optional<std::int64_t> padding, bool last = false) {
      return one([=](const Tensors& x) {
        return embedding_bag(x[0], x[1], x.size() > 2 ? x[2] : Tensor(),
                             {.mode = mode, .include_last_offset = last, .padding_idx = padding});
      });
    };
    const Inputs rows{indices({3, 2}, 5), values({5, 2})}, none{indices({0, 2}, 5), values({5, 2})},
        bags{indices({4}, 5), values({5, 3}), indices({1}, 1)};
    add("offsets", of({}), {bags});
    add("rows", of({}), {rows, none});
    add("padding", of(4), {bags});
    add("rows,padding", of(-3), {{rows[0], values({7, 2})}});
    add("last", of({}, true), {bags});
  }
  const auto weighted = [](bool rows) {
    return one([=](const Tensors& x) {
      return embedding_bag(x[0], x[1], rows ? Tensor() : x[2],
                           {.mode = BagMode::sum, .per_sample_weights = x[rows ? 2 : 3]});
    });
  };
  cases.push_back(blocks_row("embedding_bag", "embedding_bag: sum/each", weighted(false),
                             {{indices({4}, 5), values({5, 3}), indices({1}, 1), values({4})}}));
  cases.push_back(blocks_row("embedding_bag", "embedding_bag: sum/rows,each", weighted(true),
                             {{indices({3, 2}, 5), values({5, 2}), values({3, 2})}}));
  for (OpCase& c : cases) c.optional_from = 2;
  return cases;
}

OpCases dropouts() {
  const auto seeded = [](Tensor (*function)(const In&, const DropoutOptions&)) {
    return one([=](const Tensors& x) { return function(x[0], {.p = 0.4}); });
  };
  const std::string why = "our random numbers are not PyTorch's; see nn/spatial_test.cpp";
  OpCases cases{
      {.function = "dropout1d", .call = seeded(dropout1d), .inputs = {{values({3, 4, 2})}, {values({0, 4, 2})}}},
      {.function = "dropout2d", .call = seeded(dropout2d), .inputs = {{values({2, 3, 2, 2})}, {values({0, 3, 2, 2})}}},
      {.function = "dropout3d", .call = seeded(dropout3d), .inputs = {{values({2, 3, 2, 1, 2})}}},
      {.function = "alpha_dropout", .call = seeded(alpha_dropout), .inputs = {{values({4, 5})}, {values({0, 5})}}}};
  for (OpCase& c : cases) c.without_golden = why;
  return cases;
}

const Register kBlocksTables[] = {Register(blocks), Register(bags), Register(dropouts)};

}  // namespace
}  // namespace minnow::test
