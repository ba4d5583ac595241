#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/host_tensor.h"

namespace minnow {
namespace {

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(6, 16));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.3));
  nn::Linear fc2 = child("fc2", nn::Linear(16, 3));

  Tensor forward(const Tensor& x) override { return fc2(dropout(relu(fc1(x)))); }
};

constexpr std::int64_t kBatch = 8;

struct Batch {
  Tensor x, y;
};

/// Batches of a fixed content; every fifth is smaller.
Batch batch(int step) {
  Generator generator(static_cast<std::uint64_t>(100 + step));
  const std::int64_t rows = step % 5 == 4 ? 3 : kBatch;
  return {randn({rows, 6}, {.generator = &generator}), randint(0, 3, {rows}, {.generator = &generator})};
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<double>> parameters;
  double next_random = 0;
};

/// Trains 20 steps with a schedule; `make` turns the step into what runs it.
template <class Make> Trained train(Device device, Make make) {
  manual_seed(7);
  Net net;
  net.to(device);
  optim::Adam adam(net.parameters(), {.lr = 0.05});
  auto step = make([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  });
  Trained result;
  for (int i = 0; i < 20; ++i) {
    const Batch b = batch(i);
    result.losses.push_back(step(b.x.to(device), b.y.to(device)).item());
    adam.set_lr(0.05 / (1 + i));
  }
  for (const Tensor& p : net.parameters()) result.parameters.push_back(p.to_vector<double>());
  result.next_random = rand({}).item();
  return result;
}

class CapturedStepTest : public test::DeviceTest {
 protected:
  static bool records() { return device().is_cuda(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, CapturedStepTest, test::all_devices(), test::device_test_name);

TEST_P(CapturedStepTest, GivesTheNumbersOfTheSameCallsWithoutRecording) {
  const Trained direct = train(device(), [](auto step) { return step; });
  std::int64_t replays = 0;
  int recordings = 0;
  const Trained captured = train(device(), [&](auto step) {
    return [&, captured = std::make_shared<CapturedStep>(step, CapturedStepOptions{.device = device(), .warm_up = 2})](
               const Tensor& x, const Tensor& y) {
      const Tensor loss = (*captured)(x, y);
      replays = captured->replays();
      recordings = captured->recordings();
      return loss;
    };
  });
  EXPECT_EQ(direct.losses, captured.losses);
  EXPECT_EQ(direct.parameters, captured.parameters);
  EXPECT_EQ(direct.next_random, captured.next_random);
  // 16 whole batches and 4 small ones, of which each kind ran directly twice.
  EXPECT_EQ(recordings, records() ? 2 : 0);
  EXPECT_EQ(replays, records() ? 16 : 0);
}

TEST_P(CapturedStepTest, ReadsItsInputsAnewAndTheResultIsRewritten) {
  CapturedStep doubled([](const Tensor& x) { return x * 2; }, {.device = device(), .warm_up = 0});
  const Tensor first = doubled(full({3}, 1.5));
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{3, 3, 3}));
  const Tensor second = doubled(full({3}, 4.0));
  EXPECT_EQ(second.to_vector<double>(), (std::vector<double>{8, 8, 8}));
  EXPECT_EQ(doubled.recordings(), records() ? 1 : 0);
}

