#include <cmath>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

OpCases scattered() {
  const auto reduced = [](Scatter reduce, bool own) {
    return one([=](const Tensors& x) { return scatter_reduce(x[0], 0, x[1], x[2], reduce, own); });
  };
  OpCases cases{
      {.function = "scatter",
       .variant = "0",
       .call = one([](const Tensors& x) { return scatter(x[0], 0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4, 2}, 3), values({4, 2})},
                  {values({3, 2}), indices({0, 2}, 3), values({0, 2})},
                  {values({}), indices({}, 1), values({})},
                  {values({3, 2}), indices({2, 1}, 3), values({4, 2})}},
       .golden = {"scatter: scatter/0"}},
      {.function = "scatter",
       .variant = "1",
       .call = one([](const Tensors& x) { return scatter(x[0], 1, x[1], x[2]); }),
       .inputs = {{values({3, 3}), indices({2, 5}, 3), values({2, 5})}},
       .golden = {"scatter: scatter/1"}},
      {.function = "scatter",
       .variant = "number",
       .call = one([](const Tensors& x) {
         return scatter(x[0], 0, x[1], x[0].dtype() == bool_ ? 1 : x[0].is_floating_point() ? Scalar(2.5) : Scalar(2));
       }),
       .inputs = {{values({3, 2}), indices({2, 2}, 3)}},
       .golden = {"scatter: scatter/number"}},
      {.function = "scatter_",
       .call = written([](Tensor& y, const Tensors& x) { y.scatter_(0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4, 2}, 3), values({4, 2})}},
       .golden = {"scatter: scatter/0"},
       .same_as = one([](const Tensors& x) { return scatter(x[0], 0, x[1], x[2]); })},
      {.function = "scatter_add_",
       .call = written([](Tensor& y, const Tensors& x) { y.scatter_add_(0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4, 2}, 3), values({4, 2})}},
       .golden = {"scatter: scatter_reduce/sum"},
       .same_as = one([](const Tensors& x) { return x[0].scatter_add(0, x[1], x[2]); })},
      {.function = "scatter_reduce_",
       .call = written([](Tensor& y, const Tensors& x) { y.scatter_reduce_(0, x[1], x[2], Scatter::amax); }),
       .inputs = {{values({3, 2}), indices({4, 2}, 3), values({4, 2})}},
       .golden = {"scatter: scatter_reduce/amax"},
       .same_as = reduced(Scatter::amax, true)},
      {.function = "index_copy",
       .variant = "0",
       .call = one([](const Tensors& x) { return index_copy(x[0], 0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4}, 3), values({4, 2})},
                  {values({3, 2}), indices({0}, 3), values({0, 2})},
                  {values({}), indices({1}, 1), values({})}},
       .golden = {"scatter: index_copy/0"}},
      {.function = "index_copy",
       .variant = "1",
       .call = one([](const Tensors& x) { return index_copy(x[0], -1, x[1], x[2]); }),
       .inputs = {{values({2, 3}), indices({4}, 3), values({2, 4})}},
       .golden = {"scatter: index_copy/1"}},
      {.function = "index_copy_",
       .call = written([](Tensor& y, const Tensors& x) { y.index_copy_(0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4}, 3), values({4, 2})}},
       .golden = {"scatter: index_copy/0"},
       .same_as = one([](const Tensors& x) { return index_copy(x[0], 0, x[1], x[2]); })},
      {.function = "index_add_",
       .call = written([](Tensor& y, const Tensors& x) { y.index_add_(0, x[1], x[2]); }),
       .inputs = {{values({3, 2}), indices({4}, 3), values({4, 2})}},
       .golden = {"index: index_add"},
       .same_as = one([](const Tensors& x) { return x[0].index_add(0, x[1], x[2]); })},
      {.function = "index_put",
       .variant = "accumulate",
       .call = one([](const Tensors& x) {
         return x[0].index_put({x[1], x[2]}, x[3], true);
       }),
       .inputs = {{values({3, 2}), indices({4}, 3), indices({4}, 2), values({4})}},
       .golden = {"scatter: index_put/accumulate"}},
      {.function = "index_put",
       .variant = "accumulated rows",
       .call = one([](const Tensors& x) { return x[0].index_put({x[1]}, x[2], true); }),
       .inputs = {{values({3, 2}), indices({4}, 3), values({4, 2})}},
       .golden = {"scatter: index_put/accumulate,rows"}},
      {.function = "index_put",
       .call = one([](const Tensors& x) {
         return x[0].index_put({x[1], x[2]}, x[3]);
       }),
       .inputs = {{values({3, 2}), indices({4}, 3), indices({4}, 2), values({4})}},
       .golden = {"scatter: index_put"}}};
  for (const bool own : {true, false}) {
    const std::pair<Scatter, const char*> all_of[] = {{Scatter::sum, "sum"},
                                                      {Scatter::prod, "prod"},
                                                      {Scatter::mean, "mean"},
                                                      {Scatter::amax, "amax"},
                                                      {Scatter::amin, "amin"}};
    for (const auto& [reduce, name] : all_of) {
      const std::string variant = std::string(name) + (own ? "" : ",without self");
      cases.push_back({.function = "scatter_reduce",
                       .variant = variant,
                       .call = reduced(reduce, own),
                       .inputs = {{values({3, 2}), indices({4, 2}, 3), values({4, 2})},
                                  {values({3, 2}), indices({0, 2}, 3), values({0, 2})},
                                  {values({4, 2}), indices({200, 2}, 3), values({200, 2}, 0.98, 1.02)},
                                  {values({}), indices({}, 1), values({})}},
                       .golden = {"scatter: scatter_reduce/" + variant}});
      cases.back().exact = reduce != Scatter::prod;   // halves round after each of many factors
      cases.back().tolerance_on_cuda = {1e-2, 1e-2};  // they are added in no fixed order there
      if (reduce == Scatter::amax || reduce == Scatter::amin)
        cases.back().inputs[2] = {values({4, 2}), indices({9, 2}, 3), values({9, 2})};
    }
  }
  for (OpCase& c : cases) {
    c.dtypes = all_dtypes();
    if (c.function == "index_put") c.takes_other_devices = true;
  }
  return cases;
}

