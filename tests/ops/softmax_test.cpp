#include <minnow/nn/losses/loss.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

using Softmax = Tensor (*)(const In&, int);

OpCases along_a_dimension() {
  OpCases cases;
  for (const auto& [name, function] :
       std::initializer_list<std::pair<std::string, Softmax>>{{"softmax", softmax}, {"log_softmax", log_softmax}}) {
    const auto along = [f = function](int dim) { return one([=](const Tensors& x) { return f(x[0], dim); }); };
    const std::string book = "softmax: " + name + "/";
    cases.push_back({.function = name,
                     .variant = "0",
                     .call = along(0),
                     .inputs = {{values({3, 4})}, {values({0, 3})}, {values({})}, {values({2, 3, 2}, -3, 3)}},
                     .golden = {book + "0", book + "float64", book + "0-dim"}});
    cases.push_back({.function = name,
                     .variant = "1",
                     .call = along(1),
                     .inputs = {{values({2, 3, 2}, -3, 3)}, {values({2, 0})}, {values({3, 1})}},
                     .golden = {book + "1", book + "odd"}});
    cases.push_back({.function = name,
                     .variant = "-1",
                     .call = along(-1),
                     .inputs = {{values({2, 3, 4}, -3, 3)}},
                     .golden = {book + "-1"}});
  }
  return cases;
}

OpCases of_random_masks() {
  const std::vector<Inputs> shapes{{values({3, 4})}, {values({0, 3})}, {values({})}};
  return {{.function = "dropout",
           .call = one([](const Tensors& x) { return dropout(x[0], {.p = 0.4}); }),
           .inputs = shapes,
           .without_golden = "our random numbers are not PyTorch's; see random_test.cpp"},
          {.function = "dropout",
           .variant = "with p = 0",
           .call = one([](const Tensors& x) { return dropout(x[0], {.p = 0}); }),
           .inputs = shapes,
           .same_as = one([](const Tensors& x) { return x[0]; }),
           .takes_other_dtypes = true},
          {.function = "dropout",
           .variant = "with p = 1",
           .call = one([](const Tensors& x) { return dropout(x[0], {.p = 1}); }),
           .inputs = shapes,
           .same_as = one([](const Tensors& x) { return zeros_like(x[0]); })}};
}

const Register kSoftmaxTables[] = {Register(along_a_dimension), Register(of_random_masks)};

}  // namespace
}  // namespace minnow::test
