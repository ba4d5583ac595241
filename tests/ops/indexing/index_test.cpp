#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

OpCases by_indices() {
  const auto gathered = [](int dim) { return one([=](const Tensors& x) { return gather(x[0], dim, x[1]); }); };
  const auto added = [](int dim) { return one([=](const Tensors& x) { return scatter_add(x[0], dim, x[1], x[2]); }); };
  const auto selected = [](int dim) { return one([=](const Tensors& x) { return index_select(x[0], dim, x[1]); }); };
  const auto summed = [](int dim) { return one([=](const Tensors& x) { return index_add(x[0], dim, x[1], x[2]); }); };
  OpCases cases{
      {.function = "gather",
       .variant = "1",
       .call = gathered(1),
       .inputs = {{values({3, 4}), indices({2, 5}, 4)}, {values({3, 4}), indices({0, 2}, 4)}},
       .golden = {"index: gather"}},
      {.function = "gather",
       .variant = "0",
       .call = gathered(0),
       .inputs = {{values({3, 4}), indices({2, 3}, 3)}, {values({}), indices({2}, 1)}},
       .golden = {"index: gather/small"}},
      {.function = "scatter_add",
       .variant = "0",
       .call = added(0),
       .inputs = {{values({3, 2}), indices({2, 2}, 3), values({2, 2})},
                  {values({3, 2}), indices({0, 2}, 3), values({0, 2})},
                  {values({3, 2}), indices({2, 1}, 3), values({4, 2})}},
       .golden = {"index: scatter_add"}},
      {.function = "scatter_add",
       .variant = "-1",
       .call = added(-1),
       .inputs = {{values({2, 3}), indices({2, 5}, 3), values({2, 5})}},
       .golden = {"index: scatter_add/-1"}},
      {.function = "index_select",
       .variant = "2",
       .call = selected(2),
       .inputs = {{values({2, 3, 4}), indices({5}, 4)}, {values({2, 0, 4}), indices({3}, 4)}},
       .golden = {"index: index_select"}},
      {.function = "index_select",
       .variant = "0",
       .call = selected(0),
       .inputs = {{values({3}), indices({4}, 3)}, {values({3, 2}), indices({0}, 3)}, {values({}), indices({1}, 1)}},
       .golden = {"index: index_select/0"}},
      {.function = "index_add",
       .variant = "0",
       .call = summed(0),
       .inputs = {{values({3, 2}), indices({4}, 3), values({4, 2})}, {values({3, 2}), indices({0}, 3), values({0, 2})}},
       .golden = {"index: index_add"}},
      {.function = "index_add",
       .variant = "1",
       .call = summed(1),
       .inputs = {{values({2, 3}), indices({4}, 3), values({2, 4})}},
       .golden = {"index: index_add/1"}},
      {.function = "embedding",
       .call = one([](const Tensors& x) { return embedding(x[0], x[1]); }),
       .inputs = {{indices({2, 3}, 4), values({4, 3})},
                  {indices({}, 2), values({2, 1})},
                  {indices({0, 2}, 2), values({2, 3})}},
       .golden = {"index: embedding"}},
      {.function = "embedding",
       .variant = "with padding",
       .call = one([](const Tensors& x) { return embedding(x[0], x[1], 1); }),
       .inputs = {{indices({2, 3}, 4), values({4, 3})}},
       .gradient = Gradient::kUnchecked,  // the padding row has none by definition
       .golden = {"index: embedding/padding"}},
      {.function = "embedding",
       .variant = "with padding from the end",
       .call = one([](const Tensors& x) { return embedding(x[0], x[1], -1); }),
       .inputs = {{indices({5}, 4), values({4, 3})}},
       .gradient = Gradient::kUnchecked,
       .golden = {"index: embedding/last"}},
      {.function = "one_hot",
       .variant = "6",
       .call = one([](const Tensors& x) { return one_hot(x[0], 6); }),
       .inputs = {{indices({2, 3}, 6)}, {indices({0}, 6)}, {indices({}, 6)}},
       .gradient = Gradient::kNone,
       .golden = {"index: one_hot/6"}},
      {.function = "one_hot",
       .call = one([](const Tensors& x) { return one_hot(x[0]); }),
       .inputs = {{indices({2, 3}, 4)}},
       .gradient = Gradient::kNone,
       .golden = {"index: one_hot"}}};
  for (OpCase& c : cases)
    if (c.function != "one_hot") c.dtypes = all_dtypes();
  return cases;
}

