// Exact resume: a run that is stopped and resumed has the bits of the run that was never stopped.
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <minnow/minnow.h>
#include "devices.h"
#include "training/memory_folder.h"

namespace minnow {
namespace {

using test::TemporaryFolder;

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(5, 8));
  nn::BatchNorm1d norm = child("norm", nn::BatchNorm1d(8));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.3));
  nn::Linear fc2 = child("fc2", nn::Linear(8, 2));
  Tensor forward(const Tensor& x) override { return fc2(dropout(relu(norm(fc1(x))))); }
};

/// Samples with noise of their own in each epoch.
struct Noisy {
  std::int64_t size() const { return 22; }
  Tensor get(std::int64_t i, data::Random& random) const {
    std::vector<double> x{static_cast<double>(i) / 22};
    while (x.size() < 5) x.push_back(random.normal());
    return tensor(x, {.dtype = float32});
  }
};

std::unique_ptr<optim::Optimizer> optimizer_of(const std::string& kind, const std::vector<Tensor>& parameters) {
  if (kind == "sgd") return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
  if (kind == "adam") return std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = 0.02});
  return std::make_unique<optim::RMSprop>(parameters, optim::RMSpropOptions{.lr = 0.01, .momentum = 0.5});
}

constexpr std::int64_t kEpochs = 3, kStepsOfEpoch = 6;  // the last batch of an epoch is smaller

/// A training program: everything in it is made again for each start.
struct Program {
  Program(const std::string& kind, Device device, int workers, std::uint64_t seed, const std::string& folder)
      : net((manual_seed(seed), Net())),
        own(seed + 5),
        optimizer((net.to(device), optimizer_of(kind, net.parameters()))),
        schedule(*optimizer, {.T_max = kEpochs}),
        ema(net, {.decay = 0.9}),
        loader(Noisy(), {.batch_size = 4, .shuffle = true, .num_workers = workers, .device = device}),
        checkpoint(folder) {
    checkpoint.add("model", net).add("optimizer", *optimizer).add("schedule", schedule).add("ema", ema);
    checkpoint.add("noise", own).add("train", loader).add("steps", steps).add("sum", sum_of_epoch);
  }

  /// Until `stop` steps are done, or to the end.
  void train(std::int64_t stop, bool background = false) {
    checkpoint.resume();
    while (steps < stop && loader.position().epoch < kEpochs) {
      for (auto& x : loader) {
        const Tensor noise = randn({x.size(0), 2}, {.device = x.device(), .generator = &own});
        const Tensor loss = nn::mse_loss(net(x), noise);
        optimizer->zero_grad();
        loss.backward();
        optimizer->step();
        ema.update_parameters(net);
        losses.push_back(loss.item<float>());
        sum_of_epoch += losses.back();
        if (++steps == stop) return checkpoint.save({.background = background}), void();
      }
      schedule.step();
      sums.push_back(sum_of_epoch);
      sum_of_epoch = 0;
    }
    checkpoint.save({.background = background});
  }

  Net net;
  RandomGenerator own;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::CosineAnnealingLR schedule;
  optim::AveragedModel<Net> ema;
  data::DataLoader<Noisy> loader;
  Checkpoint checkpoint;
  std::int64_t steps = 0;
  double sum_of_epoch = 0;
  std::vector<float> losses;  // of this program
  std::vector<double> sums;
};

std::string bits(const StateDict& state) {
  std::string all;
  for (const auto& [name, tensor] : state) {
    const Tensor host = tensor.cpu().contiguous();
    host.storage()->wait_ready();
    all += name;
    all.append(static_cast<const char*>(host.raw_data()), static_cast<std::size_t>(host.nbytes()));
  }
  return all;
}

class Resume : public test::DeviceTest {
 protected:
  /// Stops after each of these steps and starts again, with other seeds and numbers of workers.
  static void expect_same(const std::string& kind, const std::vector<std::int64_t>& stops, bool background = false) {
    const TemporaryFolder folder;
    Program whole(kind, device(), 2, 7, folder / "whole");
    whole.train(1000);
    ASSERT_EQ(whole.steps, kEpochs * kStepsOfEpoch);
    const StateDict state_of_random = default_generator().state_dict();
    std::vector<float> losses;
    std::vector<double> sums;
    std::string where = kind + ", stops";
    std::vector<std::int64_t> starts = stops;
    starts.push_back(1000);
    std::uint64_t seed = 7;
    for (const std::int64_t stop : starts) {
      where += " " + std::to_string(stop);
      Program part(kind, device(), static_cast<int>(seed % 3), seed, folder / "parts");
      part.train(stop, background);
      losses.insert(losses.end(), part.losses.begin(), part.losses.end());
      sums.insert(sums.end(), part.sums.begin(), part.sums.end());
      ++seed;
      if (stop < 1000) continue;
      EXPECT_TRUE(losses == whole.losses) << where;
      EXPECT_TRUE(sums == whole.sums) << where;
      EXPECT_TRUE(bits(part.net.state_dict()) == bits(whole.net.state_dict())) << where;
      EXPECT_TRUE(bits(part.ema.state_dict()) == bits(whole.ema.state_dict())) << where;
      EXPECT_TRUE(bits(part.optimizer->state_dict()) == bits(whole.optimizer->state_dict())) << where;
      EXPECT_TRUE(bits(part.schedule.state_dict()) == bits(whole.schedule.state_dict())) << where;
      EXPECT_TRUE(bits(part.own.state_dict()) == bits(whole.own.state_dict())) << where;
      EXPECT_TRUE(bits(default_generator().state_dict()) == bits(state_of_random)) << where;
      EXPECT_EQ(part.loader.position(), whole.loader.position()) << where;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Resume, test::all_devices(), test::device_test_name);

// Before the first step, after it, in an epoch, at its end, in the next one, at the end of the training.
TEST_P(Resume, HasTheBitsOfTheRunThatWasNeverStopped) {
  for (const std::string kind : {"sgd", "adam", "rmsprop"})
    for (const std::int64_t stop : {0, 1, 3, 6, 7, 18}) expect_same(kind, {stop});
}

TEST_P(Resume, Twice) {
  for (const std::string kind : {"sgd", "adam", "rmsprop"}) {
    expect_same(kind, {3, 8}, true);
    expect_same(kind, {6, 6, 17}, false);
  }
}

TEST_P(Resume, ACapturedStep) {
  const TemporaryFolder folder;
  const auto losses = [&](const std::string& path, std::int64_t stop) {
    manual_seed(3);
    Net net;
    net.to(device());
    optim::Adam adam(net.parameters(), {.lr = 0.01});
    data::DataLoader loader(Noisy(), {.batch_size = 11, .num_workers = 0, .device = device()});
    Checkpoint checkpoint(folder / path);
    checkpoint.add("model", net).add("adam", adam).add("train", loader);
    checkpoint.resume();
    CapturedStep step(
        [&](const Tensor& x) {
          const Tensor loss = net(x).pow(2).mean();
          adam.zero_grad();
          loss.backward();
          adam.step();
          return loss.detach();
        },
        {.device = device()});
    std::vector<float> list;
    while (loader.position().epoch < 4)
      for (auto& x : loader) {
        list.push_back(step(x).item<float>());
        if (--stop == 0) return checkpoint.save(), list;
      }
    return list;
  };
  const std::vector<float> whole = losses("whole", -1);
  std::vector<float> parts = losses("parts", 5);
  for (const float loss : losses("parts", -1)) parts.push_back(loss);
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace minnow
