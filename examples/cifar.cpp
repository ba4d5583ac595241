// ResNet-18 (examples/models/resnet.h) learns images of 32x32 pixels:  ./run cifar --data FOLDER
#include <cstdio>
#include <string>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>

#include "models/resnet.h"
#include "support/classifier.h"
#include "support/program.h"

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
  std::string data, folder, report;
  Program program("Trains ResNet-18 on images of 32x32 pixels.");
  program.option("--data", data, "the folder cifar-10-batches-bin; without it, images of shapes are made");
  program.option("--epochs", epochs, "passes over the images", 1);
  program.option("--width", width, "channels of the first stage; ResNet-18 has 64", 1);
  program.option("--images", images, "to train on, of those that are made", 1);
  program.option("--batch-size", batch_size, "images in a step", 1);
  program.option("--lr", lr, "highest learning rate");
  bool amp = false;
  program.flag("--amp", amp, "mixed precision: bfloat16 under an Autocast guard");
  program.option("--report", report, "HTML file with curves, the confusion matrix, the worst mistakes and layers");
  program.option("--run", folder, "folder of the run, in which it is saved and goes on where it was; empty: none");
  return program.run(argc, argv, [&](Device device) {
    const data::ImageDataset train = images_of(data, "train", images, 0), test = images_of(data, "test", 500, images);
    std::printf("data   %s, %lld images\n", data.empty() ? "synthetic shapes" : "CIFAR-10",
                static_cast<long long>(train.size()));
    models::ResNet net({2, 2, 2, 2}, {.num_classes = 10, .width = width, .small_images = true});
    net.to(device);
    data::DataLoader loader(train, {.batch_size = batch_size, .shuffle = true, .drop_last = true, .device = device});
    optim::SGD sgd(net.named_parameters(), [&](const std::string&, const Tensor& p) {
      return optim::SGDOptions{.lr = lr, .momentum = 0.9, .weight_decay = p.dim() < 2 ? 0 : 5e-4};
    });
    optim::OneCycleLR schedule(sgd, {.max_lr = lr, .epochs = epochs, .steps_per_epoch = train.size() / batch_size});
    training::Run run(folder, {.epochs = epochs, .watch = "test/accuracy", .best = training::Best::max});
    run.add("model", net).add("sgd", sgd).add("schedule", schedule).add("train", loader);
    for (auto epoch : run.epochs()) {
      for (auto& [x, labels] : progress(epoch.batches(loader))) {
        Tensor loss;
        {
          const Autocast guard(bfloat16, {.enabled = amp});
          loss = nn::cross_entropy(net(x), labels, {.label_smoothing = 0.1});
        }
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        schedule.step();
        epoch.log("train/loss", loss);
      }
      if (interrupted()) continue;
      const double right = *accuracy(net, test, device);
      epoch.log("test/accuracy", right);
      std::printf("epoch %lld: %.1f %% of the test images are right\n", static_cast<long long>(epoch.number() + 1),
                  100 * right);
    }
    if (interrupted()) throw EndOfProgram{128 + interrupted()};
    if (!report.empty()) report_classifier(report, run.history(), {.title = "cifar", .device = device}, net, test);
    return 100 * run.best_value();
  });
}
