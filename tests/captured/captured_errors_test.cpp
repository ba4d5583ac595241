#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

class CapturedErrorsTest : public test::DeviceTest {
 protected:
  /// A device that is not the step's.
  static Device elsewhere() { return device().is_cpu() ? Device("sim:0") : Device(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, CapturedErrorsTest, test::all_devices(), test::device_test_name);

TEST_P(CapturedErrorsTest, CallThatWaitsForTheDeviceIsAnErrorAndTheProgramContinues) {
  manual_seed(5);
  const Tensor w = ones({2}, {.device = device()}).requires_grad_();
  optim::Adam adam({w}, {.lr = 0.1});
  bool waits = false;
  unsigned line = 0;
  CapturedStep step(
      [&](const Tensor& x) {
        const Tensor loss = sum(w * x);
        adam.zero_grad();
        loss.backward();
        adam.step();
        if (waits) {
          line = __LINE__ + 1;
          static_cast<void>(loss.item());
        }
        return loss;
      },
      {.device = device(), .warm_up = 1});
  step(ones({2}));
  const std::vector<double> before = w.to_vector<double>();
  waits = true;
  const bool graphs = device().is_cuda();
  const std::string text = test::error_of<BackendError>([&] { step(ones({2})); });
  EXPECT_NE(text.find("item"), std::string::npos) << text;
  EXPECT_NE(text.find("captured_errors_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_EQ(w.to_vector<double>() == before, graphs) << "nothing was done on a GPU";
  EXPECT_EQ(w.grad().defined(), !graphs);
  waits = false;
  step(ones({2}));
  EXPECT_NEAR(w.to_vector<double>()[0], graphs ? 0.8 : 0.7, 1e-5);
  EXPECT_EQ(step.captures(), graphs ? 1 : 0);
}

TEST_P(CapturedErrorsTest, OnTheHostEachRunIsRefused) {
  if (device().is_cuda()) GTEST_SKIP() << "the first runs are direct";
  CapturedStep step([](const Tensor& x) { return Tensor(x * x.sum().item()); }, {.device = device()});
  for (int i = 0; i < 5; ++i) {
    const std::string text = test::error_of<BackendError>([&] { step(ones({2})); });
    EXPECT_EQ(text.find("BackendError: item: cannot be captured"), 0U) << text;
  }
}

TEST_P(CapturedErrorsTest, StateIsAllocatedInTheRunsBeforeTheCapture) {
  const auto runs = [](int warm_up, bool scaled) {
    const Tensor w = ones({2}, {.device = device()}).requires_grad_();
    optim::Adam adam({w}, {.lr = 0.1});
    optim::GradScaler scaler;
    CapturedStep step(
        [&](const Tensor& x) {
          adam.zero_grad();
          (scaled ? scaler.scale(sum(w * x)) : sum(w * x)).backward();
          adam.step();
        },
        {.device = device(), .warm_up = warm_up});
    for (int i = 0; i < 4; ++i) step(ones({2}));
  };
  EXPECT_NO_THROW(runs(1, true));
  EXPECT_NE(test::error_of<BackendError>([&] { runs(0, false); }).find("Adam::step: the state of a parameter"),
            std::string::npos);
  EXPECT_NE(test::error_of<BackendError>([&] { runs(0, true); }).find("GradScaler: the scale cannot be allocated"),
            std::string::npos);
}

TEST_P(CapturedErrorsTest, StepInAStepIsRefused) {
  CapturedStep inner([](const Tensor& x) { return x + 1; }, {.device = device(), .warm_up = 0});
  CapturedStep outer([&](const Tensor& x) { return inner(x); }, {.device = device(), .warm_up = 0});
  EXPECT_NE(test::error_of<BackendError>([&] { outer(ones({2})); }).find("cannot run another one"), std::string::npos);
  EXPECT_EQ(inner(ones({2})).to_vector<double>(), (std::vector<double>{2, 2}));
}

TEST_P(CapturedErrorsTest, OtherDevicesAreRefused) {
  const Tensor other = ones({4}, {.device = elsewhere()});
  CapturedStep step([&](const Tensor& x) { return x + sum(other + 1).item(); }, {.device = device(), .warm_up = 0});
  const std::string text = test::error_of<DeviceError>([&] { step(ones({2})); });
  EXPECT_NE(text.find("add: computes on another device than the step"), std::string::npos) << text;
  EXPECT_EQ((ones({2}, {.device = device()}) + 1).to_vector<double>(), (std::vector<double>{2, 2}));
}

TEST_P(CapturedErrorsTest, CallsThatCannotBeReplayedAreRefused) {
  const auto refused = [](auto f) {
    CapturedStep step(f, {.device = device(), .warm_up = 0});
    const std::string text = test::error_of<BackendError>([&] { step(ones({2})); });
    EXPECT_EQ(step.captures(), 0);
    EXPECT_NE(text.find("cannot be captured"), std::string::npos) << text;
    EXPECT_NE(text.find("captured_errors_test.cpp:"), std::string::npos) << text;
    return text.substr(0, text.find(": cannot"));
  };
  const Tensor other = ones({2}, {.device = elsewhere()});
  EXPECT_EQ(refused([](const Tensor& x) { return x.to(elsewhere()); }), "BackendError: to");
  EXPECT_EQ(refused([&](const Tensor& x) { return x + other.to(device()); }), "BackendError: to");
  EXPECT_EQ(refused([&](const Tensor& x) { raw::copy_to(x, other, {__FILE__, __LINE__}); }), "BackendError: copy_");
  EXPECT_EQ(refused([](const Tensor& x) { return Tensor(x + x.to_vector<double>()[0]); }), "BackendError: to_vector");
  EXPECT_EQ(refused([](const Tensor& x) {
              return x * tensor({1.0, 2.0}, {.device = device()});
            }),
            "BackendError: tensor");
  EXPECT_EQ(refused([](const Tensor& x) {
              synchronize(device());
              return x;
            }),
            "BackendError: synchronize");
  EXPECT_EQ(refused([](const Tensor& x) { return x.unique().values; }), "BackendError: unique");
  EXPECT_EQ(refused([](const Tensor& x) { return x.unique_consecutive().values; }), "BackendError: unique_consecutive");
  EXPECT_EQ(refused([](const Tensor& x) { return x.histc(); }), "BackendError: histc");
  EXPECT_EQ((ones({2}, {.device = device()}) + 1).to_vector<double>(), (std::vector<double>{2, 2}));
  if (!device().is_cpu()) return;
  EXPECT_EQ(refused([](const Tensor& x) { return Tensor(x * x.data<float>()[0]); }), "BackendError: data");
  static float numbers[2] = {1, 2};
  EXPECT_EQ(refused([](const Tensor& x) { return x * from_blob(numbers, {2}, DType::float32); }),
            "BackendError: from_blob");
}

TEST_P(CapturedErrorsTest, SchedulersInAStepAreRefused) {
  const Tensor w = ones({2}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  optim::LRScheduler schedule(sgd, optim::ExponentialLR({.gamma = 0.5}));
  optim::ReduceLROnPlateau plateau(sgd);
  const auto expect_refused = [&](const std::string& name, const auto& next) {
    CapturedStep step(
        [&](const Tensor& x) {
          sgd.zero_grad();
          sum(w * x).backward();
          sgd.step();
          next();
        },
        {.device = device(), .warm_up = 0});
    const Tensor x = zeros({2});
    const double rate = sgd.lr();
    const std::string text = test::error_of<BackendError>([&] { step(x); });
    EXPECT_EQ(text.find("BackendError: " + name + ": it cannot be part of a captured step"), 0U) << text;
    EXPECT_EQ(sgd.lr(), rate);
  };
  expect_refused("LRScheduler::step", [&] { schedule.step(); });
  EXPECT_EQ(schedule.steps(), 0);
  expect_refused("ReduceLROnPlateau::step", [&] { plateau.step(0.0); });
}

TEST_P(CapturedErrorsTest, DataLoaderInAStepIsRefused) {
  data::DataLoader loader{data::TensorDataset(ones({4, 2})), {.batch_size = 2, .num_workers = 0}};
  CapturedStep step(
      [&](const Tensor& x) {
        for (const auto& [batch] : loader) return x + batch;
        return x;
      },
      {.device = device(), .warm_up = 0});
  EXPECT_NE(test::error_of<BackendError>([&] {
              step(ones({2, 2}));
            }).find("DataLoader: cannot be captured"),
            std::string::npos);
}

/// Runs a step with good indices, then with `bad`, then with good ones; returns the error of the replay, which is that
/// of the direct call.
template <class E, class F> std::string error_of_replay(Device device, const Tensor& bad, F f) {
  CapturedStep step(f, {.device = device, .warm_up = 0});
  const Tensor good = tensor(std::vector<std::int64_t>{1, 2});
  const std::vector<double> want = step(good).to_vector<double>();
  EXPECT_EQ(step.captures(), device.is_cuda() ? 1 : 0);
  const std::string text = test::error_of<E>([&] {
    step(bad);
    synchronize(device);
  });
  EXPECT_EQ(step(good).to_vector<double>(), want) << "the step goes on";
  if (!device.is_cuda()) {
    EXPECT_EQ(text, test::error_of<E>([&] { static_cast<void>(f(bad.to(device))); }));
  }
  return text;
}

TEST_P(CapturedErrorsTest, BadDataInAReplayIsAnErrorWithTheLine) {
  const Tensor bad = tensor(std::vector<std::int64_t>{1, 7}), zero = tensor(std::vector<std::int64_t>{1, 0});
  const Tensor table = ones({3, 3}, {.device = device()});
  unsigned line = 0;
  const auto expect = [&](const std::string& text, const std::string& what) {
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find("captured_errors_test.cpp:" + std::to_string(line)), std::string::npos) << line << text;
  };
  expect(
      error_of_replay<IndexError>(device(), bad,
                                  [&](const Tensor& index) {
                                    line = __LINE__ + 1;
                                    return index_select(table, 0, index);
                                  }),
      device().is_cuda() ? "index_select: an index is out of range" : "index_select: index 7 at [1] is out of range");
  expect(error_of_replay<IndexError>(device(), bad,
                                     [&](const Tensor& target) {
                                       line = __LINE__ + 1;
                                       return nn::cross_entropy(table.narrow(0, 0, 2), target);
                                     }),
         device().is_cuda() ? "cross_entropy: a target is out of range"
                            : "cross_entropy: target 7 at [1] is out of range");
  expect(error_of_replay<IndexError>(device(), bad,
                                     [&](const Tensor& index) {
                                       line = __LINE__ + 1;
                                       return one_hot(index, 3);
                                     }),
         device().is_cuda() ? "one_hot: an index is out of range" : "one_hot: element 7 at [1] is out of range");
  const Tensor ten = full({2}, 10, {.dtype = DType::int64, .device = device()});
  expect(error_of_replay<ValueError>(device(), zero,
                                     [&](const Tensor& divisor) {
                                       line = __LINE__ + 1;
                                       return floor_divide(ten, divisor);
                                     }),
         "an integer was divided by zero");
}

TEST(CapturedStep, BadInputsAreNamed) {
  CapturedStep one([](const Tensor& x) { return x; }, {.device = Device()});
  EXPECT_NE(test::error_of<ValueError>([&] { one(); }).find("takes 1 tensors, got 0"), std::string::npos);
  EXPECT_NE(test::error_of<ValueError>([&] { one(ones({1}), ones({1})); }).find("got 2"), std::string::npos);
  const std::string undefined = test::error_of<ValueError>([&] { one(Tensor()); });
  EXPECT_NE(undefined.find("undefined  (captured_errors_test.cpp:"), std::string::npos) << undefined;
  EXPECT_NE(
      test::error_of<ValueError>([] { CapturedStep([] {}, {.device = Device(), .warm_up = -1}); }).find("warm_up = -1"),
      std::string::npos);
}

}  // namespace
}  // namespace minnow
