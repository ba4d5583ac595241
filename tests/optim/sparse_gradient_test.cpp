#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "thrown.h"

/// Gradients of rows of a table, and the optimizers that take them.
namespace minnow {
namespace {

using test::error_of;
using test::has;

class SparseGradient : public test::DeviceTest {
 protected:
  Tensor index(const Nested& values) const { return tensor(values, device()); }
  /// A layer with a dense gradient, and the same with a sparse one.
  template <class Layer, class Options> std::pair<Layer, Layer> layers(Options options) const {
    Layer dense(7, 3, options);
    options.sparse = true;
    Layer sparse(7, 3, options);
    dense.to(device()), sparse.to(device());
    sparse.load_state_dict(dense.state_dict());
    return {dense, sparse};
  }
  static Tensor whole(const nn::Parameter& weight) {
    const RowGradient found = row_grad(weight);
    return index_add(zeros_like(weight.detach()), 0, found.index, found.values);
  }
};

TEST_P(SparseGradient, HasTheRowsOfTheDenseOne) {
  auto [dense, sparse] = layers<nn::Embedding>(nn::EmbeddingOptions{.padding_idx = -1});
  const Tensor x = index({{5, 1, 6}, {1, 5, 5}}), g = randn({2, 3, 3}, device());
  const Tensor y = dense(x), z = sparse(x);
  EXPECT_TRUE(equal(y, z));
  y.backward(g), z.backward(g);
  EXPECT_EQ(row_grad(sparse.weight).index.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 5, 6}));
  EXPECT_TRUE(allclose(whole(sparse.weight), dense.weight.grad()));
  // Accumulates.
  dense(x).backward(g), sparse(x).backward(g);
  dense(index({0})).sum().backward(), sparse(index({0})).sum().backward();
  EXPECT_EQ(row_grad(sparse.weight).index.numel(), 4);
  EXPECT_TRUE(allclose(whole(sparse.weight), dense.weight.grad()));
  sparse.zero_grad();
  EXPECT_FALSE(row_grad(sparse.weight).defined());
  EXPECT_FALSE(sparse.weight.grad().defined());
}

TEST_P(SparseGradient, OfBagsOfEveryKind) {
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max})
    for (const std::optional<std::int64_t> padding : {std::optional<std::int64_t>(), std::optional<std::int64_t>(-2)})
      for (const bool offsets : {false, true}) {
        const auto [dense, sparse] =
            layers<nn::EmbeddingBag>(nn::EmbeddingBagOptions{.mode = mode, .padding_idx = padding});
        const Tensor x = index({{5, 1, 6}, {1, 5, 2}}), starts = index({0, 1, 5});
        const Tensor y = offsets ? dense(x.flatten(), starts) : dense(x);
        const Tensor z = offsets ? sparse(x.flatten(), starts) : sparse(x);
        EXPECT_TRUE(allclose(y, z));
        const Tensor g = randn(y.shape(), device());
        y.backward(g), z.backward(g);
        EXPECT_TRUE(allclose(whole(sparse.weight), dense.weight.grad(), 1e-5, 1e-6))
            << static_cast<int>(mode) << padding.has_value() << offsets;
      }
}

TEST_P(SparseGradient, StepsAreThoseOfADenseOneWhereRowsWithoutGradientStay) {
  const auto train = [&](auto make) {
    const auto [dense, sparse] = layers<nn::Embedding>(nn::EmbeddingOptions{});
    auto a = make(dense.parameters()), b = make(sparse.parameters());
    for (int step = 0; step < 4; ++step) {
      const Tensor x = index({step, 1, 6, 1});
      for (const nn::Embedding* layer : {&dense, &sparse}) square((*layer)(x)).sum().backward();
      a.step(), b.step();
      a.zero_grad(), b.zero_grad();
    }
    EXPECT_TRUE(equal(dense.weight, sparse.weight));
  };
  train([](const auto& params) { return optim::SGD(params, {.lr = 0.1}); });
  train([](const auto& params) { return optim::Adagrad(params, {.lr = 0.1, .lr_decay = 0.01}); });
}

TEST_P(SparseGradient, SparseAdamUpdatesTheRowsOfItsGradient) {
  nn::Embedding layer(4, 1, {.sparse = true});
  layer.to(device(), DType::float64);
  optim::SparseAdam adam(layer.parameters(), {.lr = 0.1});
  std::vector<double> p = layer.weight.to_vector<double>(), m(4), v(4);
  const std::vector<std::vector<std::int64_t>> batches{{0, 2, 0}, {2}, {3, 0}};
  for (std::size_t t = 1; t <= batches.size(); ++t) {
    std::vector<double> g(4);
    for (const std::int64_t row : batches[t - 1])
      g[static_cast<std::size_t>(row)] += 2 * p[static_cast<std::size_t>(row)];
    square(layer(tensor(batches[t - 1], device()))).sum().backward();
    adam.step(), adam.zero_grad();
    for (std::size_t i = 0; i < 4; ++i) {
      if (g[i] == 0) continue;
      m[i] += 0.1 * (g[i] - m[i]), v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double n = static_cast<double>(t);
      p[i] -= 0.1 * std::sqrt(1 - std::pow(0.999, n)) / (1 - std::pow(0.9, n)) * m[i] / (std::sqrt(v[i]) + 1e-8);
    }
    const std::vector<double> now = layer.weight.to_vector<double>();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(now[i], p[i], 1e-12) << "row " << i << ", step " << t;
  }
  const StateDict state = adam.state_dict();
  EXPECT_EQ(state.at("state.0.exp_avg")[1].item(), 0);
}

