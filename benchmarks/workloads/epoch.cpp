#include <memory>
#include <minnow/data/loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/runtime/captured_step.h>
#include "workloads/models.h"

// An epoch of the CNN on images of MNIST's size and number, 937 batches of 64.

namespace bench {
namespace {

using namespace minnow;

/// A model under training and its data.
struct Training {
  Tensor images, labels;  ///< on the device
  std::int64_t batch;
  std::shared_ptr<nn::Sequential> model;
  std::shared_ptr<optim::Adam> adam;

  explicit Training(const Settings& s) : batch(s.quick ? 4 : 64) {
    const std::int64_t count = s.quick ? 20 : 60000;
    images = formula(s, 1, {count, 1, 28, 28});
    labels = digit_labels(s, count);
    model = std::make_shared<nn::Sequential>(cnn());
    place(s, *model);
    adam = std::make_shared<optim::Adam>(model->parameters(), optim::AdamOptions{.lr = 1e-3});
  }

  Tensor step(const Tensor& x, const Tensor& y) const {
    const Tensor loss = nn::cross_entropy((*model)(x), y);
    adam->zero_grad();
    loss.backward();
    adam->step();
    return loss.detach();
  }

  /// Batches in a random order, picked on the device.
  template <class Step> void epoch(Step&& run) const {
    const std::int64_t count = images.size(0);
    const Tensor order = randperm(count).to(images.device());
    Tensor total = zeros({}, {.device = images.device()});
    for (std::int64_t at = 0; at + batch <= count; at += batch) {
      const Tensor chosen = order.narrow(0, at, batch);
      total += run(index_select(images, 0, chosen), index_select(labels, 0, chosen));
    }
    (void)total.item();
  }
};

/// Three steps without dropout, which every implementation must agree on.
std::vector<double> checked_losses(const Settings& s) {
  const Training training(s);
  training.model->eval();
  const Tensor x = training.images.narrow(0, 0, training.batch), y = training.labels.narrow(0, 0, training.batch);
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(training.step(x, y).item());
  return losses;
}

/// From the device's memory, and through a loader that copies each batch.
Ready eager(const Settings& s) {
  const auto training = std::make_shared<Training>(s);
  Ready ready{
      {{"on device",
        [training] { training->epoch([&](const Tensor& x, const Tensor& y) { return training->step(x, y); }); }}},
      checked_losses(s)};
  const Device cpu("cpu");
  const auto loader = std::make_shared<data::DataLoader<data::TensorDataset<2>>>(
      data::TensorDataset<2>(training->images.to(cpu), training->labels.to(cpu)),
      data::DataLoaderOptions{.batch_size = training->batch,
                              .shuffle = true,
                              .num_workers = 2,
                              .drop_last = true,
                              .device = Device(s.device)});
  ready.variants.push_back({"loader", [training, loader] {
                              Tensor total = zeros({}, {.device = training->images.device()});
                              for (const auto& [x, y] : *loader) total += training->step(x, y);
                              (void)total.item();
                            }});
  return ready;
}

Ready captured(const Settings& s) {
  const auto training = std::make_shared<Training>(s);
  const auto step =
      std::make_shared<CapturedStep>([training](const Tensor& x, const Tensor& y) { return training->step(x, y); },
                                     CapturedStepOptions{.device = Device(s.device)});
  return {
      {{"", [training, step] { training->epoch([&](const Tensor& x, const Tensor& y) { return (*step)(x, y); }); }}},
      checked_losses(s)};
}

}  // namespace

std::vector<Workload> epoch_workloads() {
  return {{"cnn_epoch", eager, For::kGpu}, {"cnn_epoch_captured", captured, For::kGpu}};
}

}  // namespace bench
