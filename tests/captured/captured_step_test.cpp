#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include "support/deterministic.h"
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(6, 16));
  nn::LayerNorm norm = child("norm", nn::LayerNorm(16));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.3));
  nn::Linear fc2 = child("fc2", nn::Linear(16, 3));

  Tensor forward(const Tensor& x) override { return fc2(dropout(relu(norm(fc1(x))))); }
};

/// Reshapes the inputs to images of one channel.
struct Images : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(1, 4, 2, {.padding = 1}));
  nn::Conv2d grouped = child("grouped", nn::Conv2d(4, 4, 2, {.groups = 2}));
  nn::Linear fc = child("fc", nn::Linear(4, 3));

  Tensor forward(const Tensor& x) override {
    const Tensor shaped = x.reshape({-1, 1, 2, 3});
    return fc(max_pool2d(gelu(grouped(relu(conv(shaped)))), 2).flatten(1));
  }
};

constexpr std::int64_t kBatch = 8;

struct Batch {
  Tensor x, y;
};

/// Batches of a fixed content; every fifth is smaller.
Batch batch(int step) {
  RandomGenerator generator(static_cast<std::uint64_t>(100 + step));
  const std::int64_t rows = step % 5 == 4 ? 3 : kBatch;
  return {randn({rows, 6}, {.generator = &generator}), randint(0, 3, {rows}, {.generator = &generator})};
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<double>> parameters;
  double next_random = 0;
};

/// Trains 20 steps with a learning rate scheduler; `make` turns the step into what runs it.
template <class Model, class Optimizer, class Make> Trained train(Device device, Make make) {
  manual_seed(7);
  Model net;
  net.to(device);
  Optimizer optimizer(net.parameters());
  auto step = make([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::cross_entropy(net(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss;
  });
  Trained result;
  for (int i = 0; i < 20; ++i) {
    const Batch b = batch(i);
    result.losses.push_back(step(b.x.to(device), b.y.to(device)).item());
    optimizer.set_lr(0.05 / (1 + i));
  }
  for (const Tensor& p : net.parameters()) result.parameters.push_back(p.to_vector<double>());
  result.next_random = rand({}).item();
  return result;
}

class CapturedStepTest : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CapturedStepTest, test::all_devices(), test::device_test_name);

/// Training with a captured step gives the bits of the same calls without capture.
template <class Model, class Optimizer> void expect_equal_bits(Device device) {
  const Trained direct = train<Model, Optimizer>(device, [](auto step) { return step; });
  std::int64_t replays = 0;
  int recordings = 0;
  const Trained captured = train<Model, Optimizer>(device, [&](auto step) {
    return [&, captured = std::make_shared<CapturedStep>(step, CapturedStepOptions{.device = device, .warm_up = 2})](
               const Tensor& x, const Tensor& y) {
      const Tensor loss = (*captured)(x, y);
      replays = captured->replays();
      recordings = captured->captures();
      return loss;
    };
  });
  EXPECT_EQ(direct.losses, captured.losses);
  EXPECT_EQ(direct.parameters, captured.parameters);
  EXPECT_EQ(direct.next_random, captured.next_random);
  // 16 full and 4 smaller batches; the first two of each shape ran directly.
  EXPECT_EQ(recordings, device.is_cuda() ? 2 : 0);
  EXPECT_EQ(replays, device.is_cuda() ? 16 : 0);
}

struct Momentum : optim::SGD {
  explicit Momentum(const std::vector<Tensor>& params) : RuleOptimizer(params, {.lr = 0.05, .momentum = 0.9}) {}
};

TEST_P(CapturedStepTest, SameBitsAsWithoutCapture) { expect_equal_bits<Net, optim::Adam>(device()); }

TEST_P(CapturedStepTest, Convolutions) {
  const test::Deterministic scope;
  expect_equal_bits<Images, Momentum>(device());
}

/// Batches of two sizes in turn: each run's results are its own, also in replays.
TEST_P(CapturedStepTest, GivesAllTensorsThatTheFunctionReturns) {
  Net net;
  net.to(device());
  net.eval();
  CapturedStep step(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor logits = net(x);
        return std::tuple(nn::cross_entropy(logits, y), logits, argmax(logits, 1));
      },
      {.device = device(), .warm_up = 1});
  for (int i = 0; i < 15; ++i) {
    const Batch b = batch(i);
    const auto [loss, logits, best] = step.results<3>(b.x, b.y);
    const Tensor want = net(b.x.to(device()));
    EXPECT_EQ(logits.to_vector<float>(), want.to_vector<float>()) << i;
    EXPECT_EQ(best.to_vector<std::int64_t>(), argmax(want, 1).to_vector<std::int64_t>()) << i;
    EXPECT_FALSE(logits.requires_grad());
    EXPECT_EQ(loss.item(), step(b.x, b.y).item()) << i;
  }
  const Batch b = batch(0);
  test::expect_contains(test::error_of<ValueError>([&] { (void)step.results<2>(b.x, b.y); }),
                        "returns 3 tensors, not 2");
  CapturedStep pair([](const Tensor& x) { return std::pair(x * 2, x * 3); }, {.device = device()});
  EXPECT_EQ(pair.results<2>(ones({}))[1].item(), 3);
  CapturedStep list([] { return std::vector<Tensor>{}; }, {.device = device()});
  EXPECT_TRUE(list.results<0>().empty());
  EXPECT_FALSE(list().defined());
}