TEST_P(SparseGradient, ADenseUseOfTheTableIsAnErrorOrPartOfIt) {
  const auto [dense, sparse] = layers<nn::Embedding>(nn::EmbeddingOptions{});
  const Tensor x = index({1, 2});
  (sparse(x).sum() + square(sparse.weight).sum()).backward();
  EXPECT_TRUE(has(error_of<AutogradError>([&, s = sparse] { (void)s.weight.grad(); }), "grad: the gradient is sparse"));
  optim::SGD sgd(sparse.parameters(), {.lr = 0.1});
  EXPECT_TRUE(has(error_of<AutogradError>([&] { sgd.step(); }), "SGD::step: "));
}

TEST_P(SparseGradient, ClippingAndTheScalerKnowIt) {
  auto [dense, sparse] = layers<nn::Embedding>(nn::EmbeddingOptions{});
  const Tensor x = index({1, 2, 1});
  for (const nn::Embedding* layer : {&dense, &sparse}) (square((*layer)(x)).sum() * 10.0).backward();
  const Tensor a = optim::clip_grad_norm_(dense.parameters(), 1), b = optim::clip_grad_norm_(sparse.parameters(), 1);
  EXPECT_TRUE(allclose(a, b));
  EXPECT_TRUE(allclose(whole(sparse.weight), dense.weight.grad(), 1e-5, 1e-7));
  optim::clip_grad_value_(dense.parameters(), 0.1), optim::clip_grad_value_(sparse.parameters(), 0.1);
  EXPECT_TRUE(allclose(whole(sparse.weight), dense.weight.grad(), 1e-5, 1e-7));
  sparse.zero_grad();
  optim::SGD sgd(sparse.parameters(), {.lr = 0.1});
  optim::GradScaler scaler({.init_scale = 1024});
  const Tensor before = sparse.weight.detach().clone();
  scaler.scale(sparse(x).sum()).backward();
  scaler.step(sgd), scaler.update();
  EXPECT_NEAR((before - sparse.weight)[1][0].item(), 0.2, 1e-6);
  sgd.zero_grad();
  scaler.scale((sparse(x) * std::numeric_limits<double>::infinity()).sum()).backward();
  const Tensor kept = sparse.weight.detach().clone();
  scaler.step(sgd), scaler.update();
  EXPECT_TRUE(equal(kept, sparse.weight));
}

TEST_P(SparseGradient, OthersRefuseItByName) {
  const auto [dense, layer] = layers<nn::Embedding>(nn::EmbeddingOptions{});
  nn::Embedding sparse = layer;
  const Tensor x = index({1, 2});
  optim::Adam adam(sparse.parameters());
  sparse(x).sum().backward();
  const Tensor before = sparse.weight.detach().clone();
  const std::string step = error_of<ValueError>([&] { adam.step(); });
  EXPECT_TRUE(has(step, "Adam::step: a gradient is sparse, of 2 rows")) << step;
  optim::SGD momentum(sparse.parameters(), {.lr = 0.1, .momentum = 0.9});
  EXPECT_TRUE(has(error_of<ValueError>([&] { momentum.step(); }), "SGD::step: a gradient is sparse"));
  EXPECT_TRUE(has(error_of<AutogradError>([&] { sparse.to(DType::float64); }), "the gradient is sparse"));
  EXPECT_TRUE(equal(before, sparse.weight));
  sparse.zero_grad();
  EXPECT_TRUE(has(error_of<AutogradError>([&] { sparse(x).sum().backward({.create_graph = true}); }),
                  "its gradient is sparse"));
  const std::string range = error_of<IndexError>([&] { (void)sparse(index({7})).cpu(); });
  EXPECT_TRUE(has(range, "embedding: ")) << range;
  {
    const NoGradGuard guard;
    EXPECT_TRUE(equal(sparse(x), dense(x)));
  }
  EXPECT_TRUE(has(sparse.describe(), "sparse"));
}

INSTANTIATE_TEST_SUITE_P(Devices, SparseGradient, test::all_devices(), test::device_test_name);

}  // namespace
}  // namespace minnow
