#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/losses/margin_loss.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/cross_entropy.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/prelu.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

class Edge : public test::DeviceTest {
 protected:
  static Tensor empty_of(const Shape& shape) { return zeros(shape, {.device = device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Edge, test::all_devices(), test::device_test_name);

TEST_P(Edge, LogsumexpOfNoElementsIsMinusInfinity) {
  Tensor x = empty_of({2, 0}).requires_grad_();
  const Tensor y = logsumexp(x, {1});
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{kNone, kNone}));
  EXPECT_EQ(logsumexp(x, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(logsumexp(x).item(), kNone);
  EXPECT_EQ(logsumexp(x, {0}).shape(), Shape{0});
  sum(y).backward();
  EXPECT_EQ(x.grad().shape(), (Shape{2, 0}));
}

/// 76,800 is no number of float16.
TEST_P(Edge, MeanOfManyHalvesHasAGradient) {
  const Tensor x = full({76800}, 2.0, {.dtype = DType::float16, .device = device()}).requires_grad_();
  mean(x).backward();
  EXPECT_NEAR(x.grad().to(DType::float64).sum().item(), 1.0, 0.01);
}

TEST_P(Edge, CatSkipsEmptyTensors) {
  Tensor nothing = empty_of({0}).requires_grad_(), x = empty_of({2, 3}).requires_grad_();
  for (const int dim : {0, 1, -1}) {
    const Tensor y = cat({nothing, x, nothing}, dim);
    EXPECT_EQ(y.shape(), (Shape{2, 3}));
    x.set_grad(Tensor());
    sum(y * 2).backward();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 2));
  }
  EXPECT_EQ(cat({nothing, nothing}).shape(), Shape{0});
  EXPECT_EQ(cat({nothing, nothing}, 1).shape(), Shape{0});
  EXPECT_EQ(cat({empty_of({0}).to(DType::float64), x}).dtype(), DType::float64);  // its dtype counts
  EXPECT_EQ(cat({nothing, empty_of({4})}).shape(), Shape{4});
  EXPECT_THROW(cat({x, empty_of({0, 4})}), ShapeError);
  EXPECT_THROW(cat({x, empty_of({0, 3})}, 1), ShapeError);
}

// The gradients below are PyTorch's.

using Doubles = std::vector<double>;

class EdgeGradient : public Edge {
 protected:
  static Tensor leaf(const Nested& values) { return tensor(values, {DType::float64, device()}).requires_grad_(); }
  static Doubles gradient(const Tensor& y, const Tensor& x) {
    return grad(sum(y), x, {.retain_graph = true}).to_vector<double>();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, EdgeGradient, test::all_devices(), test::device_test_name);

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_P(EdgeGradient, OfCatWithEmptyTensors) {
  const Tensor nothing = empty_of({0}).requires_grad_(), x = empty_of({2}).requires_grad_();
  const auto g = grad({sum(cat({nothing, x}))}, {nothing, x});
  EXPECT_EQ(g[0].shape(), Shape{0});
  EXPECT_EQ(g[1].to_vector<double>(), (Doubles{1, 1}));
}

TEST_P(EdgeGradient, OfProdOfItsGradientBesideZeros) {
  const auto second = [](const Nested& values, int row) {
    const Tensor x = leaf(values), first = grad(prod(x), x, {.create_graph = true});
    return gradient(first(row), x);
  };
  EXPECT_EQ(second({0, 2, 3}, 0), (Doubles{0, 3, 2}));
  EXPECT_EQ(second({0, 2, 3}, 1), (Doubles{3, 0, 0}));
  EXPECT_EQ(second({0, 0, 3}, 0), (Doubles{0, 3, 0}));
  EXPECT_EQ(second({1, 2, 3}, 2), (Doubles{2, 1, 0}));
  const auto along = [](const std::vector<Tensor>& in) { return prod(in[0], {0, 2}); };
  const Tensor x = leaf({{{0, 2}, {1, 0}, {3, 1}}, {{0, 1}, {4, 5}, {2, 2}}});
  EXPECT_TRUE(gradcheck(along, {x}));
  EXPECT_TRUE(gradgradcheck(along, {x}));
  EXPECT_TRUE(gradgradcheck([](const auto& in) { return prod(in[0]); }, {leaf({{1, 0}, {3, 2}})}));
  EXPECT_TRUE(gradgradcheck([](const auto& in) { return prod(in[0]); }, {leaf(7)}));
}

TEST_P(EdgeGradient, OfTheGradientOfPiecewiseLinearFunctions) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto f : {+[](const In& x) { return abs(x); }, +[](const In& x) { return relu(x); },
                       +[](const In& x) { return leaky_relu(x); }, +[](const In& x) { return clamp(x, -1, 1); }}) {
    const Tensor x = leaf({2, 3, 4}), infinite = leaf({1, infinity, -infinity});
    const Tensor first = grad(sum(f(x) * infinite), x, {.create_graph = true});
    EXPECT_EQ(gradient(first(0), x), (Doubles{0, 0, 0}));
  }
  // The third derivative of x * x * abs(x) is 6 sign(x).
  const Tensor x = leaf({-2, 3});
  Tensor d = x * x * abs(x);
  for (int order = 0; order < 3; ++order) d = grad(sum(d), x, {.create_graph = order < 2});
  EXPECT_EQ(d.to_vector<double>(), (Doubles{-6, 6}));
  d = square(-x) * x;  // 3 x^2, 6 x, 6
  for (int order = 0; order < 2; ++order) d = grad(sum(d), x, {.create_graph = order < 1});
  EXPECT_EQ(d.to_vector<double>(), (Doubles{-12, 18}));
}

