// The state that a captured step uses may change between two runs: the results are those of the same calls without
// capture.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

class ChangedStateTest : public test::DeviceTest {
 protected:
  static Device elsewhere() { return device().is_cpu() ? Device("sim:0") : Device(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, ChangedStateTest, test::all_devices(), test::device_test_name);

/// A network, its optimizer and a step of training.
struct Training {
  explicit Training(Device d) : device(d) {
    manual_seed(3);
    net = std::make_unique<nn::Sequential>(nn::Linear(5, 8), nn::Dropout(0.25), nn::Linear(8, 3));
    net->to(device);
    adam = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions{.lr = 0.05});
  }
  Tensor step(const Tensor& x) {
    const Tensor loss = sum((*net)(x));
    adam->zero_grad();
    loss.backward();
    adam->step();
    return loss;
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Tensor& p : net->parameters())
      for (const double v : p.to_vector<double>()) all.push_back(v);
    return all;
  }

  Device device;
  std::unique_ptr<nn::Sequential> net;
  std::unique_ptr<optim::Adam> adam;
};

constexpr int kChangeAt = 5, kRuns = 12;

struct Seen {
  std::vector<double> losses, values;
  std::int64_t replays = 0;

  bool operator==(const Seen& other) const { return losses == other.losses && values == other.values; }
};

/// Several runs, direct or captured, with `change` called between two of them.
template <class Change> Seen train(Device device, bool captured, const Change& change) {
  Training training(device);
  CapturedStep step([&](const Tensor& x) { return training.step(x); }, {.device = device, .warm_up = 1});
  Seen seen;
  for (int i = 0; i < kRuns; ++i) {
    if (i == kChangeAt) change(training);
    const DType dtype = training.net->parameters()[0].dtype();
    const Tensor x = full({2, 5}, 0.5 + i, {.dtype = dtype, .device = device});
    seen.losses.push_back(captured ? step(x).item() : training.step(x).item());
  }
  seen.values = training.values();
  seen.replays = step.replays();
  return seen;
}

template <class Change> void expect_as_without_recording(Device device, const Change& change) {
  const Seen direct = train(device, false, change), captured = train(device, true, change);
  EXPECT_EQ(direct.losses, captured.losses);
  EXPECT_EQ(direct.values, captured.values);
  EXPECT_EQ(captured.replays, device.is_cuda() ? kRuns - 2 : 0) << "one run directly before each of two recordings";
}

TEST_P(ChangedStateTest, ModuleThatWasMovedAndMovedBackIsTrained) {
  expect_as_without_recording(device(), [](Training& t) {
    t.net->to(elsewhere());
    t.net->to(device());
  });
}

TEST_P(ChangedStateTest, ConvertedModuleIsTrained) {
  expect_as_without_recording(device(), [](Training& t) { t.net->to(DType::float64); });
}

TEST_P(ChangedStateTest, ParameterWithOtherDataIsTrained) {
  expect_as_without_recording(device(), [](Training& t) {
    const Tensor w = t.net->parameters()[0];
    w.set_data(full(w.shape(), 0.125, {.device = device()}));
  });
}

TEST_P(ChangedStateTest, LoadedStateIsUsed) {
  expect_as_without_recording(device(), [](Training& t) {
    Training other(device());
    for (int i = 0; i < 3; ++i) other.step(full({2, 5}, 2.0, {.device = device()}));
    t.adam->load_state_dict(other.adam->state_dict());
  });
}

TEST_P(ChangedStateTest, OptionsThatNeedOtherStateAreUsed) {
  expect_as_without_recording(device(), [](Training& t) { t.adam->options().amsgrad = true; });
}

TEST_P(ChangedStateTest, EvalAndTrainAreCapturedAgain) {
  expect_as_without_recording(device(), [](Training& t) { t.net->eval(); });
}

