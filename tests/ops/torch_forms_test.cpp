#include <cmath>
#include <concepts>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <type_traits>
#include <minnow/nn/losses/linear_cross_entropy_loss.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/index.h>

#include "devices.h"
#include "op_cases.h"
#include "thrown.h"

// Arguments that PyTorch's functions have beside the usual ones.
namespace minnow::test {
namespace {

OpCases quotients() {
  OpCases cases;
  for (const auto& [name, rounding] :
       std::initializer_list<std::pair<std::string, Rounding>>{{"trunc", Rounding::trunc}, {"floor", Rounding::floor}})
    cases.push_back({.function = "div",
                     .variant = name,
                     .call = one([r = rounding](const Tensors& x) { return div(x[0], x[1], r); }),
                     .inputs = {{values({3, 4}, -9, 9).integers(1, 99), values({4}, 1, 3).integers(1, 5)}},
                     .dtypes = numbers(),
                     .gradient = Gradient::kNone,
                     .golden = {"composed: div/" + name},
                     .takes_other_dtypes = true,
                     .exact = false});
  return cases;
}
const Register kQuotients(quotients);

OpCases scattered() {
  const std::vector<Inputs> inputs{{values({3, 2}), indices({4, 2}, 3), values({4, 2})}};
  return {{.function = "scatter",
           .variant = "add",
           .call = one([](const Tensors& x) { return scatter(x[0], 0, x[1], x[2], Scatter::add); }),
           .inputs = inputs,
           .dtypes = all_dtypes(),
           .golden = {"scatter: scatter_reduce/sum"},
           .tolerance_on_cuda = {1e-2, 1e-2}},
          {.function = "scatter",
           .variant = "multiply",
           .call = one([](const Tensors& x) { return scatter(x[0], 0, x[1], x[2], Scatter::multiply); }),
           .inputs = inputs,
           .dtypes = all_dtypes(),
           .golden = {"scatter: scatter_reduce/prod"},
           .tolerance_on_cuda = {1e-2, 1e-2},
           .exact = false}};
}
const Register kScattered(scattered);

OpCases bilinears() {
  OpCases cases{{.function = "bilinear",
                 .call = one([](const Tensors& x) { return bilinear(x[0], x[1], x[2], x[3]); }),
                 .inputs = {{values({2, 3, 4}), values({2, 3, 2}), values({3, 4, 2}), values({3})},
                            {values({0, 4}), values({0, 2}), values({3, 4, 2}), values({3})}},
                 .golden = {"composed: bilinear"}},
                {.function = "bilinear",
                 .variant = "no bias",
                 .call = one([](const Tensors& x) { return bilinear(x[0], x[1], x[2]); }),
                 .inputs = {{values({4}), values({2}), values({3, 4, 2})}},
                 .golden = {"composed: bilinear/no bias"}}};
  for (OpCase& c : cases) c.optional_from = 3, c.tolerance = {1e-5, 1e-5}, c.exact = false, c.takes_other_dtypes = true;
  return cases;
}
const Register kBilinears(bilinears);

OpCases linear_cross_entropies() {
  const Inputs rows{values({4, 3}), values({5, 3}), indices({4}, 5), values({5})};
  const Inputs wide{values({4, 3}), values({5, 2, 3}), indices({4, 2}, 5)};
  OpCases cases{{.function = "linear_cross_entropy",
                 .call = one([](const Tensors& x) { return nn::linear_cross_entropy(x[0], x[1], x[2], x[3]); }),
                 .inputs = {rows, {values({3}), values({5, 3}), indices({}, 5), values({5})}},
                 .golden = {"composed: linear_cross_entropy"}},
                {.function = "linear_cross_entropy",
                 .variant = "wide",
                 .call = one([](const Tensors& x) {
                   return nn::linear_cross_entropy(x[0], x[1], x[2], {}, {.reduction = nn::Reduction::none});
                 }),
                 .inputs = {wide},
                 .golden = {"composed: linear_cross_entropy/wide"}}};
  for (OpCase& c : cases) c.optional_from = 3, c.tolerance = {1e-5, 1e-5}, c.exact = false, c.takes_other_dtypes = true;
  return cases;
}
const Register kLinearCrossEntropies(linear_cross_entropies);

OpCases fractional_pools() {
  OpCases cases;
  const auto add_rows = [&](const std::string& name, auto f, auto values_of, auto kernel, auto size,
                            const std::vector<double>& ratio, const Inputs& inputs) {
    const auto row = [&](const std::string& function, const char* variant, const Function& call) {
      cases.push_back({.function = function,
                       .variant = variant,
                       .call = call,
                       .inputs = {inputs},
                       .golden = {"composed: " + name + "/" + variant},
                       .takes_other_dtypes = true});
    };
    using Options =
        std::conditional_t<std::same_as<decltype(size), Pair>, FractionalMaxPool2dOptions, FractionalMaxPool3dOptions>;
    const auto both = [f](const Tensors& x, auto k, Options o) {
      o.random_samples = x[1].detach();
      const MinMax y = f(x[0], k, o);
      return Tensors{y.values, y.indices};
    };
    row(name + "_with_indices", "size",
        [=](const Tensors& x) { return both(x, kernel, Options{.output_size = size}); });
    row(name + "_with_indices", "ratio",
        [=](const Tensors& x) { return both(x, decltype(kernel)(2), Options{.output_ratio = ratio}); });
    row(name + "_with_indices", "1",
        [=](const Tensors& x) { return both(x, decltype(kernel)(2), Options{.output_size = 1}); });
    row(name, "values", one([=](const Tensors& x) {
          return values_of(x[0], kernel, Options{.output_size = size, .random_samples = x[1].detach()});
        }));
  };
  const auto of = [](auto f) { return [f](const Tensor& x, auto k, const auto& o) { return f(x, k, o); }; };
  add_rows("fractional_max_pool2d", of(fractional_max_pool2d_with_indices), of(fractional_max_pool2d), Pair(3, 2),
           Pair(4, 3), {0.7, 0.5}, {values({2, 2, 8, 7}), values({2, 2, 2}, 0, 1)});
  add_rows("fractional_max_pool3d", of(fractional_max_pool3d_with_indices), of(fractional_max_pool3d), Triple(2, 3, 1),
           Triple(3, 2, 4), {0.7, 0.5, 0.4}, {values({1, 2, 6, 7, 5}), values({1, 2, 3}, 0, 1)});
  return cases;
}
const Register kFractionalPools(fractional_pools);

class TorchForms : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, TorchForms, all_devices(), device_test_name);

TEST_P(TorchForms, ScatterOfANumberCombines) {
  const Tensor x = tensor({2.0, 3.0, 5.0}, device()), index = tensor({0, 0, 2}, device());
  EXPECT_TRUE(equal(scatter(x, 0, index, 10, Scatter::add).cpu(), tensor({22.0, 3.0, 15.0})));
  EXPECT_TRUE(equal(scatter(x, 0, index, 10, Scatter::multiply).cpu(), tensor({200.0, 3.0, 50.0})));
  Tensor y = x.clone();
  y.scatter_(0, index, 10, Scatter::multiply);
  EXPECT_TRUE(equal(y.cpu(), tensor({200.0, 3.0, 50.0})));
}

TEST_P(TorchForms, IndicesMayBeInt32) {
  const Tensor x = randn({3, 4}, {float32, device()}), source = randn({2, 2}, {float32, device()});
  const Tensor wide = tensor({{0, 1}, {2, 0}}, device()), narrow = wide.to(int32);
  const Tensor slices = tensor({2, 0}, device()), few = slices.to(int32), rows = randn({2, 4}, {float32, device()});
  EXPECT_TRUE(equal(gather(x, 1, narrow), gather(x, 1, wide)));
  EXPECT_TRUE(equal(take_along_dim(x, few.unsqueeze(0), 1), take_along_dim(x, slices.unsqueeze(0), 1)));
  EXPECT_TRUE(equal(scatter(x, 1, narrow, source), scatter(x, 1, wide, source)));
  EXPECT_TRUE(equal(scatter_add(x, 1, narrow, source), scatter_add(x, 1, wide, source)));
  EXPECT_TRUE(
      equal(scatter_reduce(x, 1, narrow, source, Scatter::amax), scatter_reduce(x, 1, wide, source, Scatter::amax)));
  EXPECT_TRUE(equal(index_select(x, 0, few), index_select(x, 0, slices)));
  EXPECT_TRUE(equal(index_add(x, 0, few, rows), index_add(x, 0, slices, rows)));
  EXPECT_TRUE(equal(index_copy(x, 0, few, rows), index_copy(x, 0, slices, rows)));
  EXPECT_TRUE(equal(index_fill(x, 0, few, 7), index_fill(x, 0, slices, 7)));
  Tensor a = x.clone(), b = x.clone();
  a.scatter_add_(1, narrow, source).scatter_(1, narrow, source).index_add_(0, few, rows).index_copy_(0, few, rows);
  b.scatter_add_(1, wide, source).scatter_(1, wide, source).index_add_(0, slices, rows).index_copy_(0, slices, rows);
  EXPECT_TRUE(equal(a, b));
  Tensor leaf = x.clone().requires_grad_();
  sum(gather(leaf, 1, narrow) + scatter_add(leaf, 1, narrow, source).narrow(0, 0, 2).narrow(1, 0, 2)).backward();
  EXPECT_NEAR(sum(leaf.grad()).item(), 8, 1e-5);
  EXPECT_THROW((void)gather(x, 1, wide.to(int16)), DTypeError);
  EXPECT_THROW(finish([&] { (void)gather(x, 1, narrow + 3); }), IndexError);
}

TEST_P(TorchForms, BilinearBroadcastsNothing) {
  const Tensor a = ones({2, 4}, device()), b = ones({2, 5}, device()), weight = ones({3, 4, 5}, device());
  const auto refused = [&](const Tensor& left, const Tensor& right, const Tensor& bias) {
    return error_of<ShapeError>([&] { (void)bilinear(left, right, weight, bias); });
  };
  for (const std::string& text :
       {refused(a.narrow(0, 0, 1), b, {}), refused(a(0), b, {}), refused(a, b.unsqueeze(0), {})})
    expect_contains(text, "a and b have different leading sizes");
  for (const Tensor& bias : {ones({1}, device()), ones({2, 3}, device())})
    expect_contains(refused(a, b, bias), "bias must be [3]");
}

TEST_P(TorchForms, MaxPoolsOfIntegers) {
  const Tensor x = tensor({{3, -1, 9, 0}, {-7, 2, 4, 4}}).reshape({1, 1, 2, 4}).to(device());
  for (const DType dtype : {int64, int32, int16, int8}) {
    const MinMax y = max_pool2d_with_indices(x.to(dtype), 2, {.padding = 1});
    EXPECT_EQ(y.values.dtype(), dtype);
    EXPECT_EQ(y.values.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 9, 0, -7, 4, 4}));
    EXPECT_EQ(y.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 3, 4, 6, 7}));
  }
  const Tensor bytes = tensor({250, 1, 255, 7}).to(uint8).to(device());
  EXPECT_EQ(max_pool1d(bytes.reshape({1, 4}), 2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{250, 255}));
  EXPECT_EQ(max_pool3d(bytes.reshape({1, 1, 2, 2}), {1, 1, 2}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{250, 255}));
  EXPECT_THROW((void)max_pool2d(x.to(bool_), 2), DTypeError);
}