TEST_P(EdgeGradient, OfTheGradientOfPiecewiseLinearFunctionsKeepsNoGradient) {
  const Tensor x = leaf({2, -3}), arriving = leaf({4, 5});
  const Tensor first = grad({relu(x)}, {x}, {.create_graph = true, .grad_outputs = {arriving}})[0];
  EXPECT_EQ(arriving.storage()->graph_references(), 0);
  EXPECT_EQ(gradient(first, arriving), (Doubles{1, 0}));
}

TEST_P(EdgeGradient, OfFunctionsAtKinksAndPoles) {
  struct Row {
    const char* name;
    Tensor (*function)(const In&);
    double at, slope, curve;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Row rows[] = {
      {"elu", [](const In& x) { return elu(x, 2); }, 0, 2, 0},
      {"selu", [](const In& x) { return selu(x); }, 0, 1.7580993408473766, 0},
      {"celu", [](const In& x) { return celu(x, 2); }, 0, 1, 0},
      {"softplus", [](const In& x) { return softplus(x, 2, 4); }, 2, 0.9820137900379085, 0},
      {"digamma", [](const In& x) { return digamma(x); }, 0, infinity, -infinity},
      {"digamma", [](const In& x) { return digamma(x); }, -0.0, infinity, -infinity},
      {"digamma", [](const In& x) { return digamma(x); }, -2, infinity, -infinity},
      {"digamma", [](const In& x) { return digamma(x); }, -infinity, kNaN, kNaN},
      {"lgamma", [](const In& x) { return lgamma(x); }, -3, kNaN, infinity},
      {"logit", [](const In& x) { return logit(x); }, -1, kNaN, kNaN},
      {"logit", [](const In& x) { return logit(x); }, 2, kNaN, kNaN},
      {"logit", [](const In& x) { return logit(x); }, 1, infinity, infinity},
  };
  for (const Row& row : rows) {
    const Tensor x = leaf({row.at}), first = grad(sum(row.function(x)), x, {.create_graph = true});
    const auto close = [](double given, double wanted) {
      return std::isfinite(wanted) ? std::fabs(given - wanted) < 1e-12
                                   : given == wanted || (given != given && wanted != wanted);
    };
    EXPECT_TRUE(close(first.item(), row.slope)) << row.name << "' at " << row.at << ": " << first.item();
    const double bend = gradient(first, x)[0];
    EXPECT_TRUE(close(bend, row.curve)) << row.name << "'' at " << row.at << ": " << bend;
  }
}

TEST_P(EdgeGradient, OfTheGradientOfLossesIsFloat64) {
  const Tensor x = leaf({0.001}), zero = zeros_like(x.detach());
  const auto curve = [&](const Tensor& loss) { return gradient(grad(loss, x, {.create_graph = true}), x)[0]; };
  EXPECT_DOUBLE_EQ(curve(nn::smooth_l1_loss(x, zero, {.beta = 0.004, .reduction = nn::Reduction::sum})), 1 / 0.004);
  EXPECT_DOUBLE_EQ(curve(nn::huber_loss(x, zero, {.delta = 0.1, .reduction = nn::Reduction::sum})), 1);
}

TEST_P(EdgeGradient, OfTheGradientOfGeluIsZeroFarAway) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor x = tensor({-6e4, -100.0, 25.0, 300.0}, {dtype, device()}).requires_grad_();
    const Tensor first = grad(sum(gelu_tanh(x)), x, {.create_graph = true});
    EXPECT_EQ(gradient(first, x), Doubles(4, 0.0)) << dtype;
  }
}