TEST_P(CapturedStepTest, SumsByIndexAreReplayed) {
  constexpr std::int64_t kSources = 300, kRows = 7;
  CapturedStep step(
      [&](const Tensor& x, const Tensor& rows) {
        return index_add(zeros({kRows, 2}, {.device = device()}), 0, rows, x);
      },
      {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) {
    manual_seed(static_cast<std::uint64_t>(i));
    const Tensor x = randint(-3, 3, {kSources, 2}).to(DType::float32), rows = randint(0, kRows, {kSources});
    EXPECT_EQ(step(x, rows).to_vector<float>(), index_add(zeros({kRows, 2}), 0, rows, x).to_vector<float>()) << i;
  }
}

TEST_P(CapturedStepTest, TakesNoInputsAndReturnsNothing) {
  const Tensor count = zeros({}, {.device = device()});
  CapturedStep step([&] { raw::copy_to(count + 1, count, {}); }, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(step().defined());
  EXPECT_EQ(count.item(), 5);
}

TEST_P(CapturedStepTest, RunsOnAnotherStreamComeAfterTheLast) {
  const Tensor sums = zeros({3}, {.device = device()});
  CapturedStep add([&](const Tensor& x) { raw::copy_to(sums + x, sums, {}); }, {.device = device(), .warm_up = 0});
  const Tensor one = full({3}, 1.0), ten = full({3}, 10.0);
  const Stream other(device());
  add(one);
  {
    const StreamGuard guard(other);
    add(ten);
  }
  add(one);
  EXPECT_EQ(sums.to_vector<double>(), (std::vector<double>{12, 12, 12}));
}

TEST_P(CapturedStepTest, DrawsOtherNumbersInEachRun) {
  manual_seed(11);
  const Tensor want[3] = {rand({5}), rand({5}), rand({5})};
  manual_seed(11);
  CapturedStep draw([&] { return rand({5}, {.device = device()}); }, {.device = device(), .warm_up = 0});
  for (const Tensor& w : want) EXPECT_EQ(draw().to_vector<float>(), w.to_vector<float>());
  manual_seed(11);
  EXPECT_EQ(draw().to_vector<float>(), want[0].to_vector<float>()) << "a new seed counts in a replay too";
}

TEST_P(CapturedStepTest, MoreShapesThanRecordingsRunDirectly) {
  CapturedStep sums([](const Tensor& x) { return sum(x); }, {.device = device(), .warm_up = 0, .max_recordings = 2});
  for (std::int64_t n = 1; n < 6; ++n) EXPECT_EQ(sums(ones({n})).item(), static_cast<double>(n));
  EXPECT_EQ(sums.recordings(), records() ? 2 : 0);
}

TEST_P(CapturedStepTest, ACallThatWaitsForTheDeviceIsNamedAndTheProgramGoesOn) {
  if (!records()) GTEST_SKIP() << "nothing is recorded on " << device().str();
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
  const std::string text = test::error_of<BackendError>([&] { step(ones({2})); });
  EXPECT_NE(text.find("item"), std::string::npos) << text;
  EXPECT_NE(text.find("captured_step_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_EQ(w.to_vector<double>(), before) << "nothing was done";
  waits = false;
  step(ones({2}));
  EXPECT_NEAR(w.to_vector<double>()[0], 0.8, 1e-5) << "the second step of Adam";
  EXPECT_EQ(step.recordings(), 1);
}

TEST_P(CapturedStepTest, ComputingElsewhereIsRefused) {
  if (!records()) GTEST_SKIP() << "nothing is recorded on " << device().str();
  const Tensor host = ones({4});
  CapturedStep step([&](const Tensor& x) { return x + sum(host + 1).item(); }, {.device = device(), .warm_up = 0});
  const std::string text = test::error_of<DeviceError>([&] { step(ones({2})); });
  EXPECT_NE(text.find("add: computes outside of the step"), std::string::npos) << text;
  EXPECT_EQ((ones({2}, {.device = device()}) + 1).to_vector<double>(), (std::vector<double>{2, 2}));
}

TEST(CapturedStep, BadInputsAreNamed) {
  CapturedStep one([](const Tensor& x) { return x; }, {.device = Device()});
  EXPECT_NE(test::error_of<ValueError>([&] { one(); }).find("takes 1 tensors, it was given 0"), std::string::npos);
  EXPECT_NE(test::error_of<ValueError>([&] { one(ones({1}), ones({1})); }).find("it was given 2"), std::string::npos);
  const std::string undefined = test::error_of<ValueError>([&] { one(Tensor()); });
  EXPECT_NE(undefined.find("undefined  (captured_step_test.cpp:"), std::string::npos) << undefined;
  EXPECT_NE(
      test::error_of<ValueError>([] { CapturedStep([] {}, {.device = Device(), .warm_up = -1}); }).find("not negative"),
      std::string::npos);
}

}  // namespace
}  // namespace minnow
