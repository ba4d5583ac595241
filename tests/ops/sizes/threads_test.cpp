// On the CPU every operation has the same bits for any number of threads, at sizes that are divided among threads:
// results and gradients.  (Products and convolutions of many shapes: tests/cpu/thread_count_test.cpp.)

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include "op_cases.h"

namespace minnow::test {
namespace {

constexpr int kCounts[] = {2, 3, 4, 8, 17};

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         std::memcmp(x.raw_data(), y.raw_data(), static_cast<std::size_t>(x.nbytes())) == 0;
}

/// The results, and the gradients of sum(results * numbers) of floating-point inputs.
Tensors run(const Function& f, const Tensors& inputs, bool backward) {
  manual_seed(1);
  Tensors leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.detach());
    if (backward && x.is_floating_point()) leaves.back().requires_grad_();
  }
  Tensors results = f(leaves);
  if (!backward) return results;
  Tensors outputs, gradients;
  for (const Tensor& y : results)
    if (y.requires_grad()) {
      outputs.push_back(y);
      gradients.push_back(randn(y.shape(), {.dtype = y.dtype()}));
    }
  EXPECT_FALSE(outputs.empty());
  minnow::backward(outputs, gradients);
  for (const Tensor& x : leaves)
    if (x.requires_grad()) results.push_back(x.grad());
  return results;
}

class ThreadCounts : public ::testing::Test {
 protected:
  ~ThreadCounts() override { set_num_threads(before_); }

  static void expect_same(const std::string& name, const Function& f, const Tensors& inputs, bool backward = true) {
    set_num_threads(1);
    const Tensors one = run(f, inputs, backward);
    for (const int threads : kCounts) {
      set_num_threads(threads);
      const Tensors many = run(f, inputs, backward);
      ASSERT_EQ(many.size(), one.size()) << name;
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_TRUE(same_bits(many[i], one[i])) << name << ", tensor " << i << ", " << threads << " threads";
    }
  }
  template <class F> static void expect_same_of_one(const std::string& name, F f, const Tensors& x, bool back = true) {
    expect_same(
        name, [f](const Tensors& t) { return Tensors{f(t[0])}; }, x, back);
  }
  static Tensor numbers(const Shape& shape, DType dtype = DType::float32) {
    manual_seed(7);
    return randn(shape, {.dtype = dtype});
  }
  static Tensor places(const Shape& shape, std::int64_t size) {
    manual_seed(8);
    return randint(0, size, shape);
  }

 private:
  int before_ = num_threads();
};

TEST_F(ThreadCounts, Elementwise) {
  const Tensor x = numbers({301, 1003}), row = numbers({1003}), tall = numbers({1003, 301});
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const Tensors one{x.to(dtype)};
    expect_same_of_one(
        "exp", [](const Tensor& t) { return exp(t); }, one);
    expect_same_of_one(
        "gelu", [](const Tensor& t) { return gelu(t); }, one);
  }
  expect_same("add, broadcast", [](const Tensors& t) { return Tensors{t[0] + t[1], t[0] * t[1]}; }, {x, row});
  expect_same("transposed", [](const Tensors& t) { return Tensors{t[0] * t[1].t()}; }, {x, tall});
  expect_same("where", [](const Tensors& t) { return Tensors{where(t[0] > 0, t[0], t[1])}; }, {x, row});
  expect_same("lerp", [](const Tensors& t) { return Tensors{lerp(t[0], t[1], 0.3)}; }, {x, row});
  expect_same_of_one("contiguous", [](const Tensor& t) { return t.t().contiguous() * 1; }, {x});
  expect_same_of_one("to", [](const Tensor& t) { return t.to(float16); }, {x});
  expect_same_of_one("prelu", [](const Tensor& t) { return prelu(t, full({1003}, 0.2)); }, {x});
}