TEST_P(EdgeGradient, OfNaNIsNaN) {
  const Tensor x = leaf({kNaN});
  for (const Tensor& y : {elu(x), selu(x), celu(x), silu(x), gelu(x), softplus(x)})
    EXPECT_TRUE(std::isnan(gradient(y, x)[0]));
}

TEST_P(EdgeGradient, OfMultilabelSoftMarginLossBesideInfinity) {
  const Tensor x = leaf({{-std::numeric_limits<double>::infinity(), 1}}),
               y = tensor({{0.5, 1.0}}, {DType::float64, device()});
  EXPECT_EQ(nn::multilabel_soft_margin_loss(x, y).item(), std::numeric_limits<double>::infinity());
}

TEST_P(EdgeGradient, OfSoftmaxOfOneNumber) {
  for (const double value : {kNone, -kNone, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(softmax(tensor(value, {DType::float64, device()}), 0).item())) << value;
    EXPECT_TRUE(std::isnan(log_softmax(tensor(value, {DType::float64, device()}), -1).item())) << value;
  }
  const Tensor x = tensor(3.0, {DType::float64, device()}).requires_grad_();
  const Tensor y = softmax(x, 0), log_y = log_softmax(x, 0);
  EXPECT_EQ(y.item(), 1);
  EXPECT_EQ(log_y.item(), 0);
  EXPECT_EQ(gradient(y + log_y, x), Doubles{0});
}

TEST_P(EdgeGradient, OfTheGradientOfPreluAtZero) {
  const Tensor x = leaf({-1, 0, 1, -2}), w = leaf({0.25});
  const auto first = grad({sum(prelu(x, w))}, {x, w}, {.create_graph = true});
  EXPECT_EQ(first[0].to_vector<double>(), (Doubles{0.25, 0.25, 1, 0.25}));
  EXPECT_EQ(gradient(first[0], w), (Doubles{2}));
  EXPECT_EQ(gradient(first[1], x), (Doubles{1, 0, 0, 1}));
}

TEST_P(EdgeGradient, OfTheGradientOfLogcumsumexpBesideInfinity) {
  const auto second = [](const Nested& values) {
    const Tensor x = leaf(values);
    return gradient(grad(sum(logcumsumexp(x, 0)), x, {.create_graph = true}), x);
  };
  const Doubles inner = second({1, kInfinity, 2}), last = second({1, 2, kInfinity});
  EXPECT_EQ(inner[0], 0);
  EXPECT_EQ(inner[2], 0);
  EXPECT_NEAR(last[0], 0, 1e-12);
  EXPECT_NEAR(last[1], 0, 1e-12);
  EXPECT_EQ(second({-kInfinity, 3}), (Doubles{0, 0}));
  EXPECT_EQ(second({800}), (Doubles{0}));  // e^800 is infinite
  const Doubles large = second({800, 801}), small = second({0, 1});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(large[i], small[i], 1e-12);
}

