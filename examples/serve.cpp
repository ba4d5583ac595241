// Several threads share one model: each answers requests, none waits for another.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(784, 128));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
  nn::Linear out = child("out", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override { return out(dropout(relu(hidden(x.flatten(1))))); }
};

void train(Net& net, std::int64_t epochs, Device device) {
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  data::DataLoader loader(data::SyntheticDigits(10000), {.batch_size = 64, .shuffle = true, .device = device});
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
    for (auto& [images, labels] : loader) {
      const Tensor loss = nn::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
}

/// A client's requests, one image each, from `first` on.  Returns how many answers were right.
std::int64_t answer(const Net& net, std::int64_t first, std::int64_t requests, Device device) {
  const NoGradGuard no_grad;  // of this thread: grad mode is no property of the model
  const data::SyntheticDigits digits(requests, {.first = first});
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    const auto [image, label] = digits.get(i);
    right += argmax(net(image.to(device).unsqueeze(0)), 1).item<std::int64_t>() == label.item<std::int64_t>();
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t threads = 4, requests = 500, epochs = 2;
  Program program("Trains a network, and answers requests with it in several threads.");
  program.option("--threads", threads, "that answer requests", 1, 256);
  program.option("--requests", requests, "of each thread", 1);
  program.option("--epochs", epochs, "of training before");
  return program.run(argc, argv, [&](Device device) {
    Net net;
    net.to(device);
    train(net, epochs, device);
    net.eval();  // before the threads start: none may change the model while others use it

    set_num_threads(1);  // of an operation: the requests are what runs in parallel
    std::atomic<std::int64_t> right = 0;
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> workers;
      for (std::int64_t t = 0; t < threads; ++t)
        workers.emplace_back([&, t] { right += answer(net, 1'000'000 + t * requests, requests, device); });
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const auto total = static_cast<double>(threads * requests), share = 100 * static_cast<double>(right) / total;
    std::printf("%lld threads: %.0f requests/s, %.1f %% of the answers are right\n", static_cast<long long>(threads),
                total / elapsed.count(), share);
    return share;
  });
}