TEST_F(ThreadCounts, Reductions) {
  const Tensor x = numbers({67, 129, 65});
  for (const DType dtype : {DType::float32, DType::float64, DType::float16})
    for (const Shape& dims : {Shape{}, Shape{0}, Shape{1}, Shape{2}, Shape{0, 2}, Shape{0, 1}, Shape{1, 2}}) {
      const std::string name = " " + std::string(name_of(dtype)) + " " + dims.str();
      const auto all_of = [dims](const Tensors& t) {
        return Tensors{sum(t[0], dims),     mean(t[0], dims),    var(t[0], dims),      amax(t[0], dims),
                       norm(t[0], 2, dims), norm(t[0], 3, dims), logsumexp(t[0], dims)};
      };
      expect_same("reductions" + name, all_of, {x.to(dtype)}, dtype == DType::float32);
    }
  for (const int dim : {0, 1, 2}) {
    const std::string name = " " + std::to_string(dim);
    expect_same("along" + name,
                [dim](const Tensors& t) {
                  const MinMax m = max(t[0], dim);
                  return Tensors{m.values,
                                 m.indices,
                                 prod(t[0] * 0.1 + 1, dim),
                                 argmin(t[0], dim),
                                 cumsum(t[0], dim),
                                 cumprod(t[0] * 0.01 + 1, dim),
                                 logcumsumexp(t[0], dim),
                                 cummax(t[0], dim).values};
                },
                {x});
    expect_same("softmax" + name,
                [dim](const Tensors& t) {
                  return Tensors{softmax(t[0], dim), log_softmax(t[0], dim)};
                },
                {x});
    expect_same("order" + name,
                [dim](const Tensors& t) {
                  const Ordered all = sort(t[0], dim), some = topk(t[0], 5, dim);
                  return Tensors{all.values, all.indices, some.values, some.indices, median(t[0], dim).values};
                },
                {x});
  }
  const Tensor line = numbers({400'001}), repeated = round(line * 100);
  expect_same("one line",
              [](const Tensors& t) {
                return Tensors{sum(t[0]),
                               cumsum(t[0], 0),
                               softmax(t[0], 0),
                               sort(t[0], 0).indices,
                               sort(t[1], 0).indices,
                               topk(t[0], 1000, 0).values,
                               median(t[1]),
                               logsumexp(t[0])};
              },
              {line, repeated});
  expect_same(
      "search",
      [](const Tensors& t) {
        const Unique u = unique(t[0], true, true);
        return Tensors{u.values,
                       u.inverse,
                       u.counts,
                       histc(t[0], 50),
                       nonzero(t[0]),
                       t[0](t[0] > 0).clone(),
                       searchsorted(sort(t[0], 0).values, t[1])};
      },
      {repeated, line}, false);
}

TEST_F(ThreadCounts, Products) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const std::int64_t n = dtype == DType::float32 ? 300 : 120;
    expect_same("matmul", [](const Tensors& t) { return Tensors{matmul(t[0], t[1])}; },
                {numbers({n + 1, 200}, dtype), numbers({200, n}, dtype)});
    expect_same("bmm", [](const Tensors& t) { return Tensors{matmul(t[0], t[1])}; },
                {numbers({13, 70, 60}, dtype), numbers({13, 60, 50}, dtype)});
    expect_same("linear", [](const Tensors& t) { return Tensors{linear(t[0], t[1], t[2], Activation::relu)}; },
                {numbers({64, 784}, dtype), numbers({128, 784}, dtype), numbers({128}, dtype)});
  }
  expect_same("mv", [](const Tensors& t) { return Tensors{mv(t[0], t[1])}; }, {numbers({700, 900}), numbers({900})});
  expect_same("dot", [](const Tensors& t) { return Tensors{dot(t[0], t[1])}; },
              {numbers({300'000}), numbers({300'000})});
  expect_same("solve_triangular",
              [](const Tensors& t) {
                const Tensor a = add(t[0], mul(eye(200), 200));
                return Tensors{linalg::solve_triangular(a, t[1], true), linalg::solve(a, t[1])};
              },
              {numbers({200, 200}), numbers({200, 150})});
  expect_same("cdist",
              [](const Tensors& t) {
                return Tensors{cdist(t[0], t[1]), cdist(t[0], t[1], 1)};
              },
              {numbers({150, 40}), numbers({170, 40})});
  for (const bool causal : {false, true})
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = numbers({2, 4, 400, 32}, dtype);
      expect_same("attention",
                  [causal](const Tensors& t) {
                    return Tensors{scaled_dot_product_attention(t[0], t[1], t[2], {}, {.is_causal = causal})};
                  },
                  {x, x, x});
    }
}