/// Each test is a process of its own in ctest, where cuBLASLt and cuDNN are then used here for the first time.
TEST_P(CapturedStepTest, MayBeTheFirstUseOfLibraries) {
  const test::Deterministic scope;
  Images net;
  net.to(device());
  const auto run = [&](const Tensor& x) {
    for (const Tensor& p : net.parameters()) p.set_grad({});
    Tensor all = mean(net(x) * net(x));
    all.backward();
    for (const Tensor& p : net.parameters()) all = all + norm(p.grad());
    return all.detach();
  };
  const Tensor x = batch(0).x.to(device());
  CapturedStep step(run, {.device = device(), .warm_up = 0});
  const double captured = step(x).item();  // first
  EXPECT_EQ(captured, run(x).item());
}

TEST_P(CapturedStepTest, EachRunReadsInputs) {
  CapturedStep doubled([](const Tensor& x) { return x * 2; }, {.device = device(), .warm_up = 0});
  const Tensor first = doubled(full({3}, 1.5));
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{3, 3, 3}));
  const Tensor second = doubled(full({3}, 4.0));
  EXPECT_EQ(second.to_vector<double>(), (std::vector<double>{8, 8, 8}));
  EXPECT_EQ(doubled.captures(), device().is_cuda() ? 1 : 0);
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

TEST_P(CapturedStepTest, SortsScattersAndSamplesAreReplayed) {
  const auto compute = [](const Tensor& x, const Tensor& at) {
    const Tensor sorted = x.sort().values + x.topk(2).values.sum() + x.median(1, true).values;
    const Tensor written = scatter(sorted, 1, at, 0.5).scatter_reduce(1, at, x, Scatter::amax);
    const Tensor noise = zeros_like(x).exponential_(2) + x.multinomial(3, true).sum() + x.multinomial(2).sum();
    return written + noise + written.cumprod(1) + bucketize(x, sorted.select(0, 0).contiguous());
  };
  CapturedStep step(compute, {.device = device(), .warm_up = 0});
  for (const bool captured : {false, true}) {
    static std::vector<std::vector<double>> want;
    manual_seed(9);
    for (std::size_t i = 0; i < 3; ++i) {
      RandomGenerator generator(i);
      const Tensor x = rand({3, 4}, {.generator = &generator}) + 0.1;
      const Tensor at = randint(0, 4, {3, 4}, {.generator = &generator});
      const Tensor y = captured ? step(x, at) : compute(x.to(device()), at.to(device()));
      if (captured) {
        EXPECT_EQ(y.to_vector<double>(), want[i]) << i;
      } else want.push_back(y.to_vector<double>());
    }
    if (captured) want.clear();
  }
  EXPECT_EQ(step.captures(), device().is_cuda() ? 1 : 0);
}

