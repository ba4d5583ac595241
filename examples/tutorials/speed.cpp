// The seventh tutorial: docs/tutorials/speed.md.
#include <chrono>
#include <fstream>
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

struct Net : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 32, 3)),
             conv2 = child("conv2", nn::Conv2d(32, 64, 3));
  nn::Linear fc = child("fc", nn::Linear(9216, 10));
  Tensor forward(const Tensor& x) override {
    return fc(max_pool2d(relu(conv2(relu(conv1(x)))), 2).flatten(1));
  }
};

// [time]
/// Milliseconds of one call, the median of several.
double milliseconds(const std::function<void()>& work) {
  work(), work();  // the first calls choose algorithms and get memory
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return times[3];
}
// [end]

int main() {
  manual_seed(1);
  // [step]
  Net net;
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  const Tensor images = rand({64, 1, 28, 28}), labels = randint(0, 10, {64});
  const auto step = [&] {
    const Tensor loss = nn::cross_entropy(net(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
  };
  // [end]

  measured_section("threads");
  // [threads]
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    std::printf("%d threads: %.1f ms a step\n", threads, milliseconds(step));
  }
  // [end]

  measured_section("times");
  // [times]
  data::DataLoader loader(data::SyntheticDigits(1280), {.batch_size = 64, .shuffle = true});
  const profile::StepTimes times;
  for (auto& [x, y] : loader) {
    const Tensor loss = nn::cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  std::cout << times.str() << '\n';
  // [end]

  measured_section("operations");
  // [operations]
  {
    const profile::OperationCounts counts;
    step();
    std::cout << counts.str() << '\n';
  }
  // [end]

  section("trace");
  // [trace]
  {
    const profile::Trace trace("steps.json");  // until the end of this scope
    step();
    step();
  }
  // [end]
  std::ifstream file("steps.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::cout << (text.find("conv2") != std::string::npos ? "steps.json is there\n" : "no trace\n");

  section("half");
  // [half]
  const auto loss_now = [&] { return nn::cross_entropy(net(images), labels).item(); };
  std::printf("float32: %.3f\n", loss_now());
  {
    const Autocast guard(bfloat16,
                         {.force = true});  // force: also where the processor is slow at it
    std::printf("bfloat16: %.3f\n", loss_now());
  }
  // [end]

  section("captured");
  // [captured]
  CapturedStep captured([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  });
  const Tensor loss = captured(images, labels);  // a call is a step
  // [end]
  std::cout << (isfinite(loss).item<bool>() ? "a step was made\n" : "the loss is NaN\n");

  section("refused");
  // [refused]
  CapturedStep reads(
      [&](const Tensor& x) { return net(x) * net(x).sum().item(); });  // waits for a number
  try {
    reads(images);
  } catch (const Error& error) { std::cout << error.what() << '\n'; }
  // [end]
}