TEST_P(EdgeGradient, OfTheGradientOfCosineSimilarityOfAZeroVector) {
  const Tensor a = leaf({{0, 0, 0}}), b = leaf({{1, 2, 3}}), weight = tensor({{1.0, 2.0, 4.0}}, {float64, device()});
  const auto first = grad({sum(cosine_similarity(a, b))}, {a, b}, {.create_graph = true});
  const Doubles wanted{-5727026.61240909, -11454053.22481818, 9545044.354015150};
  const Doubles of_a = gradient(first[0] * weight, b), of_b = gradient(first[1] * weight, a);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(of_a[i], wanted[i], 1e-6) << i;
    EXPECT_NEAR(of_b[i], wanted[i], 1e-6) << i;
  }
  EXPECT_EQ(gradient(first[0] * weight, a), (Doubles{0, 0, 0}));  // NaN in PyTorch
}

TEST_P(EdgeGradient, OfTheGradientOfNormsOfZeros) {
  for (const double p : {0.5, 1.5, 2.0, 3.0}) {
    const Tensor x = leaf({{0, 0}, {3, 4}}), first = grad(sum(norm(x, p, 1)), x, {.create_graph = true});
    const Doubles second = gradient(first * tensor({1.0, 2.0}, {float64, device()}), x);
    EXPECT_EQ(second[0], 0) << p;
    EXPECT_EQ(second[1], 0) << p;
    EXPECT_TRUE(std::isfinite(second[2])) << p;
    EXPECT_NE(second[2], 0) << p;
  }
}

TEST_P(EdgeGradient, OfTheGradientOfRemaindersIsZero) {
  for (const auto function : {static_cast<Tensor (*)(const TensorLike&, const TensorLike&)>(fmod),
                              static_cast<Tensor (*)(const TensorLike&, const TensorLike&)>(remainder)}) {
    const Tensor a = leaf({1, kInfinity, kInfinity, 2, 7}), b = leaf({kInfinity, 2, kInfinity, 0, 3});
    const Tensor first = grad(sum(function(a, b)), b, {.create_graph = true});
    EXPECT_EQ(first.to_vector<double>()[4], -2);
    EXPECT_EQ(gradient(first, a), Doubles(5, 0));
    EXPECT_EQ(gradient(first, b), Doubles(5, 0));
  }
}

TEST_P(EdgeGradient, OfRemainderOfItsDivisor) {
  const Tensor a = leaf({1, -1, 7, -7, 1}), b = leaf({0.1, 0.1, 2, 2, -0.1});
  EXPECT_EQ(gradient(remainder(a, b), b), (Doubles{-9, 10, -3, 4, 10}));
}

TEST_P(EdgeGradient, OfMaxGoesToNaN) {
  for (const auto function : {static_cast<Tensor (*)(const In&)>(max), static_cast<Tensor (*)(const In&)>(min)}) {
    const Tensor x = leaf({1, kNaN, 2}), two = leaf({1, kNaN, kNaN, -3});
    EXPECT_EQ(gradient(function(x), x), (Doubles{0, 1, 0}));
    EXPECT_EQ(gradient(function(two), two), (Doubles{0, 0.5, 0.5, 0}));
  }
  const Tensor rows = leaf({{1, kNaN}, {2, 5}});
  EXPECT_EQ(gradient(amax(rows, {1}), rows), (Doubles{0, 1, 0, 1}));
}

TEST_P(EdgeGradient, OfBatchNormOfNoImages) {
  const Tensor statistics = ones({3}, {float64, device()});
  for (const bool training : {true, false}) {
    const Tensor x = zeros({0, 3, 2}, {float64, device()}).requires_grad_();
    const Tensor w = ones({3}, {float64, device()}).requires_grad_();
    const auto y = batch_norm(x, statistics, statistics, w, {}, {.training = training});
    const auto first = grad({sum(y)}, {x, w}, {.create_graph = true});
    EXPECT_EQ(first[1].to_vector<double>(), std::vector<double>(3, 0));
    const auto second = grad({sum(first[0]) + sum(first[1])}, {x, w});
    EXPECT_EQ(second[0].shape(), x.shape());
    EXPECT_EQ(second[1].to_vector<double>(), std::vector<double>(3, 0));
  }
}

