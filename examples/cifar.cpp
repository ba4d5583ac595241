// ResNet-18 (examples/models/resnet.h) learns images of 32x32 pixels:  ./run cifar --data FOLDER
#include <cstdio>
#include <minnow/minnow.h>

#include "models/resnet.h"
#include "support/program.h"

using namespace minnow;

namespace {

/// Stands in for CIFAR-10: stripes in ten directions, with colours, positions and noise that mean nothing.
data::TensorDataset<2> stripes(std::int64_t count) {
  const Tensor label = randint(0, 10, {count}), angle = (label * 0.314159265).view({count, 1, 1, 1});
  const Tensor column = arange(32, float32), row = column.view({32, 1});
  const Tensor wave = sin((cos(angle) * column + sin(angle) * row) * 0.8 + 6.28 * rand({count, 1, 1, 1}));
  return {wave * randn({count, 3, 1, 1}) + 0.5 * randn({count, 3, 32, 32}), label};
}

double accuracy(nn::Module& net, const data::TensorDataset<2>& test, Device device) {
  const NoGradGuard no_grad;
  net.eval();
  double right = 0;
  data::DataLoader loader(test, {.batch_size = 250, .device = device});
  for (auto& [images, labels] : loader) right += sum(argmax(net(images), 1) == labels).item();
  net.train();
  return 100 * right / static_cast<double>(test.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 3, width = 64, images = 10000, batch_size = 64;
  double lr = 0.05;
  Program program("Trains ResNet-18 on images of 32x32 pixels.");
  program.option("--epochs", epochs, "passes over the images");
  program.option("--width", width, "channels of the first stage; ResNet-18 has 64");
  program.option("--images", images, "to train on");
  program.option("--batch-size", batch_size, "images in a step");
  program.option("--lr", lr, "highest learning rate");
  return program.run(argc, argv, [&](Device device) {
    const data::TensorDataset<2> train = stripes(images), test = stripes(500);
    std::printf("data   synthetic stripes, %lld images\n", static_cast<long long>(images));
    models::ResNet net({2, 2, 2, 2}, {.num_classes = 10, .width = width, .small_images = true});
    net.to(device);
    data::DataLoader loader(train, {.batch_size = batch_size, .shuffle = true, .drop_last = true, .device = device});
    optim::SGD sgd(net.named_parameters(), [&](const std::string&, const Tensor& p) {
      return optim::SGDOptions{.lr = lr, .momentum = 0.9, .weight_decay = p.dim() < 2 ? 0 : 5e-4};
    });
    optim::OneCycleLR schedule(sgd, {.max_lr = lr, .epochs = epochs, .steps_per_epoch = images / batch_size});
    double right = 0;
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      for (auto& [x, labels] : progress(loader)) {
        const Tensor loss = nn::cross_entropy(net(x), labels, {.label_smoothing = 0.1});
        sgd.zero_grad();
        loss.backward();
        sgd.step();
        schedule.step();
      }
      right = accuracy(net, test, device);
      std::printf("epoch %lld: %.1f %% of the test images are right\n", static_cast<long long>(epoch), right);
    }
    return right;
  });
}
