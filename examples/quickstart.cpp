// A training program: an MLP learns synthetic digits.  Needs no files.
#include <cstdio>
#include <minnow/minnow.h>

using namespace minnow;

struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(784, 128));
  nn::Linear out = child("out", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override { return out(relu(hidden(x.flatten(1)))); }
};

int main(int argc, char** argv) {
  if (argc > 1) return std::fprintf(stderr, "quickstart takes no arguments, got %s\n", argv[1]), 1;
  const Device device = best_device();
  Net net;
  net.to(device);
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  data::DataLoader train(data::SyntheticDigits(10000), {.batch_size = 64, .shuffle = true, .device = device});
  data::DataLoader test(data::SyntheticDigits(2000, {.first = 1000000}), {.batch_size = 500, .device = device});

  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (auto& [images, labels] : train) {
      const Tensor loss = nn::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
    const NoGradGuard no_grad;
    double correct = 0;
    for (auto& [images, labels] : test) correct += sum(argmax(net(images), 1) == labels).item();
    std::printf("epoch %d: %.1f %% of the test digits are right\n", epoch, correct / 20);
  }
}