TEST_F(ThreadCounts, ConvolutionsAndPools) {
  const Tensor x = numbers({6, 16, 28, 28});
  const auto conv = [&](const std::string& name, const Shape& w, const Conv2dFuncOptions& options) {
    expect_same(name, [options](const Tensors& t) { return Tensors{conv2d(t[0], t[1], t[2], options)}; },
                {x, numbers(w), numbers({w[0]})});
  };
  conv("conv 3x3", {32, 16, 3, 3}, {.padding = 1});
  conv("conv 5x5, stride 2", {24, 16, 5, 5}, {.stride = 2});
  conv("conv 1x1", {32, 16, 1, 1}, {});
  conv("conv, groups", {32, 4, 3, 3}, {.groups = 4});
  conv("conv, depthwise", {16, 1, 3, 3}, {.padding = 1, .groups = 16});
  conv("conv, dilated", {16, 16, 3, 3}, {.dilation = 2});
  const Tensor last = x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2});
  expect_same("conv, channels last", [](const Tensors& t) { return Tensors{conv2d(t[0], t[1])}; },
              {last, numbers({32, 16, 3, 3})});
  expect_same("conv1d", [](const Tensors& t) { return Tensors{conv1d(t[0], t[1], t[2])}; },
              {numbers({8, 16, 500}), numbers({24, 16, 5}), numbers({24})});
  expect_same("conv3d", [](const Tensors& t) { return Tensors{conv3d(t[0], t[1], t[2])}; },
              {numbers({2, 6, 12, 14, 15}), numbers({8, 6, 3, 3, 3}), numbers({8})});
  expect_same("conv_transpose2d",
              [](const Tensors& t) { return Tensors{conv_transpose2d(t[0], t[1], t[2], {.stride = 2})}; },
              {numbers({4, 16, 14, 14}), numbers({16, 12, 4, 4}), numbers({12})});
  expect_same("conv in float64", [](const Tensors& t) { return Tensors{conv2d(t[0], t[1])}; },
              {numbers({3, 6, 16, 16}, DType::float64), numbers({8, 6, 3, 3}, DType::float64)});
  expect_same("pools",
              [](const Tensors& t) {
                return Tensors{max_pool2d(t[0], 2), max_pool2d(t[0], 3, {.stride = 2, .padding = 1}),
                               avg_pool2d(t[0], 3, {.stride = 1}), adaptive_avg_pool2d(t[0], 7), lp_pool2d(t[0], 2, 2)};
              },
              {x});
  const Tensor grid = numbers({6, 20, 20, 2}) * 0.5;
  expect_same("resampling",
              [](const Tensors& t) {
                return Tensors{interpolate(t[0], {.scale_factor = 2, .mode = Interpolation::bilinear}),
                               interpolate(t[0], {.scale_factor = 2, .mode = Interpolation::bicubic}),
                               grid_sample(t[0], t[1]), unfold(t[0], 3), pixel_shuffle(t[0], 2)};
              },
              {x, grid});
  expect_same("fold", [](const Tensors& t) { return Tensors{fold(t[0], 28, 3)}; }, {numbers({6, 16 * 9, 26 * 26})});
}

TEST_F(ThreadCounts, Normalizations) {
  for (const Shape& shape : {Shape{64, 24, 14, 14}, Shape{700, 130}, Shape{3, 300, 40, 9}}) {
    const std::int64_t channels = shape[1];
    expect_same("batch_norm " + shape.str(),
                [channels](const Tensors& t) {
                  Tensor mean = zeros({channels}), var = ones({channels});
                  return Tensors{batch_norm(t[0], mean, var, t[1], t[2], {.training = true}), mean, var};
                },
                {numbers(shape), numbers({channels}), numbers({channels})});
  }
  for (const std::int64_t width : {24, 770}) {
    const Tensors with_affine{numbers({500, width}), numbers({width}), numbers({width})};
    expect_same(
        "layer_norm",
        [width](const Tensors& t) {
          return Tensors{layer_norm(t[0], {width}, t[1], t[2]), rms_norm(t[0], {width}, t[1])};
        },
        with_affine);
  }
  expect_same("group_norm",
              [](const Tensors& t) {
                return Tensors{group_norm(t[0], 6, t[1], t[2]), instance_norm(t[0], t[1], t[2]),
                               local_response_norm(t[0], 5), normalize(t[0])};
              },
              {numbers({20, 24, 14, 14}), numbers({24}), numbers({24})});
}

