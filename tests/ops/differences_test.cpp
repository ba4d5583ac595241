#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/autograd/autocast.h>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/likelihood_loss.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/module/parametrizations.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/embedding_bag.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"

// Rows of docs/differences-from-pytorch.md that no test of the operation itself asserts.
namespace minnow {
namespace {

using Doubles = std::vector<double>;

constexpr double kInfinite = std::numeric_limits<double>::infinity(),
                 kNoNumber = std::numeric_limits<double>::quiet_NaN();

class Differences : public test::DeviceTest {
 protected:
  static Tensor reals(const Nested& values, DType dtype = float32) { return tensor(values, {dtype, device()}); }
  static Tensor integers(const Nested& values, DType dtype = int64) { return tensor(values, {dtype, device()}); }
  template <class F> static Doubles gradient(const F& function, const Nested& at, const Nested& arriving) {
    const Tensor x = reals(at).requires_grad_(), y = function(x);
    return grad({y}, {x}, {.grad_outputs = {reals(arriving).reshape(y.shape())}})[0].to_vector<double>();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Differences, test::all_devices(), test::device_test_name);

TEST_P(Differences, NumbersAndTheirDTypes) {
  for (const DType dtype : {int64, int32})  // PyTorch sums steps, and has -3 for -4
    EXPECT_EQ(linspace(-20, 4, 10, {dtype, device()}).to_vector<double>(),
              (Doubles{-20, -17, -14, -12, -9, -6, -4, -1, 1, 4}));
  EXPECT_EQ(clamp(integers({0, 5}), 1.0, 3.0).dtype(), int64);
  const Doubles roots = pow(reals({-kInfinite, -0.0}), 0.5).to_vector<double>();
  EXPECT_EQ(roots, (Doubles{kInfinite, 0}));
  EXPECT_FALSE(std::signbit(roots[1]));
  const Tensor bytes = integers({1, 0}, uint8);
  for (const Tensor& y : {any(bytes), all(bytes), any(bytes, 0), all(bytes, 0)}) EXPECT_EQ(y.dtype(), bool_);
  EXPECT_EQ((bytes + 300).to_vector<int>(), (std::vector<int>{45, 44}));
  EXPECT_EQ(where(bytes > 0, bytes, 300).to_vector<int>(), (std::vector<int>{1, 44}));
  EXPECT_THROW((void)full({1}, 300, {uint8, device()}), ValueError);
  EXPECT_THROW(bytes.clone().fill_(300), ValueError);
  EXPECT_EQ((reals({1e-3}, float16) * 1e6).item(), kInfinite);
  EXPECT_EQ((reals({1e-3}, float16).to(float32) * 1e6).dtype(), float32);
  const Tensor sum_of = add(integers({1, 2}), integers({1, 1}), 3.5);
  EXPECT_EQ(sum_of.dtype(), float32);
  EXPECT_EQ(sum_of.to_vector<double>(), (Doubles{4.5, 5.5}));
  const Tensor m = ones({2, 2}, {int64, device()}), batch = m.unsqueeze(0);
  EXPECT_THROW((void)addmm(m, m, m, 1, 0.5), DTypeError);
  EXPECT_THROW((void)baddbmm(batch, batch, batch, 1.5), DTypeError);
  EXPECT_THROW((void)baddbmm(batch, batch, batch, 1, 1.5), DTypeError);
}

TEST_P(Differences, GradientsWhereASlopeIsZero) {
  for (const auto function : {+[](const In& x) { return tanh(x); }, +[](const In& x) { return sigmoid(x); },
                              +[](const In& x) { return exp(x); }, +[](const In& x) { return gelu(x); },
                              +[](const In& x) { return softplus(x); }})
    EXPECT_EQ(gradient(function, {-2000, -2000}, {kInfinite, kNoNumber}), (Doubles{0, 0}));
  for (const auto function : {+[](const In& x) { return square(x); }, +[](const In& x) { return cos(x); },
                              +[](const In& x) { return abs(x); }})
    EXPECT_EQ(gradient(function, {0, 0}, {kInfinite, kNoNumber}), (Doubles{0, 0}));
}

TEST_P(Differences, GradientsBesideNaNAndInfinity) {
  for (const auto function : {+[](const Tensor& x) { return amax(x); }, +[](const Tensor& x) { return amin(x); },
                              +[](const Tensor& x) { return amin(x, {0}); }})
    EXPECT_EQ(gradient(function, {1, kNoNumber, 2, kNoNumber}, {1}), (Doubles{0, 0.5, 0, 0.5}));
  EXPECT_EQ(gradient([](const Tensor& x) { return nanmean(x); }, {kNoNumber, kNoNumber}, {1}), (Doubles{0, 0}));
  EXPECT_EQ(gradient([](const Tensor& x) { return logcumsumexp(x, 0); }, {-kInfinite, -kInfinite, 1}, {1, 1, 1}),
            (Doubles{0, 0, 1}));
  const Tensor logs = reals({-1.0, -2.0});
  EXPECT_TRUE(std::isfinite(
      gradient([&](const Tensor& target) { return nn::kl_div(logs, target, {.reduction = nn::Reduction::sum}); },
               {0, 0.5}, {1})[0]));
  EXPECT_TRUE(std::isfinite(gradient(
      [&](const Tensor& target) {
        return nn::poisson_nll_loss(logs, target, {.full = true, .reduction = nn::Reduction::sum});
      },
      {0, 0.5}, {1})[0]));
}

TEST_P(Differences, LossesOfWhatIsNoProbabilityAreNaN) {
  for (const double outside : {1.5, -0.5})
    for (const double target : {0.0, 1.0})
      EXPECT_TRUE(std::isnan(nn::binary_cross_entropy(reals({outside}), reals({target})).item()));
  EXPECT_TRUE(std::isnan(nn::gaussian_nll_loss(reals({1.5}), reals({1.0}), reals({-1.0})).item()));
}

TEST_P(Differences, AConstantHasNoHistory) {
  const Tensor x = ones({2}, {.device = device()}).requires_grad_();
  const Tensor filled = x * 2, zeroed = x * 2;
  filled.fill_(3), zeroed.zero_();
  EXPECT_FALSE(filled.requires_grad());
  EXPECT_FALSE(zeroed.requires_grad());
}

TEST_P(Differences, OfSeveralSourcesTheLastCounts) {
  const Tensor x = zeros({2}, {.device = device()}), twice = integers({0, 0});
  const Tensor source = reals({1, 2}).requires_grad_();
  for (const Tensor& y : {scatter(x, 0, twice, source), index_copy(x, 0, twice, source)})
    EXPECT_EQ(grad(sum(y), source).to_vector<double>(), (Doubles{0, 1}));
  const auto line = [](const Tensor& t) { return t.reshape({1, 1, 1, 3}); };
  EXPECT_EQ(max_unpool2d(line(reals({1, 2, 3})), line(integers({1, 0, 1})), {1, 1}).to_vector<double>(),
            (Doubles{2, 3, 0}));
}

TEST_P(Differences, PlacesOfElements) {
  const Tensor x = integers({1, 1, 1, 0, 2});
  const std::int64_t in_order[] = {3, 0, 1, 2, 4};
  for (std::int64_t k = 1; k <= 5; ++k) EXPECT_EQ(kthvalue(x, k).indices.item<std::int64_t>(), in_order[k - 1]) << k;
  // They compare in float64, which has no 2^53 + 1: the first of equal elements.
  const std::int64_t big = std::int64_t{1} << 53;
  const auto large = max_pool2d_with_indices(integers({big, big + 1}).reshape({1, 1, 1, 2}), {1, 2});
  EXPECT_EQ(large.values.item<std::int64_t>(), big);
  EXPECT_EQ(large.indices.item<std::int64_t>(), 0);
  const Tensor box = arange(2 * 4 * 4 * 4 * 4, {float32, device()}).reshape({2, 4, 4, 4, 4});
  const Tensor padded = pad(box, {1, 1, 1, 1, 1, 1, 1, 1}, PadMode::reflect);  // PyTorch: three dimensions at most
  ASSERT_EQ(padded.shape(), (Shape{2, 6, 6, 6, 6}));
  EXPECT_EQ(padded(1, 0, 0, 0, 0).item(), box(1, 1, 1, 1, 1).item());
  if (!device().is_cpu()) return;  // offsets of a device are not looked at
  EXPECT_THROW((void)embedding_bag(integers({0, 1, 2}), ones({3, 2}), integers({0, 2, 1})), ValueError);
}

TEST_P(Differences, UnderAutocastEinsumIsOfTheLowerPrecision) {
  const Autocast guard(bfloat16, {.force = true});
  const Tensor a = ones({2, 2}, {.device = device()});
  EXPECT_EQ(einsum("ij,ij->ij", {a, a}).dtype(), bfloat16);  // float32 in PyTorch, on a CPU
  EXPECT_EQ(einsum("ij->i", {a}).dtype(), bfloat16);
}

TEST_P(Differences, AComputedWeightIsThatOfTheLastCall) {
  nn::Linear layer(1, 1);
  nn::weight_norm(layer);
  layer.to(device());
  const Tensor x = ones({1, 1}, {.device = device()});
  (void)layer(x);
  const double before = layer.weight.item();
  {
    const NoGradGuard guard;
    layer.state_dict().at("parametrizations.weight.original0").mul_(2);
  }
  EXPECT_EQ(layer.weight.item(), before);
  (void)layer(x);
  EXPECT_EQ(layer.weight.item(), 2 * before);
}

}  // namespace
}  // namespace minnow
