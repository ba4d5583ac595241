// Training from several threads at once: graphs that share leaves, models and steps of their own, streams, captured
// steps, files.  Built here because the thread sanitizer runs this folder.

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <minnow/minnow.h>
#include "support/devices.h"

namespace minnow {
namespace {

constexpr int kThreads = 4;

void on_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

class TrainingThreads : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, TrainingThreads, test::all_devices(), test::device_test_name);

TEST_P(TrainingThreads, GraphsThatShareLeaves) {
  const Tensor w = ones({3, 3}, {.device = device()}).requires_grad_();
  on_threads([&](int t) {
    for (int i = 0; i < 10; ++i) sum(matmul(w, full({3, 2}, t + 1.0, {.device = device()}))).backward();
  });
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(9, 10 * 2 * (1 + 2 + 3 + 4)));
}

/// Losses of a model's training.
std::vector<float> train(Device device, int steps, bool captured) {
  nn::Sequential net(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
  for (const Tensor& p : net.parameters()) nn::init::constant_(p, 0.125);
  net.to(device);
  optim::Adam adam(net.parameters(), {.lr = 0.01});
  const auto step = [&](const Tensor& x) {
    const Tensor loss = mean(square(net(x) - 1));
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  };
  CapturedStep replayed(step, {.device = device, .warm_up = 1});
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    const Tensor x = full({4, 6}, 0.5 + i % 3, {.device = device});
    losses.push_back((captured ? replayed(x) : step(x)).item<float>());
  }
  return losses;
}

TEST_P(TrainingThreads, ModelsAndStepsOfTheirOwn) {
  const std::vector<float> want = train(device(), 8, false);
  on_threads([&](int t) {
    if (device().is_cuda() && t % 2) return;  // one thread captures while another one runs
    EXPECT_EQ(train(device(), 8, t % 2 == 1), want) << t;
  });
}

TEST_P(TrainingThreads, StreamsOfTheirOwn) {
  const Tensor shared = full({64}, 2.0, {.device = device()});
  on_threads([&](int t) {
    const Stream stream(device());
    stream.wait(current_stream(device()).record());
    const StreamGuard guard(stream);
    for (int i = 0; i < 10; ++i) {
      const Tensor there = full({64}, t + i).to(device(), {.non_blocking = true});
      EXPECT_EQ(sum(there * shared).item(), 128.0 * (t + i));
    }
  });
}

TEST_P(TrainingThreads, OneModelIsSavedAndUsedWhileOthersTrain) {
  nn::Sequential net(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
  net.to(device());
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("minnow-threads-" + std::to_string(::getpid()))).string();
  std::filesystem::create_directories(folder);
  const std::vector<float> want = net.parameters()[0].to_vector<float>();
  on_threads([&](int t) {
    for (int i = 0; i < 3; ++i) {
      if (t == 0) { train(device(), 2, false); }
      const Tensor y = net(ones({2, 6}, {.device = device()}));
      EXPECT_EQ(y.cpu().shape(), Shape({2, 3}));
      const std::string path = folder + "/all.safetensors";  // the same for all: each replaces it whole
      save(net.state_dict(), path);
      EXPECT_EQ(load(path).at("0.weight").to_vector<float>(), want);
    }
  });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace minnow