TEST_F(ThreadCounts, Indices) {
  const Tensor table = numbers({1000, 96}), long_rows = numbers({20, 9000});
  const Tensor words = places({64, 50}, 1000), few = places({3000}, 20);
  expect_same("embedding", [](const Tensors& t) { return Tensors{embedding(t[0], t[1])}; }, {words, table});
  expect_same("embedding, many of few rows", [](const Tensors& t) { return Tensors{embedding(t[0], t[1])}; },
              {few, numbers({20, 96})});
  expect_same("embedding_bag", [](const Tensors& t) { return Tensors{embedding_bag(t[0], t[1])}; }, {words, table});
  expect_same("rows",
              [](const Tensors& t) {
                return Tensors{index_select(t[0], 0, t[1]), index_add(t[0], 0, t[1], t[2]), t[0](t[1]).clone()};
              },
              {table, places({3000}, 1000), numbers({3000, 96})});
  expect_same("long rows", [](const Tensors& t) { return Tensors{index_add(t[0], 0, t[1], t[2])}; },
              {long_rows, places({50}, 20), numbers({50, 9000})});
  const Tensor at = places({1000, 96}, 1000);
  expect_same("scatter",
              [](const Tensors& t) {
                return Tensors{gather(t[0], 0, t[1]), scatter_add(t[0], 0, t[1], t[2]),
                               scatter_reduce(t[0], 0, t[1], t[2], Scatter::mean)};
              },
              {table, at, numbers({1000, 96})});
  expect_same("scatter to few", [](const Tensors& t) { return Tensors{scatter_add(t[0], 0, t[1], t[2])}; },
              {numbers({7}), places({200'000}, 7), numbers({200'000})});
  expect_same(
      "bincount",
      [](const Tensors& t) {
        return Tensors{bincount(t[0]), bincount(t[0], t[1])};
      },
      {places({200'000}, 50), numbers({200'000})}, false);
  expect_same("rearranged",
              [](const Tensors& t) {
                return Tensors{cat({t[0], t[0]}, 1),
                               flip(t[0], {0}),
                               roll(t[0], 5, 1),
                               repeat(t[0], {2, 2}),
                               pad(t[0], {3, 3}, PadMode::reflect),
                               tril(t[0])};
              },
              {table});
}

TEST_F(ThreadCounts, Losses) {
  const Tensor logits = numbers({700, 150}), other = numbers({700, 150}), labels = places({700}, 150);
  expect_same("cross_entropy",
              [](const Tensors& t) {
                return Tensors{nn::cross_entropy(t[0], t[2]), nn::cross_entropy(t[0], t[2], {.label_smoothing = 0.1}),
                               nn::cross_entropy(t[0], softmax(t[1], 1))};
              },
              {logits, other, labels});
  expect_same("losses",
              [](const Tensors& t) {
                return Tensors{nn::mse_loss(t[0], t[1]),
                               nn::l1_loss(t[0], t[1]),
                               nn::smooth_l1_loss(t[0], t[1]),
                               nn::binary_cross_entropy_with_logits(t[0], sigmoid(t[1])),
                               nn::kl_div(log_softmax(t[0], 1), softmax(t[1], 1)),
                               mean(cosine_similarity(t[0], t[1]))};
              },
              {logits, other});
  manual_seed(2);
  const Tensor targets = randint(1, 30, {32, 20}), lengths = full({32}, 60, {.dtype = DType::int64}),
               target_lengths = full({32}, 20, {.dtype = DType::int64});
  expect_same(
      "ctc_loss",
      [&](const Tensors& t) { return Tensors{nn::ctc_loss(log_softmax(t[0], 2), targets, lengths, target_lengths)}; },
      {numbers({60, 32, 30})});
}

TEST_F(ThreadCounts, RandomNumbers) {
  expect_same(
      "draws",
      [](const Tensors&) {
        return Tensors{randn({300'001}),
                       rand({300'001}),
                       randint(0, 1000, {300'001}),
                       randperm(100'003),
                       bernoulli(full({300'001}, 0.3)),
                       multinomial(rand({50'000}), 1000)};
      },
      {}, false);
  expect_same_of_one("dropout", [](const Tensor& t) { return dropout(t, {.p = 0.4}); }, {numbers({301, 1003})});
}

TEST_F(ThreadCounts, TransformsAndFactorizations) {
  expect_same("fft", [](const Tensors& t) { return Tensors{rfft(t[0]), rfft2(t[0])}; }, {numbers({40, 60, 128})});
  const Tensor a = numbers({30, 24, 24}, DType::float64),
               spd = matmul(a, a.mT()) + eye(24, 24, {.dtype = DType::float64});
  expect_same("linalg",
              [](const Tensors& t) {
                const linalg::SVD svd = linalg::svd(t[0]);
                return Tensors{linalg::cholesky(t[1]), linalg::solve(t[1], t[0]), linalg::inv(t[1]), linalg::det(t[0]),
                               linalg::svdvals(t[0]),  linalg::eigvalsh(t[1]),    linalg::qr(t[0]).q};
              },
              {a, spd});
}

}  // namespace
}  // namespace minnow::test