TEST_P(EdgeGradient, OfGroupNormOfNothingIsZero) {
  for (const Shape& shape : {Shape{0, 4, 3}, Shape{2, 4, 0}, Shape{0, 4, 2, 5}})
    for (const DType dtype : {float64, bfloat16}) {
      const auto leaf_of = [&](const Shape& s, DType of) { return ones(s, {of, device()}).requires_grad_(); };
      const Tensor x = leaf_of(shape, dtype), w = leaf_of({4}, dtype == float64 ? float64 : float32),
                   b = leaf_of({4}, w.dtype());
      for (const Tensor& y : {group_norm(x, 2, w, b), instance_norm(x, w, b), group_norm(x, 2), instance_norm(x)}) {
        EXPECT_EQ(y.shape(), shape);
        EXPECT_EQ(y.dtype(), dtype);
        EXPECT_TRUE(y.requires_grad());
      }
      const auto found = grad({sum(group_norm(x, 2, w, b)) + sum(instance_norm(x, w, b))}, {x, w, b});
      EXPECT_EQ(found[0].shape(), shape);
      EXPECT_EQ(found[1].to_vector<double>(), Doubles(4, 0));
      EXPECT_EQ(found[2].to_vector<double>(), Doubles(4, 0));
    }
  EXPECT_EQ(group_norm(empty_of({0, 0}), 2).shape(), (Shape{0, 0}));
}

TEST_P(EdgeGradient, OfWhatBetaLeavesOutIsZero) {
  const Tensor a = full({2, 3}, 2.0, {float64, device()}).requires_grad_(), b = ones({3, 4}, {float64, device()});
  for (const Shape& shape : {Shape{4}, Shape{2, 4}, Shape{2, 1}}) {
    const Tensor x = full(shape, kNaN, {float64, device()}).requires_grad_();
    const auto found = grad({sum(addmm(x, a, b, 0, 3))}, {x, a}, {.create_graph = true});
    EXPECT_EQ(found[0].shape(), shape);
    EXPECT_EQ(found[0].to_vector<double>(), Doubles(static_cast<std::size_t>(x.numel()), 0));
    EXPECT_EQ(found[1].to_vector<double>(), Doubles(6, 12));
    EXPECT_EQ(gradient(addmm(x, a.detach(), b, 0), x), Doubles(static_cast<std::size_t>(x.numel()), 0));
    const Tensor batches = baddbmm(x, a.unsqueeze(0), b.unsqueeze(0), 0);
    EXPECT_EQ(batches.to_vector<double>(), Doubles(8, 6));
    EXPECT_EQ(gradient(batches, x), Doubles(static_cast<std::size_t>(x.numel()), 0));
  }
}

TEST_P(EdgeGradient, OfNormsOfInfiniteOrder) {
  for (const double p : {std::numeric_limits<double>::infinity(), kNone}) {
    const Tensor x = leaf({1, kNaN, 2}), zero = leaf({0, 0});
    EXPECT_EQ(gradient(norm(x, p), x), (Doubles{0, 0, 0}));
    EXPECT_EQ(gradient(norm(zero, p), zero), (Doubles{0, 0}));
  }
}

// PyTorch's rules, by which a NaN of the forward pass is seen in the gradients.
TEST_P(EdgeGradient, OfReluAtNaNIsTheGradient) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    Tensor x = tensor({nan, 1.0, -1.0, 0.0, -nan}).to(dtype).to(device()).requires_grad_();
    sum(relu(x)).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{1, 1, 0, 0, 1}));
  }
}

TEST_P(EdgeGradient, OfCrossEntropyOfAnInfiniteLogitIsNaN) {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor x = tensor({{inf, 1.0, 2.0}, {0.0, 0.0, 0.0}}).to(DType::float32).to(device()).requires_grad_();
  nn::cross_entropy(x, tensor({1, 2}, {.dtype = DType::int64}).to(device())).backward();
  const auto seen = isnan(x.grad()).to(DType::int64).to_vector<std::int64_t>();
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 1, 1, 0, 0, 0}));
}

