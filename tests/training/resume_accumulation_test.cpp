// Exact resume within an accumulation of gradients, cut after every batch.
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "devices.h"
#include "support/deterministic.h"
#include "training/memory_folder.h"

namespace minnow {
namespace {

using test::TemporaryFolder;

struct ConvNet : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(2, 4, 3));
  nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(4));
  nn::Linear fc = child("fc", nn::Linear(4 * 9, 2));
  Tensor forward(const Tensor& x) override { return fc(relu(norm(conv(x))).flatten(1)); }
};

struct Images {
  std::int64_t size() const { return 26; }
  Tensor get(std::int64_t i, data::Random& random) const {
    std::vector<double> x{static_cast<double>(i) / 26};
    while (x.size() < 50) x.push_back(random.normal());
    return tensor(x, {.dtype = float32}).view({2, 5, 5});
  }
};

/// Three batches for each step, with all that a program keeps from one to the next.
struct Accumulating {
  Accumulating(Device device, std::uint64_t seed, const std::string& folder)
      : net((manual_seed(seed), ConvNet())),
        scale(ones({2}, {.device = device}).requires_grad_()),
        sgd((net.to(device), net.parameters()), {.lr = 0.02, .momentum = 0.9}),
        schedule(sgd, {.max_lr = 0.05, .total_steps = 40}),
        ema(net, {.decay = 0.9}),
        loader(Images(), data::WeightedRandomSampler(std::vector<double>(26, 1.0), 26),
               {.batch_size = 4, .num_workers = static_cast<int>(seed % 3), .device = device}),
        checkpoint(folder) {
    sgd.add_param_group({scale});
    checkpoint.add("model", net).add("scale", scale).add("sgd", sgd).add("schedule", schedule).add("ema", ema);
    checkpoint.add("scaler", scaler).add("train", loader).add("batches", batches);
  }

  /// `late`: gradients are dropped before the first backward of a step, so that they are there after the step before.
  void train(int stop, bool late) {
    checkpoint.resume();
    while (loader.position().epoch < 2)
      for (auto& x : loader) {
        if (late && batches % 3 == 0) sgd.zero_grad();
        const Tensor loss = square(net(x) * scale - rand({2}, {.device = x.device()})).mean();
        scaler.scale(loss / 3).backward();
        losses.push_back(loss.item<float>());
        if (++batches % 3 == 0) {
          scaler.unscale_(sgd);
          optim::clip_grad_norm_(net.parameters(), 0.1);
          scaler.step(sgd);
          scaler.update();
          schedule.step();
          ema.update_parameters(net);
          if (!late) sgd.zero_grad();
        }
        if (batches == stop) return checkpoint.save({.background = stop % 2 == 0}), void();
      }
  }

  ConvNet net;
  Tensor scale;
  optim::SGD sgd;
  optim::OneCycleLR schedule;
  optim::GradScaler scaler;
  optim::AveragedModel<ConvNet> ema;
  data::DataLoader<Images> loader;
  Checkpoint checkpoint;
  int batches = 0;
  std::vector<float> losses;
};

bool same(const StateDict& a, const StateDict& b) {
  bool all = a.size() == b.size();
  for (const auto& [name, value] : a) all = all && b.contains(name) && value.equal(b.at(name));
  return all;
}

class ResumeAccumulation : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ResumeAccumulation, test::all_devices(), test::device_test_name);

TEST_P(ResumeAccumulation, HasTheSameBitsFromEveryBatchOn) {
  const test::Deterministic deterministic;
  for (const bool late : {false, true}) {
    const TemporaryFolder folder;
    Accumulating whole(device(), 7, folder / "whole");
    whole.train(-1, late);
    ASSERT_EQ(whole.batches, 14);
    for (int stop = 1; stop < whole.batches; ++stop) {
      const std::string place = folder / std::to_string(stop);
      std::vector<float> losses;
      {
        Accumulating first(device(), 7, place);
        first.train(stop, late);
        losses = first.losses;
      }
      Accumulating second(device(), static_cast<std::uint64_t>(8 + stop), place);
      second.train(-1, late);
      losses.insert(losses.end(), second.losses.begin(), second.losses.end());
      EXPECT_TRUE(losses == whole.losses) << stop;
      EXPECT_TRUE(second.scale.equal(whole.scale)) << stop;
      EXPECT_TRUE(same(second.net.state_dict(), whole.net.state_dict())) << stop;
      EXPECT_TRUE(same(second.sgd.state_dict(), whole.sgd.state_dict())) << stop;
      EXPECT_TRUE(same(second.ema.state_dict(), whole.ema.state_dict())) << stop;
      EXPECT_TRUE(same(second.scaler.state_dict(), whole.scaler.state_dict())) << stop;
      EXPECT_TRUE(same(second.schedule.state_dict(), whole.schedule.state_dict())) << stop;
    }
  }
}

TEST_P(ResumeAccumulation, GradientsAreThoseOfTheFile) {
  const TemporaryFolder folder;
  nn::Linear a(3, 2), b(3, 2), c(3, 2);
  for (nn::Linear* net : {&a, &b, &c}) net->to(device());
  sum(a.weight * 2).backward();
  {
    optim::SGD sgd(a.parameters(), {.lr = 1});
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("net", a).add("sgd", sgd).save();
  }
  (sum(b.weight) + sum(b.bias)).backward();  // of an attempt that is given up
  optim::SGD sgd(b.parameters(), {.lr = 1});
  Checkpoint checkpoint(folder / "c");
  const std::string path = checkpoint.add("net", b).add("sgd", sgd).resume().value().path;
  EXPECT_TRUE(b.weight.grad().equal(a.weight.grad()));
  EXPECT_FALSE(b.bias.grad().defined());
  c.load_state_dict(load(path, {.prefix = "net.", .rename = {{"net.", ""}}}));  // the weights alone
  EXPECT_TRUE(c.weight.equal(a.weight));
  sgd.zero_grad();
  EXPECT_FALSE(load(checkpoint.save()).contains("checkpoint.grad.net.weight"));
}

}  // namespace
}  // namespace minnow