TEST_P(ChangedStateTest, AddedHooksAreCalled) {
  expect_as_without_recording(device(), [](Training& t) {
    register_hook(t.net->parameters()[0], [](const Tensor& g) { return g * 0; }).detach();
  });
  int calls = 0;
  const auto count = [&](Training& t) {
    t.net->register_forward_hook([&calls](nn::Module&, const Tensor&, const Tensor&) { ++calls; }).detach();
  };
  train(device(), true, count);
  EXPECT_GE(calls, 1);
}

TEST_P(ChangedStateTest, FrozenParametersAreNotTrained) {
  expect_as_without_recording(device(), [](Training& t) {
    t.net->at(0).requires_grad_(false);
    t.net->zero_grad();
  });
}

TEST_P(ChangedStateTest, AddedGroupIsTrained) {
  const auto run = [&](bool captured) {
    const Tensor a = ones({2}, {.device = device()}).requires_grad_();
    const Tensor b = ones({2}, {.device = device()}).requires_grad_();
    optim::SGD sgd({a}, {.lr = 0.5});
    const auto once = [&](const Tensor& x) {
      sgd.zero_grad();
      b.set_grad(Tensor());
      sum(a * b * x).backward();
      sgd.step();
    };
    CapturedStep step(once, {.device = device(), .warm_up = 1});
    for (int i = 0; i < 8; ++i) {
      if (i == 4) sgd.add_param_group({b}, {.lr = 0.25});
      const Tensor x = full({2}, 1.0 / (1 + i), {.device = device()});
      if (captured) step(x);
      else once(x);
    }
    return std::pair(a.to_vector<double>(), b.to_vector<double>());
  };
  EXPECT_EQ(run(false), run(true));
}

TEST_P(ChangedStateTest, GradientsMayBeDroppedOutsideOfTheStep) {
  // Gradients are dropped outside of the step, accumulated in it, and read by an optimizer outside.
  const auto run = [&](bool captured, bool drop) {
    const Tensor w = full({3}, 0.5, {.device = device()}).requires_grad_();
    optim::SGD sgd({w}, {.lr = 0.125});
    const auto once = [&](const Tensor& x) { sum(w * w * x).backward(); };
    CapturedStep step(once, {.device = device(), .warm_up = 0});
    for (int i = 0; i < 9; ++i) {
      if (drop && i != 4) sgd.zero_grad();
      const Tensor x = full({3}, 1.0 / (2 + i), {.device = device()});
      if (captured) step(x);
      else once(x);
      if (drop) sgd.step();
    }
    if (captured && device().is_cuda()) { EXPECT_GE(step.replays(), 5); }
    auto seen = w.grad().to_vector<double>();
    seen.push_back(w.to_vector<double>()[0]);
    return seen;
  };
  EXPECT_EQ(run(false, true), run(true, true));
  EXPECT_EQ(run(false, false), run(true, false));
}

TEST_P(ChangedStateTest, OptimizerReadsTheCurrentGradients) {
  const auto run = [&](bool captured) {
    const Tensor w = full({3}, 0.5, {.device = device()}).requires_grad_();
    optim::SGD sgd({w}, {.lr = 0.125});
    CapturedStep step([&] { sgd.step(); }, {.device = device(), .warm_up = 1});
    for (int i = 0; i < 8; ++i) {
      sgd.zero_grad();
      sum(w * w * (1.0 / (2 + i))).backward();
      if (captured) step();
      else sgd.step();
    }
    return w.to_vector<double>();
  };
  EXPECT_EQ(run(false), run(true));
}

TEST_P(ChangedStateTest, ParametersReadThroughAViewAreTracked) {
  nn::Linear frozen(3, 3);
  frozen.to(device());
  frozen.requires_grad_(false);
  CapturedStep step([&](const Tensor& x) { return matmul(x, frozen.weight.t()); }, {.device = device(), .warm_up = 0});
  const Tensor x = ones({1, 3}, {.device = device()});
  step(x);
  frozen.weight.set_data(full({3, 3}, 2.0, {.device = device()}));
  EXPECT_EQ(step(x).to_vector<double>(), (std::vector<double>{6, 6, 6}));
}

