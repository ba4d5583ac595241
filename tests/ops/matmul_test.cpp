#include <minnow/ops/products/matmul.h>

#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

Tensor third(const Tensors& x) { return x.size() > 2 ? x[2] : Tensor(); }

OpCases products() {
  OpCase product{
      .function = "matmul", .call = one([](const Tensors& x) { return matmul(x[0], x[1]); }), .dtypes = all_dtypes()};
  // Vectors, matrices, batches, broadcast ones, none.
  for (const auto& [a, b] : std::initializer_list<std::pair<Shape, Shape>>{{{2, 3}, {3, 4}},
                                                                           {{3}, {3}},
                                                                           {{2, 3}, {3}},
                                                                           {{3}, {3, 4}},
                                                                           {{2, 2, 3}, {3, 4}},
                                                                           {{2, 2, 3}, {2, 3, 4}},
                                                                           {{2, 1, 2, 3}, {3, 3, 2}},
                                                                           {{3}, {2, 3, 2}},
                                                                           {{2, 2, 3}, {3}},
                                                                           {{2, 0}, {0, 3}},
                                                                           {{0, 3}, {3, 2}},
                                                                           {{1, 2, 3}, {2, 3, 2}}}) {
    product.inputs.push_back({values(a), values(b)});
    const auto packed = [](const Shape& s) {
      std::string text = "[";
      for (int d = 0; d < s.rank(); ++d) text += (d ? "," : "") + std::to_string(s[d]);
      return text + "]";
    };
    product.golden.push_back("matmul: " + packed(a) + "," + packed(b));
  }
  product.golden.push_back("matmul: float64");
  OpCases cases{product};
  cases.push_back({.function = "matmul",
                   .variant = "transposed",
                   .call = one([](const Tensors& x) { return matmul(x[0].mT(), x[1].mT()); }),
                   .inputs = {{values({3, 2}), values({4, 3})}, {values({2, 3, 2}), values({2, 4, 3})}},
                   .dtypes = all_dtypes(),
                   .golden = {"matmul: transposed"}});
  using OfTwo = Tensor (*)(const In&, const In&);
  for (const auto& [name, function, a, b] :
       std::initializer_list<std::tuple<std::string, OfTwo, Shape, Shape>>{{"mm", mm, {2, 3}, {3, 4}},
                                                                           {"bmm", bmm, {2, 2, 3}, {2, 3, 4}},
                                                                           {"mv", mv, {2, 3}, {3}},
                                                                           {"dot", dot, {3}, {3}},
                                                                           {"outer", outer, {3}, {4}}})
    cases.push_back({.function = name,
                     .call = one([f = function](const Tensors& x) { return f(x[0], x[1]); }),
                     .inputs = {{values(a), values(b)}},
                     .dtypes = all_dtypes(),
                     .golden = {"indexing: " + name}});
  return cases;
}

OpCases layers() {
  const std::vector<Inputs> inputs{{values({2, 3}, -0.5, 0.5), values({4, 3}, -0.5, 0.5), values({4}, -0.5, 0.5)},
                                   {values({2, 3}), values({4, 3})},
                                   {values({3}), values({4, 3}), values({4})},
                                   {values({2, 2, 3}), values({4, 3}), values({4})},
                                   {values({2, 3}), values({3})},
                                   {values({0, 3}), values({4, 3}), values({4})}};
  return {{.function = "linear",
           .call = one([](const Tensors& x) { return linear(x[0], x[1], third(x)); }),
           .inputs = inputs,
           .dtypes = all_dtypes(),
           .golden = {"matmul: linear", "matmul: linear/no bias", "matmul: linear/vector", "matmul: linear/batches"},
           .optional_from = 2},
          {.function = "linear",
           .variant = "relu",
           .call = one([](const Tensors& x) { return linear(x[0], x[1], third(x), Activation::relu); }),
           .inputs = inputs,
           .dtypes = all_dtypes(),
           .golden = {"matmul: linear_relu"},
           .optional_from = 2},
          {.function = "linear",
           .variant = "gelu_tanh",
           .call = one([](const Tensors& x) { return linear(x[0], x[1], third(x), Activation::gelu_tanh); }),
           .inputs = inputs,
           .dtypes = all_dtypes(),
           .golden = {"matmul: linear_gelu_tanh"},
           .optional_from = 2}};
}

// Sums of whole numbers, which have one right result.
TEST(Dot, OfLongVectorsHasAllElements) {
  for (const std::int64_t n : {32'767, 32'768, 50'001, 1'100'003}) {
    const Tensor x = remainder(arange(0, 2 * n, 1, DType::float64), 7), y = x(slice(0, 2 * n, 2));
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(i % 7 * (2 * i % 7));
    EXPECT_EQ(dot(x.narrow(0, 0, n), y).item(), sum) << n;
    EXPECT_EQ(dot(x.narrow(0, 0, n), y.contiguous()).item(), sum) << n;
    EXPECT_EQ(dot(y, x.narrow(0, 0, n)).item(), sum) << n;
  }
}

const Register kMatmulTables[] = {Register(products), Register(layers)};

}  // namespace
}  // namespace minnow::test