TEST_P(TorchForms, TruncatedQuotientsOfNumbersAndIntegers) {
  const Tensor a = tensor({7.5, -7.5}).to(device()), whole = tensor({7, -7}).to(device());
  EXPECT_EQ(div(a, 2, Rounding::trunc).to_vector<double>(), (std::vector<double>{3, -3}));
  EXPECT_EQ(div(whole, 2.5, Rounding::trunc).to_vector<double>(), (std::vector<double>{2, -2}));
  EXPECT_EQ(div(5, a, Rounding::trunc).to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_EQ(div(whole, 2, Rounding::trunc).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, -3}));
}

TEST_P(TorchForms, FractionalPoolsAreDrawn) {
  const Tensor x = randn({2, 3, 20, 20}, {float32, device()});
  const MinMax y = fractional_max_pool2d_with_indices(x, 2, {.output_ratio = {0.5}});
  EXPECT_EQ(y.values.shape(), (Shape{2, 3, 10, 10}));
  EXPECT_TRUE(equal(gather(x.flatten(2), 2, y.indices.flatten(2)), y.values.flatten(2)));
  EXPECT_FALSE(equal(y.indices(0, 0), y.indices(0, 1)));
  EXPECT_EQ(fractional_max_pool2d(x(0), 2, {.output_size = {3, 5}}).shape(), (Shape{3, 3, 5}));
  EXPECT_THROW((void)fractional_max_pool2d(x, 2, {}), ValueError);
  for (const double ratio : {0.0, 1.0, -0.5, std::nan(""), 1e300})
    EXPECT_THROW((void)fractional_max_pool2d(x, 2, {.output_ratio = {ratio}}), ValueError) << ratio;
  EXPECT_THROW((void)fractional_max_pool2d(x, 2, {.output_size = 3, .output_ratio = {0.5}}), ValueError);
  EXPECT_THROW((void)fractional_max_pool2d(x, 2, {.output_size = 20}), ValueError);
  EXPECT_THROW((void)fractional_max_pool2d(x(0, 0), 2, {.output_size = 2}), ShapeError);
  EXPECT_THROW((void)fractional_max_pool2d(x, 2, {.output_size = 2, .random_samples = ones({2, 3, 3}, device())}),
               ShapeError);
}

TEST_P(TorchForms, CdistOfHalvesAndPoolsOfLargeIntegers) {
  const Tensor a = full({60, 7}, 300, {float16, device()}), b = full({40, 7}, -100, {float16, device()});
  EXPECT_NEAR(cdist(a, b)[1][2].item(), 400 * std::sqrt(7.0), 1);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = tensor({std::int64_t{1}, std::int64_t{2}, most, std::int64_t{3}}, device()).reshape({1, 4});
  EXPECT_EQ(max_pool1d(x, 2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, most}));
}

}  // namespace
}  // namespace minnow::test