const Register kScattered(scattered);

class Scattering : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Scattering, all_devices(), device_test_name);

TEST_P(Scattering, RefusesWhatDoesNotMatch) {
  const Tensor x = zeros({3, 2}, {float32, device()}), index = zeros({2, 2}, {int64, device()});
  const Tensor source = ones({2, 2}, {float32, device()});
  EXPECT_THROW((void)x.scatter(0, index.to(int16), source), DTypeError);
  EXPECT_THROW((void)x.scatter(0, index, source.to(float64)), DTypeError);
  EXPECT_THROW((void)x.scatter(0, index, ones({1, 2}, {float32, device()})), ShapeError);
  EXPECT_THROW((void)x.scatter(2, index, source), IndexError);
  EXPECT_THROW((void)x.to(int8).scatter(0, index, 200), ValueError);
  EXPECT_THROW((void)x.scatter_reduce(0, index, ones({1, 2}, {float32, device()}), Scatter::prod), ShapeError);
  EXPECT_THROW((void)x.index_copy(0, tensor({0, 1}, device()), ones({3, 2}, device())), ShapeError);
  EXPECT_THROW(finish([&] { (void)x.scatter(0, index + 3, source); }), IndexError);
  EXPECT_THROW(finish([&] { (void)x.scatter_reduce(0, index - 1, source, Scatter::amax); }), IndexError);
}

TEST_P(Scattering, OfHalvesRoundsTheirSumOnce) {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor x = ones({1}, {dtype, device()}), index = zeros({2048}, {int64, device()});
    const Tensor sources = full({2048}, std::ldexp(1, -11), {dtype, device()});  // each is lost beside 1
    EXPECT_EQ(scatter_add(x, 0, index, sources).to_vector<double>()[0], 2);
    EXPECT_EQ(index_add(x, 0, index, sources).to_vector<double>()[0], 2);
    Tensor y = x.clone();
    scatter_add_(y, 0, index, sources);
    EXPECT_EQ(y.to_vector<double>()[0], 2);
    index_add_(y, 0, index, sources);
    EXPECT_EQ(y.to_vector<double>()[0], 3);
    EXPECT_EQ(y.dtype(), dtype);
  }
}

/// Many sources of an element, which a GPU combines in pieces.
TEST_P(Scattering, OfManySourcesIsInTheirOrder) {
  manual_seed(2);
  const std::int64_t n = 5000;
  const Tensor index = randint(0, 3, {n}), source = randn({n}, float64);
  const std::vector<double> from = source.to_vector<double>();
  const std::vector<std::int64_t> to = index.to_vector<std::int64_t>();
  const Tensor x = zeros({3}, {float64, device()});
  std::vector<double> last(3, 0), largest(3, 0), smallest(3, 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto at = static_cast<std::size_t>(to[i]);
    last[at] = from[i], largest[at] = std::max(largest[at], from[i]), smallest[at] = std::min(smallest[at], from[i]);
  }
  const Tensor places = index.to(device()), sources = source.to(device());
  EXPECT_EQ(x.scatter(0, places, sources).to_vector<double>(), last);
  EXPECT_EQ(x.index_copy(0, places, sources).to_vector<double>(), last);
  EXPECT_EQ(x.scatter_reduce(0, places, sources, Scatter::amax).to_vector<double>(), largest);
  EXPECT_EQ(x.scatter_reduce(0, places, sources, Scatter::amin).to_vector<double>(), smallest);
  const Tensor below = x.scatter_reduce(0, places, sources - 10, Scatter::amax, false);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_DOUBLE_EQ(below.to_vector<double>()[k], largest[k] - 10);
  const Tensor signs = where(sources < 0, -1.0, 1.0).to(float64);
  const Tensor product = ones_like(x).scatter_reduce(0, places, signs, Scatter::prod);
  const Tensor negative = zeros_like(x).scatter_add(0, places, (sources < 0).to(float64)).cpu();
  EXPECT_TRUE(equal(product.cpu(), 1 - 2 * remainder(negative, 2)));
}

TEST_P(Scattering, GradientsOfProductsStayWithinAnElement) {
  const Tensor index = tensor({0, 0, 1, 2}).to(device());
  const Tensor x = tensor({2.0, 3.0, INFINITY, 5.0}, float32).to(device()).requires_grad_();
  scatter_reduce(ones({3}, {float32, device()}), 0, index, x, Scatter::prod).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{3, 2, 1, 1}));
}

}  // namespace
}  // namespace minnow::test