TEST_P(Edge, LayerNormWhoseSquaresOverflowIsNaN) {
  const Tensor x = tensor({{1e20, 2e20, 3e20}, {1e10, 2e10, 3e10}}).to(DType::float32).to(device());
  for (const Tensor& y : {layer_norm(x, {3}), group_norm(x.unsqueeze(1), 1).squeeze(1)}) {
    EXPECT_TRUE(all(isnan(y[0])).item() != 0);
    EXPECT_TRUE(allclose(y[1].cpu(), tensor({-1.2247449, 0.0, 1.2247449}).to(DType::float32), 1e-5, 1e-5));
  }
}

TEST_P(EdgeGradient, OfMaximumOfNaNGoesToBoth) {
  const Tensor a = leaf({1, kNaN, 2, kNaN, 3, 3}), b = leaf({2, 1, kNaN, kNaN, 3, 1});
  EXPECT_EQ(gradient(maximum(a, b), a), (Doubles{0, 1, 1, 1, 0.5, 1}));
  EXPECT_EQ(gradient(maximum(a, b), b), (Doubles{1, 1, 1, 1, 0.5, 0}));
  EXPECT_EQ(gradient(minimum(a, b), a), (Doubles{1, 1, 1, 1, 0.5, 0}));
  EXPECT_EQ(gradient(minimum(a, b), b), (Doubles{0, 1, 1, 1, 0.5, 1}));
}

TEST_P(EdgeGradient, OfNormsOfLowOrderAtZero) {
  const Tensor x = leaf({0, 2, 3}), zero = leaf({0, 0}), both = leaf({-1, 2});
  const auto expect_near = [](const Doubles& given, const Doubles& wanted) {
    ASSERT_EQ(given.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(given[i], wanted[i], 1e-12) << i;
  };
  expect_near(gradient(norm(x, 0.5), x), {0, 2.224744871391589, 1.8164965809277265});
  expect_near(gradient(norm(x, 0.3), x), {0, 5.833219644088319, 4.391819152598582});
  expect_near(gradient(norm(x, -1), x), {0, 0, 0});
  expect_near(gradient(norm(zero, 0.5), zero), {0, 0});
  expect_near(gradient(norm(both, 0.5), both), {-2.414213562373095, 1.7071067811865472});
  expect_near(gradient(norm(both, -0.5), both), {-0.20101012677666932, 0.07106781186547526});
  EXPECT_TRUE(gradgradcheck([](const auto& in) { return norm(in[0], 0.5); }, {both}));
}

TEST_P(Edge, CrossEntropyOfHalvesKeepsItsSumsInFloat32) {
  const Tensor target = tensor({0}, {.device = device()});
  for (const DType half : {DType::float16, DType::bfloat16}) {
    // Logits this large are 16 apart in float16 and 128 in bfloat16: a rounded sum would lose log 2.
    const Tensor logits = full({1, 2}, 16384, {half, device()}).requires_grad_();
    const auto [losses, sums] = raw::cross_entropy(logits, target);
    EXPECT_EQ(sums.dtype(), DType::float32);
    EXPECT_EQ(sums.to_vector<float>(), (std::vector<float>{16384, 2}));
    nn::cross_entropy(logits, target).backward();
    EXPECT_EQ(logits.grad().to_vector<float>(), (std::vector<float>{-0.5F, 0.5F}));
  }
  const Tensor wide = zeros({1, 2}, {DType::float64, device()});
  EXPECT_EQ(raw::cross_entropy(wide, target).exp_sums.dtype(), DType::float64);
}

TEST_P(Edge, CrossEntropyOfLargeLogitsIsExact) {
  const Tensor target = tensor({0}, {.device = device()});
  for (const double size : {1e3, 1e7, 1e8, -1e8}) {
    const Tensor logits = full({1, 2}, size, {.device = device()}).requires_grad_();
    nn::cross_entropy(logits, target).backward();
    EXPECT_EQ(logits.grad().to_vector<float>(), (std::vector<float>{-0.5F, 0.5F})) << size;
  }
  const Tensor wide = full({1, 2}, 1e10, {DType::float64, device()});
  EXPECT_NEAR(nn::cross_entropy(wide, target).item(), std::log(2), 1e-15);
  // Many classes that share one probability, and one far below.
  const Tensor many = full({1, 3000}, 1e6, {.device = device()}).requires_grad_();
  nn::cross_entropy(many, target).backward();
  EXPECT_NEAR(many.grad().to_vector<float>()[7], 1.0 / 3000, 1e-9);
}

TEST_P(Edge, CrossEntropyIgnoresInfinitiesOfIgnoredRows) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t ignored : {-100, 0}) {
    Tensor logits = tensor({{inf, 0.0}, {1.0, 1.0}, {-inf, -inf}}, {.dtype = float32, .device = device()});
    logits.requires_grad_();
    const Tensor target = tensor({ignored, std::int64_t{1}, ignored}, {.device = device()});
    const Tensor loss = nn::cross_entropy(logits, target, {.ignore_index = ignored});
    loss.backward();
    EXPECT_NEAR(loss.item(), std::log(2), 1e-6);
    EXPECT_EQ(logits.grad().to_vector<float>(), (std::vector<float>{0, 0, 0.5F, -0.5F, 0, 0})) << ignored;
  }
}

