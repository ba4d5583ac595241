// minnow's side of the records (records.py, docs/records.md): each prints "seconds S" for each step or epoch.
//   records gpt2 STEPS | ggml-dense EPOCHS | ggml-convolutional EPOCHS | tinytorch BATCHES | mnist 99.0|99.5 SEED [--valid]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <minnow/minnow.h>

#include "models/gpt2.h"
#include "models/mnist.h"

namespace {

using namespace minnow;

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void print_seconds(const Clock& clock) {
  std::printf("seconds %.6f\n", clock.seconds());
  std::fflush(stdout);
}

/// MNIST as float32, in one tensor.
struct Digits {
  Tensor images, labels;  ///< uint8 [N, 1, 28, 28], int64 [N]

  explicit Digits(const char* part) {
    const data::ImageDataset set = data::mnist(part);
    images = set.images(), labels = set.labels();
  }
  Digits narrow(std::int64_t start, std::int64_t count) const {
    Digits part = *this;
    part.images = images.narrow(0, start, count), part.labels = labels.narrow(0, start, count);
    return part;
  }
  std::int64_t size() const { return labels.size(0); }
  Tensor normalized() const { return (images.to(float32) / 255 - 0.1307) / 0.3081; }
};

/// llm.c's train_gpt2: four sequences of 64 tokens, AdamW.
void gpt2(int steps) {
  constexpr std::int64_t kBatch = 4, kLength = 64;
  models::GPT2Options options{.dropout = 0};
  models::GPT2LMHeadModel net(options);
  optim::AdamW adamw(net.parameters(), {.lr = 1e-4, .weight_decay = 0});
  for (int i = 0; i < steps; ++i) {
    const Tensor tokens = randint(0, options.vocab_size, {kBatch, kLength + 1});
    const Tensor x = tokens(all, slice(0, -1)).contiguous(), next = tokens(all, slice(1)).flatten();
    const Clock clock;
    const Tensor loss = nn::cross_entropy(net(x).view({-1, options.vocab_size}), next);
    adamw.zero_grad();
    loss.backward();
    adamw.step();
    std::printf("loss %.4f\n", loss.item());
    print_seconds(clock);
  }
}

/// The networks of ggml's examples/mnist: logical batches of 1000 in parts of 500, AdamW, a twentieth of the images to
/// validate after each epoch.
void ggml(bool dense, int epochs) {
  constexpr std::int64_t kPart = 500;
  nn::Sequential net = dense ? nn::Sequential(nn::Flatten(), nn::Linear(784, 500), nn::ReLU(), nn::Linear(500, 10))
                             : nn::Sequential(nn::Conv2d(1, 8, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                              nn::Conv2d(8, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                              nn::Flatten(), nn::Linear(784, 10));
  const Digits all_digits("train"), train = all_digits.narrow(0, 57000), valid = all_digits.narrow(57000, 3000);
  const Tensor images = train.normalized(), held = valid.normalized();
  optim::AdamW adamw(net.parameters(), {.lr = 1e-3, .weight_decay = 0});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Clock clock;
    const Tensor order = randperm(train.size());
    for (std::int64_t at = 0; at < train.size(); at += kPart) {
      const Tensor chosen = order.narrow(0, at, kPart);
      const Tensor loss =
          nn::cross_entropy(net(index_select(images, 0, chosen)), index_select(train.labels, 0, chosen)) / 2;
      loss.backward();
      if (at / kPart % 2 == 0) continue;
      adamw.step();
      adamw.zero_grad();
    }
    metrics::Accuracy accuracy;
    const NoGradGuard no_grad;
    for (std::int64_t at = 0; at < valid.size(); at += kPart)
      accuracy.update(net(held.narrow(0, at, kPart)), valid.labels.narrow(0, at, kPart));
    std::printf("accuracy %.2f\n", 100 * accuracy.value());
    print_seconds(clock);
  }
}

/// The CNN of TinyTorch's examples/mnist, which is PyTorch's: Adadelta, batches of 64.
void tinytorch(int batches) {
  models::Cnn net;
  optim::Adadelta adadelta(net.parameters(), {.lr = 1});
  data::DataLoader loader(data::mnist("train"), {.batch_size = 64, .shuffle = true});
  const Clock clock;
  int done = 0;
  for (auto& [images, labels] : loader) {
    const Tensor loss = nn::cross_entropy(net(images), labels);
    adadelta.zero_grad();
    loss.backward();
    adadelta.step();
    if (++done == batches) break;
  }
  print_seconds(clock);
}

/// How a network learns MNIST: chosen on the last 10,000 images of the training set (--valid), never on the test's.
struct Recipe {
  std::int64_t epochs, batch, shift;
  double lr, label_smoothing;
  nn::Sequential net;
};

void add_block(nn::Sequential& net, std::int64_t in, std::int64_t out, std::int64_t kernel, nn::Conv2dOptions options) {
  options.bias = false;
  net.push_back(nn::Conv2d(in, out, kernel, options));
  net.push_back(nn::BatchNorm2d(out));
  net.push_back(nn::ReLU());
}

/// For 99.0 %.
Recipe fast() {
  Recipe r{.epochs = 2, .batch = 64, .shift = 2, .lr = 0.01, .label_smoothing = 0.1, .net = {}};
  add_block(r.net, 1, 24, 5, {.stride = 2});
  add_block(r.net, 24, 32, 3, {});
  add_block(r.net, 32, 48, 3, {.stride = 2});
  r.net.push_back(nn::Flatten());
  r.net.push_back(nn::Linear(48 * 4 * 4, 10));
  return r;
}

/// For 99.5 %.
Recipe accurate() {
  Recipe r{.epochs = 8, .batch = 100, .shift = 2, .lr = 0.01, .label_smoothing = 0.1, .net = {}};
  add_block(r.net, 1, 32, 3, {});
  r.net.push_back(nn::MaxPool2d(2));
  add_block(r.net, 32, 64, 3, {});
  r.net.push_back(nn::MaxPool2d(2));
  add_block(r.net, 64, 96, 3, {});
  r.net.push_back(nn::Flatten());
  r.net.push_back(nn::Linear(96 * 3 * 3, 10));
  return r;
}

/// Copies of the chosen images, each moved by up to `shift` pixels: windows of `padded`, which has a margin of that.
Tensor shifted(const Tensor& padded, const Tensor& chosen, std::int64_t shift) {
  const std::int64_t n = chosen.size(0), side = 28, wide = side + 2 * shift;
  const Tensor offsets = randint(0, 2 * shift + 1, {n, 2});
  Tensor out = empty({n, 1, side, side});
  const float* from = padded.data<float>();
  const auto* place = chosen.data<std::int64_t>();
  const auto* offset = offsets.data<std::int64_t>();
  auto* to = out.data<float>();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y < side; ++y)
      std::memcpy(to + (i * side + y) * side, from + (place[i] * wide + y + offset[2 * i]) * wide + offset[2 * i + 1],
                  static_cast<std::size_t>(side) * sizeof(float));
  return out;
}

/// Trains for as long as the recipe says, then tests once.
void mnist(std::string_view target, std::uint64_t seed, bool validate) {
  const Digits files("train");
  const Digits train = validate ? files.narrow(0, 50000) : files;
  const Digits test = validate ? files.narrow(50000, 10000) : Digits("test");
  manual_seed(seed);
  const Clock clock;
  Recipe r = target == "99.0" ? fast() : accurate();
  const Tensor images =
      pad(train.normalized(), {r.shift, r.shift, r.shift, r.shift}, PadMode::constant, -0.1307 / 0.3081);
  const std::int64_t steps = train.size() / r.batch * r.epochs;
  optim::AdamW adamw(r.net.parameters(), {.lr = r.lr, .weight_decay = 1e-3});
  optim::OneCycleLR schedule(adamw, {.max_lr = r.lr,
                                     .total_steps = steps + 1,
                                     .anneal_strategy = optim::AnnealStrategy::linear,
                                     .cycle_momentum = false});
  for (std::int64_t epoch = 0; epoch < r.epochs; ++epoch) {
    const Tensor order = randperm(train.size());
    for (std::int64_t at = 0; at + r.batch <= train.size(); at += r.batch) {
      const Tensor chosen = order.narrow(0, at, r.batch);
      const Tensor x = shifted(images, chosen, r.shift), y = index_select(train.labels, 0, chosen);
      const Tensor loss = nn::cross_entropy(r.net(x), y, {.label_smoothing = r.label_smoothing});
      adamw.zero_grad();
      loss.backward();
      adamw.step();
      schedule.step();
    }
  }
  print_seconds(clock);
  r.net.eval();
  const NoGradGuard no_grad;
  metrics::Accuracy accuracy;
  const Tensor inputs = test.normalized();
  for (std::int64_t at = 0; at < test.size(); at += 500)
    accuracy.update(r.net(inputs.narrow(0, at, 500)), test.labels.narrow(0, at, 500));
  std::printf("accuracy %.2f\n", 100 * accuracy.value());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view row = argc > 2 ? argv[1] : "";
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  if (row == "gpt2") gpt2(count);
  else if (row == "ggml-dense" || row == "ggml-convolutional") ggml(row == "ggml-dense", count);
  else if (row == "tinytorch") tinytorch(count);
  else if (row == "mnist" && argc > 3)
    mnist(argv[2], static_cast<std::uint64_t>(std::atoi(argv[3])), argc > 4 && std::string_view(argv[4]) == "--valid");
  else return std::fprintf(stderr, "records gpt2|ggml-dense|ggml-convolutional|tinytorch|mnist ...\n"), 2;
  return 0;
}
