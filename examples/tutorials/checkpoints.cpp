// The sixth tutorial: docs/tutorials/checkpoints.md.  The argument is a file of weights that PyTorch wrote.
#include <csignal>
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

// [net]
struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(784, 64));
  nn::Linear out = child("out", nn::Linear(64, 10));
  Tensor forward(const Tensor& x) override { return out(relu(hidden(x.flatten(1)))); }
};
// [end]

/// Trains in a folder; Ctrl-C comes at a step, unless that is negative.
int train(const std::string& folder, std::int64_t ctrl_c) {
  manual_seed(1);
  // [run]
  Net net;
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  data::DataLoader train(data::SyntheticDigits(3000), {.batch_size = 50, .shuffle = true});
  data::DataLoader valid(data::SyntheticDigits(500, {.first = 1'000'000}), {.batch_size = 250});

  training::Run run(folder,
                    {.epochs = 6, .watch = "accuracy", .best = training::Best::max, .patience = 3});
  run.add("model", net).add("adam", adam).add("train", train);
  for (auto epoch : run.epochs()) {
    for (auto& [images, labels] : epoch.batches(train)) {
      const Tensor loss = nn::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      epoch.log("loss", loss);
      if (run.step() == ctrl_c) std::raise(SIGINT);  // [hidden]
    }
    if (interrupted()) continue;  // saved; no epoch is left
    metrics::Accuracy accuracy;
    for (auto& [images, labels] : epoch.batches_without_steps(valid))
      accuracy.update(net(images), labels);
    epoch.log("accuracy", accuracy.value());
    std::cout << "epoch " << epoch.number() << ", step " << run.step() << ": "
              << 100 * accuracy.value() << " %\n";
  }
  if (interrupted()) return 128 + interrupted();  // started again, the program goes on

  net.load_state_dict(run.best("model"));  // of the best epoch
  save(net.state_dict(), "digits.safetensors");
  // [end]
  std::cout << "best: " << 100 * run.best_value() << " %\n";
  return 0;
}

int main(int, char** argv) {
  section("first");
  const int status = train("runs/digits", 100);
  std::cout << "exit status " << status << '\n';
  section("second");
  train("runs/digits", -1);
  const StateDict resumed = load("digits.safetensors");

  section("whole");
  train("runs/whole", -1);
  // [whole]
  const StateDict whole = load("digits.safetensors");
  for (const auto& [name, tensor] : whole)
    std::cout << name << ": " << (equal(tensor, resumed.at(name)) ? "the same bits" : "different")
              << '\n';
  // [end]

  section("history");
  // [history]
  for (const auto& entry : training::History::read("runs/digits/history.csv"))
    if (entry.name == "accuracy" && entry.epoch >= 4)
      std::cout << "step " << entry.step << ": " << entry.value << '\n';
  // [end]

  section("names");
  // [names]
  for (const auto& [name, tensor] : load("digits.safetensors"))
    std::cout << name << ' ' << tensor.dtype() << ' ' << tensor.shape() << '\n';
  // [end]

  section("torch");
  const std::string path = argv[1];
  // [torch]
  nn::Sequential net{{"conv", nn::Conv2d(1, 6, 3, {.stride = 2, .padding = 1})},
                     {"norm", nn::BatchNorm2d(6)},
                     {"act", nn::ReLU()},
                     {"flatten", nn::Flatten()},
                     {"fc", nn::Linear(150, 4)}};
  StateDict file = load(path);  // torch_net.safetensors
  const Tensor input = file.at("input"), output = file.at("output");
  file.erase("input"), file.erase("output");
  const nn::LoadReport report = net.load_state_dict(file);
  net.eval();
  std::cout << report.loaded.size() << " tensors loaded, the outputs "
            << (allclose(net(input), output, 1e-4, 1e-5) ? "agree" : "differ") << '\n';
  // [end]

  section("mismatch");
  // [mismatch]
  try {
    Net other;
    other.load_state_dict(file);
  } catch (const Error& error) { std::cout << error.what() << '\n'; }
  // [end]
}
