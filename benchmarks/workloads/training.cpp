#include <memory>
#include <minnow/autograd/autocast.h>
#include <minnow/data/loader.h>
#include <minnow/data/mnist.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/runtime/captured_step.h>
#include "workloads/models.h"

namespace bench {
namespace {

using namespace minnow;

using MakeOptimizer = std::shared_ptr<optim::Optimizer> (*)(const std::vector<Tensor>&);

std::shared_ptr<optim::Optimizer> sgd(const std::vector<Tensor>& params) {
  return std::make_shared<optim::SGD>(params, optim::SGDOptions{.lr = 0.01, .momentum = 0.9});
}
std::shared_ptr<optim::Optimizer> adam(const std::vector<Tensor>& params) {
  return std::make_shared<optim::Adam>(params, optim::AdamOptions{.lr = 1e-3});
}

enum class Run : std::uint8_t { directly, captured, in_bfloat16 };

/// Losses of three steps without dropout are checked; steps with dropout are timed.
Ready training_step(const Settings& s, nn::Sequential (*make)(), MakeOptimizer make_optimizer,
                    Run run = Run::directly) {
  nn::Sequential model = make();
  place(s, model);
  const auto optimizer = make_optimizer(model.parameters());
  const std::int64_t batch = s.quick ? 4 : 64;
  const Tensor images = formula(s, 1, {batch, 1, 28, 28}), labels = digit_labels(s, batch);
  auto train = [model, optimizer, run](const Tensor& x, const Tensor& y) mutable {
    Tensor loss;
    {
      const Autocast guard(bfloat16, {.enabled = run == Run::in_bfloat16});
      loss = nn::cross_entropy(model(x), y);
    }
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    return loss;
  };
  std::function<Tensor()> step = [train, images, labels]() mutable { return train(images, labels); };
  if (run == Run::captured) {
    const auto captured = std::make_shared<CapturedStep>(train, CapturedStepOptions{.device = Device(s.device)});
    step = [=] { return (*captured)(images, labels); };
  }
  Ready ready{{{"", step}}, {}};
  model.eval();
  for (int i = 0; i < 3; ++i) ready.values.push_back(step().item());
  model.train();
  return ready;
}

template <class Loader> double train(const Settings& s, Loader& loader) {
  nn::Sequential model = mlp();
  place(s, model);
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
  const double mean = train(settings, in_order);
  Ready ready{{}, {mean, mean}};
  for (const int workers : {0, 2}) {
    const auto loader = std::make_shared<data::DataLoader<data::ImageDataset>>(
        dataset, data::DataLoaderOptions{.batch_size = 64, .shuffle = true, .num_workers = workers});
    ready.variants.push_back(
        {std::to_string(workers) + " workers", [settings, loader] { (void)train(settings, *loader); }});
  }
  return ready;
}

/// The batches of an epoch, without steps.
Ready loader_alone(const Settings& settings) {
  const auto dataset = data::mnist("train", {.root = settings.data});
  const auto count = std::make_shared<std::int64_t>(0);
  Ready ready;
  for (const int workers : {0, 2}) {
    const auto loader = std::make_shared<data::DataLoader<data::ImageDataset>>(
        dataset, data::DataLoaderOptions{.batch_size = 64, .shuffle = true, .num_workers = workers});
    ready.variants.push_back({std::to_string(workers) + " workers", [loader, count] {
                                *count = 0;
                                for (const auto& [images, labels] : *loader) *count += images.size(0);
                              }});
  }
  ready.variants[0].step();
  ready.values = {static_cast<double>(*count), static_cast<double>(*count)};
  return ready;
}

}  // namespace

std::vector<Workload> training_workloads() {
  return {{"mlp_step_sgd", [](const Settings& s) { return training_step(s, mlp, sgd); }, For::kCpu},
          {"mlp_step_adam", [](const Settings& s) { return training_step(s, mlp, adam); }},
          {"mlp_step_adam_captured", [](const Settings& s) { return training_step(s, mlp, adam, Run::captured); },
           For::kCpu},
          {"cnn_step_adam", [](const Settings& s) { return training_step(s, cnn, adam); }},
          {"cnn_step_adam_captured", [](const Settings& s) { return training_step(s, cnn, adam, Run::captured); },
           For::kCpu},
          {"cnn_step_bf16", [](const Settings& s) { return training_step(s, cnn, adam, Run::in_bfloat16); }},
          {"mlp_epoch", epoch, For::kCpu},
          {"mnist_loader", loader_alone, For::kCpu},
          {"cnn_to_99", time_to_accuracy, For::kAsked}};
}

}  // namespace bench
