// The nth allocation of a training step fails, for every n: the model and its optimizer are as they were, bit by bit,
// or the step is complete, and training goes on as if nothing had happened.

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "faults/failing_heap.h"

namespace minnow {
namespace {

using test::FailingHeap;
using test::Shortage;
using Values = std::vector<std::vector<double>>;

/// A model, and how its optimizer makes a step.
struct Training {
  nn::Sequential net;
  std::function<void()> step;
  std::function<StateDict()> state;

  Values parameters() const {
    Values all;
    for (const Tensor& p : net.parameters()) all.push_back(p.to_vector<double>());
    return all;
  }
  Values all() const {
    Values values = parameters();
    for (const auto& [name, tensor] : state()) values.push_back(tensor.to_vector<double>());
    return values;
  }
};

nn::Sequential net_on(Device device, bool bias) {
  manual_seed(5);
  nn::Sequential net(nn::Linear(6, 8, {.bias = bias}), nn::Tanh(), nn::Linear(8, 3, {.bias = bias}));
  net.to(device);
  return net;
}

Tensor loss_of(nn::Sequential& net, Device device) { return mean(square(net(full({4, 6}, 0.5, {.device = device})))); }

template <class Optimizer, class... Options> std::function<Training(Device)> by(bool bias, Options... options) {
  return [=](Device device) {
    Training t{net_on(device, bias), {}, {}};
    auto optimizer = std::make_shared<Optimizer>(t.net.parameters(), options...);
    t.step = [net = t.net, optimizer, device]() mutable {
      optimizer->zero_grad();
      loss_of(net, device).backward();
      optimizer->step();
    };
    t.state = [optimizer] { return optimizer->state_dict(); };
    return t;
  };
}

std::function<Training(Device)> by_lbfgs(optim::LineSearch search) {
  return [=](Device device) {
    Training t{net_on(device, true), {}, {}};
    auto optimizer = std::make_shared<optim::LBFGS>(t.net.parameters(),
                                                    optim::LBFGSOptions{.max_iter = 3, .line_search_fn = search});
    t.step = [net = t.net, optimizer, device]() mutable {
      optimizer->step([&] {
        optimizer->zero_grad();
        const Tensor loss = loss_of(net, device);
        loss.backward();
        return loss;
      });
    };
    t.state = [optimizer] { return optimizer->state_dict(); };
    return t;
  };
}

/// Two groups with options of their own.
Training groups(Device device) {
  Training t{net_on(device, true), {}, {}};
  const std::vector<Tensor> all = t.net.parameters();
  auto optimizer = std::make_shared<optim::AdamW>(std::vector<Tensor>(all.begin(), all.begin() + 2));
  optimizer->add_param_group({all.begin() + 2, all.end()}, {.lr = 0.01});
  t.step = [net = t.net, optimizer, device]() mutable {
    optimizer->zero_grad();
    loss_of(net, device).backward();
    optimizer->step();
  };
  t.state = [optimizer] { return optimizer->state_dict(); };
  return t;
}

/// Convolutions and batch norm in bfloat16, and a scaled loss.
Training images(Device device) {
  manual_seed(5);
  Training t{nn::Sequential(nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                            nn::Linear(8, 3)),
             {},
             {}};
  t.net.to(device);
  auto adam = std::make_shared<optim::Adam>(t.net.parameters());
  auto scaler = std::make_shared<optim::GradScaler>(optim::GradScalerOptions{.init_scale = 8});
  t.step = [net = t.net, adam, scaler, device]() mutable {
    const Tensor x = arange(0, 72).to(device, float32).reshape({2, 1, 6, 6}) / 72;
    adam->zero_grad();
    Tensor loss;
    {
      const Autocast autocast(bfloat16);
      loss = mean(square(net(x)));
    }
    scaler->scale(loss).backward();
    scaler->step(*adam);
    scaler->update();
  };
  t.state = [adam] { return adam->state_dict(); };
  return t;
}

struct Family {
  const char* name;
  std::function<Training(Device)> make;
};
void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

const Family kFamilies[] = {
    {"Sgd", by<optim::SGD>(true, optim::SGDOptions{.lr = 0.1, .momentum = 0.9})},
    {"Adam", by<optim::Adam>(true, optim::AdamOptions{.amsgrad = true})},
    {"AdamWInGroups", groups},
    {"RmsProp", by<optim::RMSprop>(true, optim::RMSpropOptions{.momentum = 0.5, .centered = true})},
    {"Lion", by<optim::Lion>(true)},
    {"Adagrad", by<optim::Adagrad>(true)},
    {"Rprop", by<optim::Rprop>(true)},
    {"Adafactor", by<optim::Adafactor>(true)},
    {"Muon", by<optim::Muon>(false, optim::MuonOptions{.ns_steps = 2, .bfloat16 = false})},
    {"Lbfgs", by_lbfgs(optim::LineSearch::none)},
    {"ImagesInBfloat16", images},
    {"LbfgsWithLineSearch", by_lbfgs(optim::LineSearch::strong_wolfe)},
};

class FailedStep : public ::testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(, FailedStep, ::testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

/// MINNOW_ALL_FAULTS=1: every allocation; else every one of the first 20, and then each seventh.
std::size_t next_fault(std::size_t n) { return std::getenv("MINNOW_ALL_FAULTS") || n < 20 ? n + 1 : n + 7; }

/// `first`: the step that makes the optimizer's state.
void sweep(const Family& family, Device device, bool first, Shortage shortage) {
  const auto start = [&] {
    Training t = family.make(device);
    if (!first) t.step();
    return t;
  };
  Training good = start();
  const Values before = good.parameters();
  const std::int64_t storages_before = live_storages();
  good.step();
  const std::int64_t grown = live_storages() - storages_before;
  const Values after = good.parameters(), all_after = good.all();
  ASSERT_NE(before, after);
  std::size_t n = 0;
  int unchanged = 0, complete = 0;
  for (bool failed = true; failed; n = next_fault(n)) {
    ASSERT_LT(n, 5000U) << "it does not end";
    Training t = start();
    synchronize(device);
    const std::int64_t storages = live_storages();
    bool threw = false;
    empty_cache(Device());
    empty_cache("sim:0");
    {
      const FailingHeap heap(n, shortage);
      try {
        t.step();
      } catch (const std::bad_alloc&) { threw = true; } catch (const OutOfMemoryError&) {
        threw = true;
      }
      failed = heap.has_failed();
    }
    if (t.parameters() == before) {
      ++unchanged;
      ASSERT_TRUE(threw) << "without a word, at allocation " << n;
      t.step();
      ASSERT_EQ(live_storages(), storages + grown) << "a leak, at allocation " << n;
    } else {
      ++complete;
    }
    ASSERT_EQ(t.parameters(), after) << "a part of the step was made, at allocation " << n;
    ASSERT_EQ(t.all(), all_after) << "allocation " << n;
  }
  EXPECT_GT(unchanged, 10);
  EXPECT_GE(complete, 1);
}

TEST_P(FailedStep, ChangesNothingOrIsComplete) {
  for (const bool first : {true, false})
    for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
      SCOPED_TRACE(testing::Message() << (first ? "first" : "second") << " step, "
                                      << (shortage == Shortage::once ? "one" : "lasting"));
      sweep(GetParam(), Device(), first, shortage);
      if (HasFatalFailure()) return;
    }
}

TEST_P(FailedStep, OnADeviceChangesNothingOrIsComplete) {
  sweep(GetParam(), Device("sim:0"), false, Shortage::lasting);
}

}  // namespace
}  // namespace minnow