/// Behind a function that is cut off, what comes as infinity or NaN counts nothing: as with PyTorch.
TEST_P(Edge, SquareRootsOfWhatIsCutOffHaveGradients) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto gradient = [&](DType dtype, const auto& function) {
    Tensor x = tensor({-4.0, -1.0, 0.25, 1.0}, {.dtype = dtype, .device = device()}).requires_grad_();
    sum(sqrt(function(x))).backward();
    return x.grad().to_vector<double>();
  };
  for (const DType dtype : {float32, float64, bfloat16, float16}) {
    const std::vector<double> want{0, 0, 1, 0.5};
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return relu(x); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](Tensor x) { return relu_(x * 1); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return relu6(x); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [&](const Tensor& x) { return clamp(x, 0.0, inf); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return clamp_min(x, zeros_like(x)); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return maximum(x, 0); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return fmax(x, 0); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return neg(minimum(neg(x), 0)); }), want) << dtype;
    EXPECT_EQ(gradient(dtype, [](const Tensor& x) { return where(x > 0, x, 0.0); }), want) << dtype;
  }
}

/// Taps that read padding alone, in memory that was something else before.
TEST_P(Edge, WeightsOfPaddingAloneHaveTheGradient0) {
  for (const DType dtype : {float32, bfloat16, float16}) {
    {
      std::vector<Tensor> before;
      for (std::int64_t n = 1; n < 3000; n += 7) before.push_back(full({n}, 1e20, {.device = device()}));
    }
    const Tensor x = ones({1, 2, 9, 2}, {.dtype = dtype, .device = device()});
    const Tensor w = ones({3, 2, 5, 3}, {.dtype = dtype, .device = device()}).requires_grad_();
    sum(conv2d(x, w, {}, {.stride = {2, 3}, .padding = {0, 2}})).backward();
    const Tensor g = w.grad().to(float32);
    const Tensor row = tensor({3.0, 0.0, 3.0}, {.dtype = float32, .device = device()});
    EXPECT_TRUE(allclose(g, row.expand(g.shape()), 1e-3, 1e-3)) << dtype << '\n' << g;
  }
}

TEST_P(Edge, RepeatsOfManyDimensions) {
  const Tensor x = randn({1, 2, 1, 2, 3}, {.device = device()}).requires_grad_();
  const Tensor y = repeat(x, {2, 3, 2, 1, 2});
  ASSERT_EQ(y.shape(), (Shape{2, 6, 2, 2, 6}));
  EXPECT_TRUE(equal(y(slice(0, 1), slice(2, 4), slice(1, 2), all, slice(3, 6)), x));
  sum(y).backward();
  EXPECT_TRUE(equal(x.grad(), full_like(x, 24)));
  EXPECT_EQ(repeat(x, {2, 1, 0, 1, 1, 2}).shape(), (Shape{2, 1, 0, 1, 2, 6}));
}

