#include <cmath>
#include <filesystem>
#include "workloads.h"

namespace bench {
namespace {

using torch::Tensor;
namespace nn = torch::nn;

/// Parameters by formula, uniform in ±1 / sqrt(inputs).
void fill_parameters(const nn::Sequential& model) {
  const torch::NoGradGuard no_grad;
  double scale = 1;
  std::uint32_t seed = 100;
  for (Tensor& p : model->parameters()) {
    if (p.dim() > 1) scale = 1 / std::sqrt(static_cast<double>(p[0].numel()));
    p.copy_(formula(seed++, p.sizes(), scale));
  }
}

nn::Sequential mlp() { return nn::Sequential(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)); }

nn::Sequential cnn() {
  return nn::Sequential(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Dropout(0.25), nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Dropout(0.5),
                        nn::Linear(128, 10));
}

using MakeOptimizer = std::shared_ptr<torch::optim::Optimizer> (*)(const std::vector<Tensor>&);

std::shared_ptr<torch::optim::Optimizer> sgd(const std::vector<Tensor>& params) {
  return std::make_shared<torch::optim::SGD>(params, torch::optim::SGDOptions(0.01).momentum(0.9));
}
std::shared_ptr<torch::optim::Optimizer> adam(const std::vector<Tensor>& params) {
  return std::make_shared<torch::optim::Adam>(params, torch::optim::AdamOptions(1e-3));
}

/// Losses of three steps without dropout are checked; steps with dropout are timed.
Ready training_step(nn::Sequential (*make)(), MakeOptimizer make_optimizer,
                    const std::vector<torch::MemoryFormat>& formats) {
  const Tensor labels = torch::arange(64) * 7 % 10;
  Ready ready;
  for (const torch::MemoryFormat format : formats) {
    const Tensor images = formula(1, {64, 1, 28, 28}).contiguous(format);
    nn::Sequential model = make();
    fill_parameters(model);
    for (Tensor& p : model->parameters())
      if (p.dim() == 4) p.set_data(p.contiguous(format));
    const auto optimizer = make_optimizer(model->parameters());
    auto step = [model, images, labels, optimizer]() mutable {
      const Tensor loss = torch::nn::functional::cross_entropy(model->forward(images), labels);
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
      return loss;
    };
    model->eval();
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(step().item<double>());
    if (ready.values.empty()) ready.values = losses;
    model->train();
    ready.variants.push_back({format == torch::MemoryFormat::Contiguous ? "NCHW" : "NHWC", step});
  }
  return ready;
}

/// Images and labels in memory.  (LibTorch's own TensorDataset has no labels.)
struct Labelled : torch::data::datasets::Dataset<Labelled> {
  Labelled(Tensor x, Tensor y) : images(std::move(x)), labels(std::move(y)) {}
  torch::data::Example<> get(std::size_t i) override {
    const auto k = static_cast<std::int64_t>(i);
    return {images[k], labels[k]};
  }
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(images.size(0)); }

  Tensor images, labels;
};

template <class Loader> double train(Loader& loader) {
  nn::Sequential model = mlp();
  fill_parameters(model);
  const auto optimizer = adam(model->parameters());
  Tensor total = torch::zeros({});
  int batches = 0;
  for (auto& batch : loader) {
    const Tensor loss = torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    total += loss.detach();
    ++batches;
  }
  return total.item<double>() / batches;
}

/// A whole epoch through its own data set and loader.  It reads plain IDX files only.
Ready epoch(const Settings& settings) {
  using torch::data::datasets::MNIST;
  std::string root = settings.data;
  for (const char* below : {"", "/mnist"})
    if (std::filesystem::exists(settings.data + below + "/train-images-idx3-ubyte")) root = settings.data + below;
  const auto source = MNIST(root);
  // Normalized once, as in the Python workload.
  const Labelled data((source.images() - 0.1307) / 0.3081, source.targets());
  const auto stacked = [data] { return Labelled(data).map(torch::data::transforms::Stack<>()); };
  auto in_order = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(stacked(), 64);
  const double mean = train(*in_order);
  Ready ready{{}, {mean, mean}};
  for (const std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
    const auto step = [stacked, workers] {
      auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
          stacked(), torch::data::DataLoaderOptions().batch_size(64).workers(workers));
      (void)train(*loader);
    };
    ready.variants.push_back({std::to_string(workers) + " workers", step});
  }
  return ready;
}

}  // namespace

std::vector<Workload> training_workloads() {
  const std::vector plain{torch::MemoryFormat::Contiguous};
  const std::vector both{torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast};
  return {{"mlp_step_sgd", [plain](const Settings&) { return training_step(mlp, sgd, plain); }},
          {"mlp_step_adam", [plain](const Settings&) { return training_step(mlp, adam, plain); }},
          {"cnn_step_adam", [both](const Settings&) { return training_step(cnn, adam, both); }},
          {"mlp_epoch", epoch}};
}

}  // namespace bench
