// ResNet-18 (examples/models/resnet.h) learns images of 32x32 pixels:  ./run cifar --data FOLDER
#include <cstdio>
#include <string>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>

#include "models/resnet.h"
#include "support/classifier.h"
#include "support/program.h"
#include "support/saved_run.h"

using namespace minnow;

namespace {

/// CIFAR-10 from `folder`, or as many images of shapes that need no file.
data::ImageDataset images_of(const std::string& folder, const char* split, std::int64_t count, std::int64_t first) {
  if (!folder.empty()) return vision::cifar10(split, {.root = folder});
  return vision::SyntheticShapes(count, {.first = first});
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 3, width = 64, images = 10000, batch_size = 64;
  double lr = 0.05;
  std::string folder, report;
  Program program("Trains ResNet-18 on images of 32x32 pixels.");
  program.option("--data", folder, "the folder cifar-10-batches-bin; without it, images of shapes are made");
  program.option("--epochs", epochs, "passes over the images");
  program.option("--width", width, "channels of the first stage; ResNet-18 has 64", 1);
  program.option("--images", images, "to train on, of those that are made", 1);
  program.option("--batch-size", batch_size, "images in a step", 1);
  program.option("--lr", lr, "highest learning rate");
  bool amp = false;
  program.flag("--amp", amp, "mixed precision: bfloat16 under an Autocast guard");
  program.option("--report", report, "HTML file with curves, the confusion matrix, the worst mistakes and layers");
  SavedRun saved(program);
  return program.run(argc, argv, [&](Device device) {
    const data::ImageDataset train = images_of(folder, "train", images, 0),
                             test = images_of(folder, "test", 500, images);
    std::printf("data   %s, %lld images\n", folder.empty() ? "synthetic shapes" : "CIFAR-10",
                static_cast<long long>(train.size()));
    models::ResNet net({2, 2, 2, 2}, {.num_classes = 10, .width = width, .small_images = true});
    net.to(device);
    data::DataLoader loader(train, {.batch_size = batch_size, .shuffle = true, .drop_last = true, .device = device});
    optim::SGD sgd(net.named_parameters(), [&](const std::string&, const Tensor& p) {
      return optim::SGDOptions{.lr = lr, .momentum = 0.9, .weight_decay = p.dim() < 2 ? 0 : 5e-4};
    });
    optim::OneCycleLR schedule(sgd, {.max_lr = lr, .epochs = epochs, .steps_per_epoch = train.size() / batch_size});
    training::History history;
    double right = 0;
    std::int64_t step = 0;
    saved.add("model", net).add("sgd", sgd).add("schedule", schedule).add("train", loader).add("right", right).begin();
    while (loader.position().epoch < epochs) {
      for (auto& [x, labels] : progress(loader)) {
        Tensor loss;
        {
          const Autocast guard(bfloat16, {.enabled = amp});
          loss = nn::cross_entropy(net(x), labels, {.label_smoothing = 0.1});
        }
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        schedule.step();
        if (!report.empty()) history.log("train/loss", loss.item(), {++step, loader.epoch()});
        saved.step();
      }
      right = 100 * *accuracy(net, test, device);
      history.log("test/accuracy", right / 100, {step, loader.epoch()});
      std::printf("epoch %lld: %.1f %% of the test images are right\n", static_cast<long long>(loader.epoch() + 1),
                  right);
      saved.save(true);
    }
    if (!report.empty()) report_classifier(report, history, {.title = "cifar", .device = device}, net, test);
    return right;
  });
}
