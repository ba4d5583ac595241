#include <array>
#include <cmath>
#include <memory>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/data/loader.h>
#include <minnow/data/mnist.h>
#include <minnow/nn/activation.h>
#include <minnow/nn/basic.h>
#include <minnow/nn/containers.h>
#include <minnow/nn/conv.h>
#include <minnow/nn/linear.h>
#include <minnow/nn/loss.h>
#include <minnow/nn/pool.h>
#include <minnow/optim/adam.h>
#include <minnow/optim/sgd.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// Parameters by formula, uniform in ±1 / sqrt(inputs).
void fill_parameters(const nn::Module& model) {
  const NoGradGuard no_grad;
  double scale = 1;
  std::uint32_t seed = 100;
  for (const Tensor& p : model.parameters()) {
    if (p.dim() > 1) scale = 1 / std::sqrt(static_cast<double>(p.numel() / p.size(0)));
    copy_(p, formula(seed++, p.shape(), scale));
  }
}

nn::Sequential mlp() { return nn::Sequential(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)); }

nn::Sequential cnn() {
  return nn::Sequential(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Dropout(0.25), nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Dropout(0.5),
                        nn::Linear(128, 10));
}

using MakeOptimizer = std::shared_ptr<optim::Optimizer> (*)(const std::vector<Tensor>&);

std::shared_ptr<optim::Optimizer> sgd(const std::vector<Tensor>& params) {
  return std::make_shared<optim::SGD>(params, optim::SGDOptions{.lr = 0.01, .momentum = 0.9});
}
std::shared_ptr<optim::Optimizer> adam(const std::vector<Tensor>& params) {
  return std::make_shared<optim::Adam>(params, optim::AdamOptions{.lr = 1e-3});
}

/// Losses of three steps without dropout are checked; steps with dropout are timed.
Ready training_step(nn::Sequential (*make)(), MakeOptimizer make_optimizer) {
  nn::Sequential model = make();
  fill_parameters(model);
  const auto optimizer = make_optimizer(model.parameters());
  const Tensor images = formula(1, {64, 1, 28, 28}), labels = empty({64}, {DType::int64});
  for (std::int64_t i = 0; i < 64; ++i) labels.data<std::int64_t>()[i] = i * 7 % 10;
  const auto step = [model, images, labels, optimizer]() mutable {
    const Tensor loss = nn::cross_entropy(model(images), labels);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    return loss;
  };
  Ready ready{{{"", step}}, {}};
  model.eval();
  auto checked = step;
  for (int i = 0; i < 3; ++i) ready.values.push_back(checked().item());
  model.train();
  return ready;
}

template <class Loader> double train(Loader& loader) {
  nn::Sequential model = mlp();
  fill_parameters(model);
  const auto optimizer = adam(model.parameters());
  Tensor total = zeros({});
  for (const auto& [images, labels] : loader) {
    const Tensor loss = nn::cross_entropy(model(images), labels);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    total += loss.detach();
  }
  return total.item() / static_cast<double>(loader.size());
}

/// A whole epoch through the loader.
Ready epoch(const Settings& settings) {
  const auto dataset = data::mnist("train", {.root = settings.data});
  data::DataLoader in_order(dataset, {.batch_size = 64});
  const double mean = train(in_order);
  Ready ready{{}, {mean, mean}};
  for (const int workers : {0, 2}) {
    const auto loader = std::make_shared<data::DataLoader<data::ImageDataset>>(
        dataset, data::LoaderOptions{.batch_size = 64, .shuffle = true, .workers = workers});
    ready.variants.push_back({std::to_string(workers) + " workers", [loader] { (void)train(*loader); }});
  }
  return ready;
}

}  // namespace

std::vector<Workload> training_workloads() {
  return {{"mlp_step_sgd", [](const Settings&) { return training_step(mlp, sgd); }},
          {"mlp_step_adam", [](const Settings&) { return training_step(mlp, adam); }},
          {"cnn_step_adam", [](const Settings&) { return training_step(cnn, adam); }},
          {"mlp_epoch", epoch}};
}

}  // namespace bench