TEST_P(Edge, RepeatsAreCopies) {
  const Tensor x = ones({1, 3}, {.device = device()}), matrix = x.expand({2, 3}).clone().t();
  for (const Tensor& y :
       {repeat(x, {1, 1}), repeat(x, {1, 1, 1}), tile(x, {1}), repeat(x.flatten(), {1}), repeat(x, {1, 1, 1, 1, 1}),
        repeat_interleave(x, 1, 0), repeat(x(all, slice(0, 1)), {4, 2}), repeat(matrix, {1, 1})}) {
    EXPECT_TRUE(y.is_contiguous()) << y.shape().str();
    y.add_(1);
    EXPECT_TRUE(equal(y, full_like(y, 2))) << y.shape().str();
  }
  EXPECT_TRUE(equal(x, ones_like(x)));
  EXPECT_TRUE(equal(matrix, ones_like(matrix)));
}

TEST_P(Edge, LinearWithoutOutputsHasGradients) {
  const Tensor x = ones({16}, {.device = device()}).requires_grad_();
  const Tensor w = ones({0, 16}, {.device = device()}).requires_grad_();
  sum(linear(x, w)).backward();
  EXPECT_TRUE(equal(x.grad(), zeros_like(x)));
  EXPECT_EQ(w.grad().shape(), (Shape{0, 16}));
}

TEST_P(Edge, AddcdivMultipliesFirst) {
  const auto number = [](double x) { return full({1}, x, {.device = device()}); };
  EXPECT_NEAR(addcdiv(number(0), number(3e38), number(0.8), 0.5).item() / 1.875e38, 1, 1e-6);
}

TEST_P(Edge, PoolsRefuseDilationsOfNoImage) {
  const Tensor x = ones({1, 5, 6, 4, 4}, {.device = device()});
  const std::string text = test::error_of<ValueError>([&] {
    (void)max_pool3d(x, {4, 1, 1},
                     {.stride = 3, .padding = {2, 0, 0}, .dilation = {2, 2, std::numeric_limits<std::int64_t>::max()}});
  });
  EXPECT_NE(text.find("a dilation is above"), std::string::npos) << text;
}

/// LAPACK's algorithms for them may not end.
TEST_P(Edge, DecompositionsOfInfinityAreErrors) {
  if (device().is_cuda()) GTEST_SKIP() << "linalg is computed on the CPU";
  Tensor m = eye(12, {.device = device()}).clone();
  m(0, 1) = std::numeric_limits<double>::infinity();
  for (const auto& f :
       std::vector<std::function<void()>>{[&] { (void)linalg::svd(m); }, [&] { (void)linalg::svdvals(m); },
                                          [&] { (void)linalg::pinv(m); }, [&] { (void)linalg::eigh(m); }})
    EXPECT_NE(test::error_of<ValueError>(f).find("did not converge"), std::string::npos);
}

TEST_P(Edge, CrossEntropyWithoutClassesIsAnError) {
  const Tensor target = tensor({0, 0}, {.device = device()});
  const std::string text = test::error_of<IndexError>([&] {
    finish([&] { raw::cross_entropy(empty_of({2, 0}), target); });
  });
  // A GPU reports it later, without the value.
  const std::string want =
      device().is_cuda() ? "a target is out of range" : "logits have no classes: targets can only be ignore_index -100";
  EXPECT_NE(text.find(want), std::string::npos) << text;
}

TEST(ShapeText, IsPrintedByStreams) {
  std::ostringstream out;
  out << Shape{2, -1, 3} << Shape{};
  EXPECT_EQ(out.str(), "[2, -1, 3][]");
  EXPECT_EQ(::testing::PrintToString(Shape{4, 5}), "[4, 5]");
}

}  // namespace
}  // namespace minnow
