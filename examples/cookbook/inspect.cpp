// Recipes of docs/cookbook/inspect.md.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <minnow/tensorboard/tensorboard.h>

#include "recipe.h"

using namespace minnow;

namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// # Layers and numbers of parameters
const Recipe summary_recipe("summary", [] {
  nn::Sequential net(nn::Conv2d(1, 8, 3), nn::ReLU(), nn::Flatten(), nn::Linear(8 * 26 * 26, 10));
  // [
  std::cout << nn::summary(net, {1, 1, 28, 28}) << '\n';
  std::int64_t count = 0;
  for (const auto& [name, parameter] : net.named_parameters()) count += parameter.numel();
  // ]
  expect(count == 8 * 9 + 8 + 8 * 26 * 26 * 10 + 10);
});

// # Find where a NaN comes from
// Backward checks each gradient; the first bad one names its operation and your line of the forward
// pass. That takes time: switch it on when you have a NaN.
const Recipe nan_recipe("nan hunting", [] {
  Tensor w = zeros({3}).requires_grad_();
  std::string message;
  try {
    // [
    const DetectAnomalyGuard guard;
    const Tensor loss = sqrt(w).sum();  // the slope of sqrt at 0 is infinite
    loss.backward();  // AutogradError: sqrt: the gradient of its operand 0 has 0 NaN and 3 infinite of 3 values
    // ]
  } catch (const AutogradError& error) { message = error.what(); }
  expect(message.find("sqrt") != std::string::npos &&
         message.find("inspect.cpp") != std::string::npos);
});

// # Notice a NaN at once
// In any training, at next to no cost, without waiting for the device.
const Recipe finite_recipe("finite check", [] {
  bool noticed = false;
  const std::vector<Tensor> losses = {ones({}), full({}, std::nan(""))};
  try {
    // [
    nn::FiniteCheck check;
    for (const Tensor& loss : losses) {
      // ... a step ...
      check(loss);  // ValueError: a loss became NaN or infinite, with its number
    }
    check.finish();
    // ]
  } catch (const ValueError&) { noticed = true; }
  expect(noticed);
});

// # Out of memory
// The error names the lines that hold most, if they are recorded. `sim` with a limit is a small GPU
// to try it on.
const Recipe memory_recipe("out of memory", [] {
  std::string message;
  // [
  record_memory();  // or MINNOW_RECORD_MEMORY=1
  set_memory_limit("sim", 8 << 20);
  try {
    std::vector<Tensor> kept;  // e.g. losses that were never read: each keeps its graph
    for (int i = 0; i < 100; ++i) kept.push_back(zeros({256, 256}, "sim"));
  } catch (const OutOfMemoryError& error) {
    std::cout << error.what() << '\n';
    message = error.what();  // [hidden]
  }
  // ]
  set_memory_limit("sim", 0);
  record_memory(false);
  expect(message.find("inspect.cpp") != std::string::npos);
});

// # Less memory
// What a training holds most is what backward needs. In this order: smaller batches with
// [accumulated gradients](training.md#accumulate-gradients), [mixed
// precision](training.md#train-in-mixed-precision), [checkpoints of
// blocks](models.md#less-memory-for-more-time). Measure the peak:
const Recipe peak_recipe("peak", [] {
  nn::Linear net(256, 256);
  // [
  reset_peak_memory("cpu");
  net(rand({64, 256})).sum().backward();
  std::cout << static_cast<double>(max_memory("cpu")) / 1e6 << " MB\n";
  // ]
  expect(max_memory("cpu") > 256 * 256 * 4);
});

// # The size of the gradients
// By layer: a layer whose gradients are far smaller than others does not learn; if they are far
// larger, [clip them](training.md#clip-gradients).
const Recipe gradients_recipe("gradients", [] {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 1));
  net(rand({16, 4})).sum().backward();
  int shown = 0;
  // [
  for (const auto& [name, parameter] : net.named_parameters()) {
    std::cout << name << ' ' << parameter.grad().square().mean().sqrt().item() << '\n';
    ++shown;  // [hidden]
  }
  // ]
  expect(shown == 4);
});

// # Which class is taken for which
const Recipe confusion_recipe("confusion matrix", [] {
  const Tensor scores = tensor({{2.0, 1.0}, {0.0, 1.0}, {3.0, 1.0}}),
               labels = tensor({0, 1, 1}).to(int64);
  // [
  metrics::ConfusionMatrix matrix(2);
  matrix.update(scores, labels);         // for each batch
  std::cout << matrix.counts() << '\n';  // row: the class, column: what was predicted
  std::printf("accuracy %.2f, F1 %.2f\n", matrix.accuracy(), matrix.f1(metrics::Average::macro));
  // ]
  expect(matrix.counts()[1][0].item() == 1 && std::abs(matrix.accuracy() - 2.0 / 3) < 1e-9);
});

// # A log that other programs read
// CSV, or JSON lines for a name that ends in .jsonl. Each number is there at once, also after a
// crash.
const Recipe history_recipe("history", [] {
  // [
  training::History log("history.csv");
  for (int step = 0; step < 3; ++step)
    log.log("train/loss", 1.0 / (step + 1), {.step = step, .epoch = 0});
  for (const auto& entry : log.of("train/loss"))
    std::cout << entry.step << ' ' << entry.value << '\n';
  // ]
  expect(training::History::read("history.csv").size() == 3);
});

// # Write a report
// One HTML file: curves, confusion matrix, the worst mistakes, layers, the machine.
// `run.report(...)` of a `training::Run` is the same.
const Recipe report_recipe("report", [] {
  training::History log;
  for (int epoch = 0; epoch < 5; ++epoch)
    log.log("loss", 1.0 / (epoch + 1), {.step = epoch, .epoch = epoch});
  nn::Linear net(784, 10);
  // [
  training::report("report.html", log, {.title = "Digits", .layers = nn::summary(net, {1, 784})});
  // ]
  expect(text_of("report.html").find("Digits") != std::string::npos);
});

// # TensorBoard
// `tensorboard --logdir runs`. With `#include <minnow/tensorboard/tensorboard.h>` and
// `minnow::tensorboard`; no Python is needed.
const Recipe board_recipe("tensorboard", [] {
  nn::Linear net(4, 2);
  // [
  tensorboard::Writer writer("runs/first");
  writer.add_scalar("train/loss", 0.5, 10);  // name, value, step
  writer.add_histogram("weight", net.weight, 10);
  writer.add_graph(net, zeros({1, 4}));
  // ]
  writer.flush();
  expect(tensorboard::read_scalars("runs/first").at(0).value == 0.5f);
});

// # Where the time goes
// The [tutorial](../tutorials/speed.md) has more: waiting and computing, traces.
const Recipe time_of_recipe("times", [] {
  nn::Sequential net(nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 10));
  // [
  const profile::Table table;  // by module; OperationCounts by operation
  net(rand({32, 64})).sum().backward();
  std::cout << table.str() << '\n';
  // ]
  expect(!table.str().empty());
});
