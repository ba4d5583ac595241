// The eighth tutorial: docs/tutorials/deploy.md.
#include <atomic>
#include <filesystem>
#include <thread>
#include <minnow/minnow.h>
#include <minnow/onnx/onnx.h>

#include "section.h"

using namespace minnow;

// [net]
struct Net : nn::Module {
  nn::Sequential body =
      child("body", nn::Sequential(nn::Conv2d(1, 16, 3, {.stride = 2}), nn::ReLU(),
                                   nn::Conv2d(16, 32, 3, {.stride = 2}), nn::ReLU(), nn::Flatten(),
                                   nn::Linear(32 * 6 * 6, 64), nn::ReLU()));
  nn::Linear head = child("head", nn::Linear(64, 10));

  Tensor forward(const Tensor& images) override { return head(body(images)); }
};
// [end]

template <class Loader>
void train(Net& net, optim::Optimizer& optimizer, Loader& loader, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (auto& [images, labels] : loader) {
      const Tensor loss = nn::cross_entropy(net(images), labels);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
}

template <class Loader> double percent(const nn::Module& net, Loader& loader) {
  const NoGradGuard no_grad;
  metrics::Accuracy accuracy;
  for (auto& [images, labels] : loader) accuracy.update(net(images), labels);
  return 100 * accuracy.value();
}

/// Whether a digit is even, of few pictures.
data::TensorDataset<2> parity(std::int64_t count, std::int64_t first) {
  const data::ImageDataset digits = data::SyntheticDigits(count, {.first = first});
  return data::TensorDataset((digits.images() - 0.1307) / 0.3081,
                             (digits.labels() % 2 == 0).to(int64));
}

int main() {
  manual_seed(1);
  {  // a network that somebody has trained, on many pictures
    Net net;
    optim::Adam adam(net.parameters(), {.lr = 1e-3});
    data::DataLoader loader(data::SyntheticDigits(8000), {.batch_size = 64, .shuffle = true});
    train(net, adam, loader, 2);
    save(net.state_dict(), "digits.safetensors");
  }
  data::DataLoader few(parity(100, 500'000), {.batch_size = 20, .shuffle = true});
  data::DataLoader test(parity(2000, 1'000'000), {.batch_size = 500});

  section("scratch");
  // [scratch]
  Net fresh;
  nn::replace(fresh.head, nn::Linear(64, 2));
  optim::Adam from_scratch(fresh.parameters(), {.lr = 1e-3});
  train(fresh, from_scratch, few, 20);
  std::printf("from scratch: %.1f %%\n", percent(fresh, test));
  // [end]

  section("head");
  // [head]
  Net net;
  net.load_state_dict(load("digits.safetensors"));
  nn::replace(net.head, nn::Linear(64, 2));          // 2 classes in place of 10
  net.body.requires_grad_(false);                    // freeze what reads pictures
  optim::Adam adam(net.parameters(), {.lr = 3e-3});  // made after the head was replaced
  train(net, adam, few, 20);
  std::printf("a new head: %.1f %%\n", percent(net, test));
  // [end]

  section("all");
  // [all]
  net.body.requires_grad_(true);
  optim::Adam gentle(net.body.parameters(), {.lr = 1e-4});  // what was learned changes slowly ...
  gentle.add_param_group(net.head.parameters(), {.lr = 1e-3});
  train(net, gentle, few, 10);
  std::printf("all of it: %.1f %%\n", percent(net, test));
  save(net.state_dict(), "parity.safetensors");
  // [end]

  section("serve");
  // [serve]
  Net server;
  nn::replace(server.head, nn::Linear(64, 2));
  server.load_state_dict(load("parity.safetensors"));
  server.eval();       // once, before threads share it
  set_num_threads(1);  // of an operation: requests are what runs in parallel

  std::atomic<int> answers = 0;
  const auto serve = [&] {
    const NoGradGuard no_grad;  // of this thread
    for (int i = 0; i < 100; ++i) {
      const Tensor image = zeros({1, 1, 28, 28});  // a request
      answers += server(image).argmax(1).item<int>() < 2;
    }
  };
  { std::jthread one(serve), two(serve); }
  std::cout << answers << " answers\n";
  // [end]

  section("int8");
  // [int8]
  const Net small =
      nn::quantize_dynamic(server);  // a copy with weights of 8 bits in its Linear layers
  save(small.state_dict(), "int8.safetensors");
  std::printf("float32: %.1f %%, %.0f KB; int8: %.1f %%, %.0f KB\n", percent(server, test),
              static_cast<double>(std::filesystem::file_size("parity.safetensors")) / 1e3,
              percent(small, test),
              static_cast<double>(std::filesystem::file_size("int8.safetensors")) / 1e3);
  // [end]

  section("onnx");
  // [onnx]
  onnx::save(server, {zeros({4, 1, 28, 28})}, "parity.onnx",
             {.dynamic = {{{0, 0, "batch"}}}});  // any number of pictures
  onnx::Model model = onnx::load("parity.onnx");
  std::cout << model(zeros({7, 1, 28, 28})).shape() << '\n';
  // [end]
}
