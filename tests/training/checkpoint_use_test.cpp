// Checkpoints in programs that change their folder, use other devices, or have several of them.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>
#include <minnow/minnow.h>
#include "devices.h"
#include "support/thrown.h"
#include "training/memory_folder.h"

namespace minnow {
namespace {

using test::TemporaryFolder;

class CheckpointUse : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CheckpointUse, test::all_devices(), test::device_test_name);

TEST(CheckpointUse, ARelativeFolderStaysTheSame) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::current_path(folder / "");
  int steps = 1;
  {
    Checkpoint checkpoint("run");
    checkpoint.add("steps", steps);
    const std::string first = checkpoint.save({.metric = 1});
    std::filesystem::current_path(folder / "elsewhere");
    EXPECT_TRUE(std::filesystem::exists(first));
    EXPECT_EQ(checkpoint.best_path(), first);
    checkpoint.save({.background = true});
    std::filesystem::current_path(before);
    checkpoint.wait();
    EXPECT_EQ(checkpoint.resume()->number, 2);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoint-00000002.safetensors"));
}

TEST_P(CheckpointUse, AStateDictStaysOnItsDevice) {
  const TemporaryFolder folder;
  const auto on_device = [](const std::vector<double>& values) { return tensor(values, {.device = device()}); };
  Tensor other = ones({2});
  {
    StateDict best{{"x", on_device({1, 2})}, {"y", tensor({3.0})}, {"z", on_device({4})}};
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("best", best).add("other", other).save();
  }
  StateDict best{{"y", tensor({0.0})}, {"x", on_device({0})}};
  {
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("best", best).add("other", other).resume();
    EXPECT_EQ(best.size(), 3u);
    EXPECT_EQ(best.at("x").device(), device());
    EXPECT_EQ(best.at("y").device(), Device());
    EXPECT_EQ(best.at("x").to_vector<double>(), (std::vector<double>{1, 2}));
  }
  best = {{"x", on_device({7})}};
  Tensor larger = ones({3});
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("best", best).add("other", larger);
  EXPECT_THROW(checkpoint.resume(), ValueError);
  EXPECT_EQ(best.size(), 1u);
  EXPECT_EQ(best.at("x").device(), device());
  EXPECT_EQ(best.at("x").to_vector<double>(), std::vector<double>{7});
}

TEST(CheckpointUse, ANumberThatItsTypeDoesNotHoldIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](std::int64_t saved, auto number) {
    const auto before = number;
    std::filesystem::remove_all(folder / "c");
    Checkpoint writer(folder / "c");
    writer.add("n", saved).save();
    Checkpoint reader(folder / "c");
    reader.add("n", number);
    const std::string what = test::error_of<ValueError>([&] { reader.resume(); });
    test::expect_contains(what, "'n' of '");
    test::expect_contains(what, "it is " + std::to_string(saved) + ", which");
    EXPECT_EQ(number, before);
  };
  refused(std::int64_t{1} << 40, 7);
  refused(-1, std::uint8_t{7});
  refused(2, true);
  refused(128, std::int8_t{-1});
}

struct Odd : nn::Module {
  nn::Linear a = child("a", nn::Linear(4, 4)), b = child("b", nn::Linear(4, 4));
  Tensor scalar = buffer("scalar", rand({})), none = buffer("none", zeros({0, 3}));
  Tensor flag = buffer("flag", rand({5}) > 0.5), half = buffer("half", rand({3}).to(float16));
  Tensor small = buffer("small", randint(-128, 128, {9}).to(DType::int8));
  Tensor pixels = parameter("pixels", rand({2, 4, 5, 3}).permute({0, 3, 1, 2}));
  Tensor columns = parameter("columns", rand({3, 4}).t());
  Odd() { b.weight = a.weight; }
};
struct Empty : nn::Module {};

TEST_P(CheckpointUse, OddModulesInTheBackground) {
  const TemporaryFolder folder;
  StateDict saved;
  Empty empty;
  {
    auto net = std::make_unique<Odd>();
    net->to(device());
    saved = net->state_dict().clone();
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("net", *net).add("empty", empty);
    checkpoint.save({.background = true});
    net.reset();  // what is written does not need it
    checkpoint.wait();
  }
  Odd net;
  net.to(device());
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("net", net).add("empty", empty);
  const Strides pixels = net.pixels.strides(), columns = net.columns.strides();
  ASSERT_TRUE(checkpoint.resume());
  for (const auto& [name, tensor] : net.state_dict()) {
    EXPECT_EQ(tensor.dtype(), saved.at(name).dtype()) << name;
    EXPECT_TRUE(equal(tensor, saved.at(name))) << name;
  }
  EXPECT_EQ(net.a.weight.storage(), net.b.weight.storage());
  EXPECT_EQ(net.pixels.strides(), pixels);
  EXPECT_EQ(net.columns.strides(), columns);
}

// The threads share a generator, and sweep the same folder of temporary files.
TEST_P(CheckpointUse, OneForEachThread) {
  const TemporaryFolder folder;
  constexpr int kThreads = 4, kSaves = 6;
  std::vector<std::thread> threads;
  std::vector<std::string> problems(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t, on = device()] {
      try {
        nn::Linear net(30, 20);
        net.to(on);
        optim::Adam adam(net.parameters());
        int steps = 0;
        Checkpoint checkpoint(folder / std::to_string(t));
        checkpoint.add("net", net).add("adam", adam).add("steps", steps);
        for (steps = 1; steps <= kSaves; ++steps) {
          const Tensor loss = sum(square(net(rand({5, 30}, {.device = on}))));
          adam.zero_grad();
          loss.backward();
          adam.step();
          checkpoint.save({.metric = -steps, .background = true});
          save(net.state_dict(), folder / ("weights" + std::to_string(t) + ".safetensors"));
        }
        const StateDict last = net.state_dict().clone();
        if (checkpoint.resume()->number != kSaves || steps != kSaves || !equal(last.at("weight"), net.weight))
          problems[static_cast<std::size_t>(t)] = "another state";
      } catch (const std::exception& error) { problems[static_cast<std::size_t>(t)] = error.what(); }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(problems, std::vector<std::string>(kThreads));
  EXPECT_EQ(folder.files(), 2u * kThreads);
}

}  // namespace
}  // namespace minnow