TEST_P(ChangedStateTest, ModuleOnAnotherDeviceIsRefusedByName) {
  Training training(device());
  CapturedStep step([&](const Tensor& x) { return training.step(x); }, {.device = device(), .warm_up = 1});
  const Tensor x = ones({2, 5});
  for (int i = 0; i < 3; ++i) step(x);
  training.net->to(elsewhere());
  const std::string text = test::error_of<DeviceError>([&] { step(x); });
  EXPECT_NE(text.find("'0.weight'"), std::string::npos) << text;
  training.net->to(device());
  EXPECT_NO_THROW(step(x));
}

TEST_P(ChangedStateTest, OptionsOutOfRangeAreAnErrorAndChangeNothing) {
  Training training(device());
  CapturedStep step([&](const Tensor& x) { return training.step(x); }, {.device = device(), .warm_up = 1});
  const Tensor x = ones({2, 5});
  for (int i = 0; i < 3; ++i) step(x);
  const auto before = training.values();
  training.adam->options().lr = -1;
  EXPECT_NE(test::error_of<ValueError>([&] { step(x); }).find("got -1"), std::string::npos);
  EXPECT_EQ(training.values(), before);
  training.adam->options().lr = 0.05;
  const std::int64_t replays = step.replays();
  step(x);
  EXPECT_EQ(step.replays(), device().is_cuda() ? replays + 1 : 0);
}

TEST_P(ChangedStateTest, StepThatAlwaysChangesRunsDirectly) {
  Training training(device());
  int runs = 0;
  CapturedStep step(
      [&](const Tensor& x) {
        ++runs;
        return sum((*training.net)(x));
      },
      {.device = device(), .warm_up = 1});
  for (int i = 0; i < 60; ++i) {
    training.net->train(i % 2 == 0);
    step(ones({2, 5}));
  }
  EXPECT_LE(step.replays(), 10);
  EXPECT_GE(runs, 50);
  EXPECT_EQ(step.captures(), 0);
}

TEST_P(ChangedStateTest, OccasionalChangeIsCapturedAgain) {
  Training training(device());
  CapturedStep step([&](const Tensor& x) { return sum((*training.net)(x)); }, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 200; ++i) {
    if (i % 20 == 0) training.net->train(i % 40 == 0);
    step(ones({2, 5}));
  }
  EXPECT_EQ(step.replays(), device().is_cuda() ? 190 : 0);
}

TEST_P(ChangedStateTest, UnrelatedChangesDoNotCaptureAgain) {
  Training training(device());
  CapturedStep step([&](const Tensor& x) { return training.step(x); }, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 10; ++i) {
    Training other(device());
    other.net->to(elsewhere());
    other.net->eval();
    training.net->to(device());
    training.net->load_state_dict(training.net->state_dict());
    training.net->train();
    step(ones({2, 5}));
  }
  EXPECT_EQ(step.replays(), device().is_cuda() ? 9 : 0);
}

TEST(CapturedStep, MovedFromIsAnError) {
  CapturedStep step([](const Tensor& x) { return x + 1; }, {.device = Device(), .warm_up = 0});
  CapturedStep to = std::move(step);
  const auto refused = [](auto f) {
    const std::string text = test::error_of<ValueError>(f);
    EXPECT_NE(text.find("CapturedStep: the step was moved from  (changed_state_test.cpp:"), std::string::npos) << text;
  };
  refused([&] { step(ones({1})); });
  refused([&] { step(); });
  refused([&] { static_cast<void>(step.captures()); });
  refused([&] { static_cast<void>(step.replays()); });
  step = std::move(to);
  EXPECT_EQ(step(ones({1})).item(), 2);
  refused([&] { to(ones({1})); });
}

}  // namespace
}  // namespace minnow