OpCases parts_and_joins() {
  const auto row = [](const char* function, const std::string& variant, const Function& call,
                      std::vector<Inputs> inputs, const std::string& golden) {
    return OpCase{.function = function,
                  .variant = variant,
                  .call = call,
                  .inputs = std::move(inputs),
                  .dtypes = all_dtypes(),
                  .golden = {"index: " + golden}};
  };
  const std::vector<Inputs> five{{values({5, 2})}, {values({5})}, {values({5, 0})}};
  const std::vector<Inputs> pair{{values({2, 3}), values({2, 3})}, {values({0, 3}), values({0, 3})}};
  return {
      row(
          "split", "by 2", [](const Tensors& x) { return split(x[0], 2); }, five, "split"),
      row(
          "split", "in 4,0,1",
          [](const Tensors& x) {
            return split(x[0], {4, 0, 1});
          },
          five, "split/4,0,1"),
      row(
          "split", "in a vector",
          [](const Tensors& x) {
            return split(x[0], std::vector<std::int64_t>{1, 2}, 1);
          },
          {{values({2, 3})}}, "split/1,2"),
      row(
          "chunk", "3", [](const Tensors& x) { return chunk(x[0], 3, 0); }, five, "chunk"),
      row(
          "unbind", "1", [](const Tensors& x) { return unbind(x[0], 1); }, {{values({2, 3})}, {values({0, 3})}},
          "unbind"),
      row("cat", "1", one([](const Tensors& x) { return cat(x, 1); }),
          {{values({2, 3}), values({2, 1})}, {values({2, 3}), values({2, 0})}}, "cat"),
      row("cat", "-1", one([](const Tensors& x) { return cat(x, -1); }), {{values({2, 3}), values({2, 3})}}, "cat/-1"),
      row("cat", "0", one([](const Tensors& x) {
            return cat({x[0], x[1], x[0]}, 0);
          }),
          pair, "cat/twice"),
      row("cat", "promoted", one([](const Tensors& x) { return cat(x, 0); }), pair, "cat/promoted"),
      row("concat", "1", one([](const Tensors& x) { return concat(x, 1); }),
          {{values({2, 3}), values({2, 1})}, {values({2, 3}), values({2, 0})}}, "cat"),
      row("stack", "1", one([](const Tensors& x) { return stack(x, 1); }), pair, "stack"),
      row("stack", "-1", one([](const Tensors& x) { return stack(x, -1); }), {{values({}), values({})}, pair[0]},
          "stack/-1")};
}

OpCases copies() {
  const std::vector<Inputs> boxes{{values({2, 3, 2})}, {values({0, 3, 2})}};
  const auto row = [&](const char* function, const std::string& variant, const Function& call,
                       const std::string& golden) {
    return OpCase{.function = function,
                  .variant = variant,
                  .call = call,
                  .inputs = boxes,
                  .dtypes = all_dtypes(),
                  .golden = {"indexing: " + golden}};
  };
  OpCases cases{row("repeat", "2,1,3", one([](const Tensors& x) {
                      return repeat(x[0], {2, 1, 3});
                    }),
                    "repeat"),
                row("repeat", "2,1,1,2", one([](const Tensors& x) {
                      return repeat(x[0], {2, 1, 1, 2});
                    }),
                    "repeat/more"),
                row("flip", "0,-1", one([](const Tensors& x) {
                      return flip(x[0], {0, -1});
                    }),
                    "flip"),
                row("roll", "2,-1", one([](const Tensors& x) { return roll(x[0], 2, -1); }), "roll"),
                row("roll", "-7,0", one([](const Tensors& x) { return roll(x[0], -7, 0); }), "roll/back"),
                row("roll", "4", one([](const Tensors& x) { return roll(x[0], 4); }), "roll/flat"),
                row("roll", "1,-4,2,0,-1,0", one([](const Tensors& x) {
                      return roll(x[0], {1, -4, 2}, {0, -1, 0});
                    }),
                    "roll/several")};
  for (const int diagonal : {-2, 0, 1}) {
    const std::string text = std::to_string(diagonal);
    cases.push_back(row("tril", text, one([=](const Tensors& x) { return tril(x[0], diagonal); }), "tril/" + text));
    cases.push_back(row("triu", text, one([=](const Tensors& x) { return triu(x[0], diagonal); }), "triu/" + text));
  }
  return cases;
}

OpCases by_masks() {
  const std::vector<Inputs> boxes{
      {values({2, 3}), mask({2, 3})}, {values({2, 3}), mask({3})}, {values({0, 3}), mask({3})}, {values({}), mask({})}};
  OpCases cases{{.function = "nonzero",
                 .call = one([](const Tensors& x) { return nonzero(x[0]); }),
                 .inputs = {{values({2, 3})}, {values({0, 3})}, {values({})}},
                 .gradient = Gradient::kNone,
                 .golden = {"indexing: nonzero", "indexing: nonzero/scalar"}},
                {.function = "masked_fill",
                 .variant = "number",
                 .call = one([](const Tensors& x) { return masked_fill(x[0], x[1], 2.5); }),
                 .inputs = boxes,
                 .golden = {"indexing: masked_fill"},
                 .takes_other_dtypes = true},
                {.function = "masked_fill",
                 .variant = "tensor",
                 .call = one([](const Tensors& x) { return masked_fill(x[0], x[1], x[2]); }),
                 .inputs = {{values({2, 3}), mask({3}), values({})}},
                 .dtypes = all_dtypes(),
                 .golden = {"indexing: masked_fill/tensor"}},
                {.function = "masked_fill_",
                 .call = written([](const Tensor& y, const Tensors& x) { masked_fill_(y, x[1], 1); }),
                 .inputs = {boxes[0], boxes[1], boxes[2]},
                 .dtypes = all_dtypes(),
                 .same_as = one([](const Tensors& x) { return masked_fill(x[0], x[1], 1); })},
                {.function = "masked_select",
                 .call = one([](const Tensors& x) { return masked_select(x[0], x[1]); }),
                 .inputs = boxes,
                 .dtypes = all_dtypes(),
                 .golden = {"indexing: masked_select", "indexing: masked_select/broadcast"},
                 .takes_other_devices = true}};
  cases[0].dtypes = all_dtypes();
  return cases;
}

const Register kIndexTables[] = {Register(by_indices), Register(parts_and_joins), Register(copies), Register(by_masks)};

}  // namespace
}  // namespace minnow::test
