#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <minnow/minnow.h>

/// The fraction of the images that are classified correctly; none if `stops` says so after a batch.
inline std::optional<double> accuracy(minnow::nn::Module& model, const minnow::data::ImageDataset& test,
                                      minnow::Device device, const std::function<bool()>& stops = {}) {
  using namespace minnow;
  const NoGradGuard no_grad;
  model.eval();
  metrics::Accuracy right;
  data::DataLoader loader(test, {.batch_size = 500, .device = device});
  for (auto& [images, labels] : loader) {
    right.update(model(images), labels);
    if (stops && stops()) return std::nullopt;
  }
  model.train();
  return right.value();
}

/// Writes a report with the options that are given, and what the model makes of the test images.
inline void report_classifier(const std::string& path, const minnow::training::History& history,
                              minnow::training::ReportOptions options, minnow::nn::Module& model,
                              const minnow::data::ImageDataset& test) {
  using namespace minnow;
  const NoGradGuard no_grad;
  model.eval();
  metrics::ConfusionMatrix confusion(test.classes());
  std::vector<Tensor> found, losses;
  data::DataLoader loader(test, {.batch_size = 500, .device = options.device});
  for (auto& [images, labels] : loader) {
    const Tensor scores = model(images);
    confusion.update(scores, labels);
    found.push_back(argmax(scores, 1));
    losses.push_back(nn::cross_entropy(scores, labels, {.reduction = nn::Reduction::none}));
  }
  options.confusion = confusion;
  options.images = {test.images(), test.labels(), cat(found), cat(losses)};
  options.layers = nn::summary(model, {1, test.images().size(1), test.images().size(2), test.images().size(3)});
  training::report(path, history, options);
}
