// A network learns digits in float32 and reads them with int8 weights:  ./run quantize --data FOLDER
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(784, 256)), fc2 = child("fc2", nn::Linear(256, 128)),
             out = child("out", nn::Linear(128, 10));

  Tensor forward(const Tensor& images) override { return out(relu(fc2(relu(fc1(images.flatten(1)))))); }
};

data::ImageDataset digits(const std::string& folder, const char* split, std::int64_t count, std::int64_t first) {
  if (!folder.empty()) return data::mnist(split, {.root = folder});
  return data::SyntheticDigits(count, {.first = first});
}

struct Score {
  double right, microseconds;  ///< in percent; for a batch of 32
};

Score score(const nn::Module& net, const data::ImageDataset& test, Device device) {
  const NoGradGuard no_grad;
  double right = 0;
  data::DataLoader loader(test, {.batch_size = 250, .device = device});
  for (auto& [images, labels] : loader) right += sum(argmax(net(images), 1) == labels).item();
  const Tensor batch = zeros({32, 1, 28, 28}, device);
  constexpr int kTimes = 2000;
  (void)net(batch);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) (void)net(batch);
  synchronize(device);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return {100 * right / static_cast<double>(test.size()), time.count() / kTimes};
}

void report(const char* name, const nn::Module& net, const Score& s) {
  const std::string path = std::string("quantize_") + name + ".safetensors";
  save(net.state_dict(), path);
  std::printf("%-8s %.2f %% right, %4.0f KB, %.0f us for 32 images\n", name, s.right,
              static_cast<double>(std::filesystem::file_size(path)) / 1e3, s.microseconds);
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::int64_t epochs = 4, images = 8000;
  Program program("Trains a network on digits, and quantizes it to int8.");
  program.option("--data", folder, "the folder of MNIST's files; without it, digits are drawn");
  program.option("--epochs", epochs, "passes over the digits");
  program.option("--images", images, "to train on, of those that are drawn", 1);
  return program.run(argc, argv, [&](Device device) {
    const data::ImageDataset train = digits(folder, "train", images, 0), test = digits(folder, "test", 2000, 1'000'000);
    Net net;
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = 1e-3});
    data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .device = device});
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
      for (auto& [x, labels] : loader) {
        const Tensor loss = nn::cross_entropy(net(x), labels);
        adam.zero_grad();
        loss.backward();
        adam.step();
      }
    net.eval();
    if (device.is_cuda()) net.to(device = "cpu");  // int8 layers run there
    report("float32", net, score(net, test, device));
    const Net small = nn::quantize_dynamic(net);
    const Score of_int8 = score(small, test, device);
    report("int8", small, of_int8);
    return of_int8.right;
  });
}