TEST_P(CapturedStepTest, TakesNoInputsAndReturnsNothing) {
  const Tensor count = zeros({}, {.device = device()});
  CapturedStep step([&] { raw::copy_to(count + 1, count, {}); }, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(step().defined());
  EXPECT_EQ(count.item(), 5);
}

TEST_P(CapturedStepTest, RunsOnDifferentStreamsAreOrdered) {
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

TEST_P(CapturedStepTest, RandomNumbersDifferInEachRun) {
  manual_seed(11);
  const Tensor want[3] = {rand({5}), rand({5}), rand({5})};
  manual_seed(11);
  CapturedStep draw([&] { return rand({5}, {.device = device()}); }, {.device = device(), .warm_up = 0});
  for (const Tensor& w : want) EXPECT_EQ(draw().to_vector<float>(), w.to_vector<float>());
  manual_seed(11);
  EXPECT_EQ(draw().to_vector<float>(), want[0].to_vector<float>()) << "a new seed counts in a replay too";
}

TEST_P(CapturedStepTest, GradientsAccumulateWithoutZeroGrad) {
  const auto sums = [](auto make) {
    const Tensor w = full({3}, 0.5, {.device = device()}).requires_grad_();
    auto step = make([&](const Tensor& x) {
      sum(w * x).backward();
      sum(exp(w) * x).backward();
    });
    for (int i = 0; i < 6; ++i) step(full({3}, 1.0 + i));
    return w.grad().template to_vector<double>();
  };
  const auto direct = sums([](auto step) { return [step](const Tensor& x) { step(x.to(device())); }; });
  const auto captured =
      sums([](auto step) { return CapturedStep(step, CapturedStepOptions{.device = device(), .warm_up = 1}); });
  EXPECT_EQ(direct, captured);
}

TEST_P(CapturedStepTest, MemoryIsNotUsedByOthers) {
  CapturedStep step([](const Tensor& x) { return sum(exp(x * 2 + 1) - x); }, {.device = device(), .warm_up = 0});
  const Tensor x = full({1000}, 0.25);
  const double want = step(x).item();
  for (int i = 0; i < 3; ++i) {
    std::vector<Tensor> others;
    for (int k = 0; k < 20; ++k) others.push_back(full({1000}, -7.0, {.device = device()}));
    EXPECT_EQ(step(x).item(), want);
    for (const Tensor& other : others) EXPECT_EQ(other.to_vector<double>(), std::vector<double>(1000, -7.0));
  }
}

TEST_P(CapturedStepTest, ResultOutlivesTheStepAndAllMemoryIsFreed) {
  const std::int64_t before = memory_stats(device()).blocks;
  for (int i = 0; i < 3; ++i) {
    Tensor result;
    {
      CapturedStep step([](const Tensor& x) { return exp(x + 1) * 2; }, {.device = device(), .warm_up = 0});
      result = step(zeros({100}));
      result = step(full({100}, -1.0));
    }
    const Tensor other = full({100}, 5.0, {.device = device()});
    EXPECT_EQ(result.to_vector<double>(), std::vector<double>(100, 2.0));
  }
  EXPECT_EQ(memory_stats(device()).blocks, before);
}

TEST_P(CapturedStepTest, TensorsReadFromOutsideAreKeptAliveAndReadInEachRun) {
  Tensor outside = full({3}, 1.0, {.device = device()});
  CapturedStep step([&](const Tensor& x) { return x + outside; }, {.device = device(), .warm_up = 0});
  EXPECT_EQ(step(zeros({3})).to_vector<double>(), std::vector<double>(3, 1.0));
  raw::fill_(outside, 4.0);
  EXPECT_EQ(step(zeros({3})).to_vector<double>(), std::vector<double>(3, 4.0));
  if (!device().is_cuda()) return;  // the function reads the variable
  outside = Tensor();
  const Tensor other = full({3}, 9.0, {.device = device()});
  EXPECT_EQ(step(zeros({3})).to_vector<double>(), std::vector<double>(3, 4.0));
}

TEST_P(CapturedStepTest, MemoryFromOutsideIsWrittenInPlaceWhileRecording) {
  const auto run = [&](bool captured) {
    const Tensor w = full({3}, 2.0, {.device = device()}).requires_grad_();
    const Tensor state = full({3}, 1.0, {.device = device()});
    const auto once = [&](const Tensor& x) {
      const Tensor before = state + x;  // reads the memory, but no tensor shares it
      state.add_(w * x);
      state.add_(w);
      sum(state * before).backward();
    };
    CapturedStep step(once, {.device = device(), .warm_up = 0});
    const Tensor x = full({3}, 4.0, {.device = device()});
    if (captured) step(x);
    else once(x);
    return std::pair(state.to_vector<double>(), w.grad().to_vector<double>());
  };
  EXPECT_EQ(run(false), run(true));
}

TEST_P(CapturedStepTest, MemoryFromOutsideIsNotSharedOnceTheStepIsGone) {
  const Tensor state = full({3}, 1.0, {.device = device()});
  const auto references = [&] { return state.storage().use_count() - state.storage()->graph_references(); };
  const auto before = references();
  {
    CapturedStep step([&](const Tensor& x) { return state + x; }, {.device = device(), .warm_up = 0});
    step(ones({3}));
    EXPECT_EQ(references(), before) << "the step's reference is no tensor";
  }
  EXPECT_EQ(references(), before);
  EXPECT_EQ(state.storage()->graph_references(), 0);
}

/// A replay writes to memory whose values a graph outside of the step has saved.
TEST_P(CapturedStepTest, BackwardRefusesSavedValuesThatAReplayOverwrote) {
  if (!device().is_cuda()) GTEST_SKIP() << "each run makes other results";
  const Tensor w = full({3}, 2.0, {.device = device()}).requires_grad_();
  const Tensor v = full({3}, 5.0, {.device = device()}).requires_grad_();
  const Tensor state = zeros({3}, {.device = device()}), mask = full({3}, 1.0, {.device = device()});
  CapturedStep step(
      [&](const Tensor& x) {
        w.set_grad({});
        sum(w * x).backward();
        raw::copy_to(x, state, {});
        return x * mask;
      },
      {.device = device(), .warm_up = 0});
  const Tensor one = full({3}, 1.0), two = full({3}, 2.0);
  const auto refused = [&](const char* what, const auto& saved) {
    const Tensor at_once = sum(v * saved(step(one)));
    at_once.backward();
    const Tensor too_late = sum(v * saved(step(one)));
    step(two);
    const std::string text = test::error_of<AutogradError>([&] { too_late.backward(); });
    EXPECT_NE(text.find("overwritten"), std::string::npos) << what << text;
  };
  refused("the result", [](const Tensor& result) { return result; });
  refused("what the step writes", [&](const Tensor&) { return state; });
  refused("a gradient", [&](const Tensor&) { return w.grad(); });
  EXPECT_EQ(v.grad().to_vector<double>(), std::vector<double>(3, 3.0));
  const Tensor loss = sum(v * mask);
  step(two);
  EXPECT_NO_THROW(loss.backward()) << "the step only reads it";
}

TEST_P(CapturedStepTest, ShapesBeyondTheLimitRunDirectly) {
  CapturedStep sums([](const Tensor& x) { return sum(x); }, {.device = device(), .warm_up = 0, .max_captures = 2});
  for (std::int64_t n = 1; n < 6; ++n) EXPECT_EQ(sums(ones({n})).item(), static_cast<double>(n));
  EXPECT_EQ(sums.captures(), device().is_cuda() ? 2 : 0);
}

}  // namespace
}  // namespace minnow
