#include <minnow/training/run.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <minnow/data/loader.h>
#include <minnow/data/progress.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/random/sample.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/runtime/warning.h>

#include "support/thrown.h"
#include "training/memory_folder.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace minnow::test {
namespace {

using training::RunOptions;

/// Numbers whose sum is to be found.
struct Sums {
  std::int64_t size() const { return 24; }
  std::pair<Tensor, Tensor> get(std::int64_t i) const {
    const Tensor x = (arange(0, 3) + i).to(DType::float32) / 10;
    return {x, x.sum(0, true)};
  }
};

struct SumNet : nn::Module {
  nn::Linear first = child("first", nn::Linear(3, 4));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.3));
  nn::Linear last = child("last", nn::Linear(4, 1));
  Tensor forward(const Tensor& x) override { return last(dropout(relu(first(x)))); }
};

struct Result {
  std::vector<float> weights;
  std::string history;
  std::int64_t epochs = 0, steps = 0;
};

/// Trains in a folder.  at_step: called after each step, and with a negative number in each validation.
Result train(const std::string& folder, const RunOptions& options = {.epochs = 3, .watch = "valid/loss"},
             const std::function<void(std::int64_t)>& at_step = {}) {
  manual_seed(7);
  SumNet net;
  optim::Adam adam(net.parameters(), {.lr = 0.01});
  data::DataLoader loader(Sums(), {.batch_size = 4, .shuffle = true, .seed = 3}), valid(Sums(), {.batch_size = 12});
  training::Run run(folder, options);
  optim::LRScheduler schedule(adam, optim::ExponentialLR({.gamma = 0.5}));
  run.add("model", net).add("adam", adam).add("train", loader).add("schedule", schedule);
  Result result;
  for (auto epoch : run.epochs()) {
    ++result.epochs;
    epoch.log("lr", adam.lr());
    net.train();
    for (auto& [x, y] : epoch.batches(loader)) {
      const Tensor loss = nn::mse_loss(net(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      epoch.log("train/loss", loss.detach());
      if (at_step) at_step(run.step());
    }
    schedule.step();
    net.eval();
    double sum = rand({1}).item<double>();
    for (auto& [x, y] : epoch.batches_without_steps(valid)) sum += nn::mse_loss(net(x), y).item<double>();
    if (at_step) at_step(-1 - epoch.number());
    epoch.log("valid/loss", sum / 2);
  }
  result.steps = run.step();
  for (const Tensor& p : net.parameters())
    for (const float v : p.to_vector<float>()) result.weights.push_back(v);
  result.history = read_bytes(folder + "/history.csv");
  return result;
}

void expect_equal(const Result& a, const Result& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.history, b.history);
  EXPECT_EQ(a.steps, b.steps);
}

TEST(TrainingRun, LogsSavesAndKnowsTheBest) {
  const TemporaryFolder folder;
  const Result all = train(folder / "a");
  EXPECT_EQ(all.epochs, 3);
  EXPECT_EQ(all.steps, 18);
  training::History history;
  for (const auto& e : training::History::read(folder / "a/history.csv"))
    history.log(e.name, e.value, {e.step, e.epoch});
  EXPECT_EQ(history.of("lr")[1].step, 6);
  const auto losses = history.of("train/loss"), valid = history.of("valid/loss");
  ASSERT_EQ(losses.size(), 18);
  EXPECT_EQ(losses[0].step, 1);
  EXPECT_EQ(losses[17].step, 18);
  EXPECT_EQ(losses[6].epoch, 1);
  ASSERT_EQ(valid.size(), 3);
  EXPECT_EQ(valid[1].step, 12);
  // Started again it has nothing to do.
  const Result again = train(folder / "a");
  EXPECT_EQ(again.epochs, 0);
  expect_equal(again, all);
}

TEST(TrainingRun, GoesOnExactlyAfterAnInterruptionAtAnyStep) {
  const TemporaryFolder folder;
  const Result all = train(folder / "all");
  for (const char* const watch : {"valid/loss", "train/loss"})
    for (const std::int64_t at : {1, 4, 6, 11, 12, 18, -1, -2, -3}) {
      const std::string own = folder / (watch[0] + std::to_string(at));
      const Result part = train(own, {.epochs = 3, .watch = watch}, [at](std::int64_t step) {
        if (step == at) std::raise(SIGINT);
      });
      EXPECT_LE(part.history.size(), all.history.size()) << at;
      EXPECT_EQ(part.steps, at > 0 ? at : -at * 6);
      expect_equal(train(own, {.epochs = 3, .watch = watch}), all);
    }
}

#ifndef _WIN32
TEST(TrainingRun, GoesOnExactlyAfterAKill) {
  const TemporaryFolder folder;
  const Result all = train(folder / "all");
  for (const std::int64_t at : {3, 6, 10, -2}) {
    const std::string own = folder / ("at" + std::to_string(at));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      train(own, {.epochs = 3, .watch = "valid/loss"}, [at](std::int64_t step) {
        if (step != at) return;
        usleep(100'000);  // the checkpoint of the epoch before is written
        std::raise(SIGKILL);
      });
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    expect_equal(train(own), all);
  }
}
#endif

TEST(TrainingRun, NeedsNoFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  Tensor weight = zeros({2});
  StateDict state{{"weight", weight}};
  training::Run run("", {.epochs = 9, .watch = "loss", .patience = 2});
  run.add("model", state);
  std::int64_t epochs = 0;
  for (auto epoch : run.epochs()) {
    epoch.log("loss", epoch.number() == 1 ? 0 : 1);
    ++epochs;
  }
  EXPECT_EQ(epochs, 4);
  EXPECT_EQ(run.best_value(), 0);
  EXPECT_EQ(run.history().of("loss").size(), 4);
  EXPECT_THROW((void)run.best("model"), ValueError);
  EXPECT_EQ(folder.files(), 0);
  std::filesystem::current_path(before);

  training::Run left("", {.epochs = 2});
  const auto leave = [&] {
    for (auto epoch : left.epochs()) return epoch.number();
    return std::int64_t{-1};
  };
  EXPECT_EQ(leave(), 0);
  EXPECT_FALSE(has(error_of<ValueError>(leave), "''"));

  training::Run other("", {.epochs = 9});
  data::DataLoader loader(Sums(), {.batch_size = 4});
  other.add("train", loader);
  for (auto epoch : other.epochs())
    for (auto& batch : epoch.batches(loader)) {
      (void)batch;
      if (other.step() == 8) std::raise(SIGINT);
    }
  EXPECT_EQ(other.step(), 8);
}

TEST(TrainingRun, EndsByPatienceAndGivesTheBestWeights) {
  const TemporaryFolder folder;
  const std::vector<double> values{5, 3, 4, 3, 2};
  Tensor weight = zeros({2});
  StateDict state{{"weight", weight}};
  training::Run run(folder / "run", {.epochs = 5, .watch = "loss", .patience = 2});
  run.add("model", state);
  std::int64_t epochs = 0;
  for (auto epoch : run.epochs()) {
    weight.add_(1);
    epoch.log("loss", values[static_cast<std::size_t>(epoch.number())]);
    ++epochs;
  }
  EXPECT_EQ(epochs, 4);
  EXPECT_EQ(run.best_value(), 3);
  EXPECT_EQ(run.best("model").at("weight").to_vector<int>(), (std::vector<int>{2, 2}));
  EXPECT_THROW((void)run.best("other"), ValueError);
}

TEST(TrainingRun, WithoutANumberToWatchTheLastIsTheBest) {
  const TemporaryFolder folder;
  Tensor weight = zeros({1});
  training::Run run(folder / "run", {.epochs = 3});
  StateDict state{{"weight", weight}};
  run.add("model", state);
  EXPECT_THROW((void)run.best("model"), ValueError);
  for (auto epoch : run.epochs()) weight.fill_(epoch.number());
  EXPECT_EQ(run.best("model").at("weight").item<int>(), 2);
}

/// 4 of 6 batches in each epoch.
std::vector<std::int64_t> broken_off(const std::string& folder, int stop_at) {
  data::DataLoader loader(Sums(), {.batch_size = 4, .shuffle = true, .seed = 3});
  training::Run run(folder, {.epochs = 3});
  StateDict order{{"sum", zeros({1}, DType::float64)}};
  run.add("train", loader).add("order", order);
  std::int64_t steps = 0;
  for (auto epoch : run.epochs()) {
    for (auto& [x, y] : epoch.batches(loader)) {
      order.at("sum").mul_(3).add_(x(0, 0).item<double>());
      if (++steps == stop_at) std::raise(SIGINT);
      if (run.step() % 4 == 0) break;
    }
  }
  return {run.step(), static_cast<std::int64_t>(order.at("sum").item<double>() * 1000)};
}

TEST(TrainingRun, GoesOnExactlyWhereLoopsAreLeftEarly) {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> all = broken_off(folder / "all", 0);
  EXPECT_EQ(all[0], 12);
  for (const int at : {2, 4, 6, 8}) {
    const std::string own = folder / std::to_string(at);
    broken_off(own, at);
    EXPECT_EQ(broken_off(own, 0), all) << at;
  }
}

TEST(TrainingRun, RefusesLoadersThatCouldNotGoOn) {
  const TemporaryFolder folder;
  data::DataLoader loader(Sums(), {.batch_size = 4}), other(Sums(), {.batch_size = 4});
  training::Run run(folder / "run", {.epochs = 1});
  run.add("train", loader).add("other", other);
  data::DataLoader stranger(Sums(), {.batch_size = 4});
  for (auto epoch : run.epochs()) {
    const auto loop = [&](auto& outer, auto& inner) {
      for (auto& a : epoch.batches(outer))
        for (auto& b : epoch.batches(inner)) (void)a, (void)b;
    };
    EXPECT_THROW(loop(stranger, other), ValueError);
    EXPECT_THROW(loop(loader, other), ValueError);
  }
}

TEST(TrainingRun, IsOneInItsFolderAndComparesByOneNumber) {
  const TemporaryFolder folder;
  Tensor weight = zeros({1});
  StateDict state{{"weight", weight}};
  const auto start = [&](const RunOptions& options) {
    training::Run run(folder / "run", options);
    run.add("model", state);
    EXPECT_THROW(training::Run(folder / "run", options), IoError);
    for (auto epoch : run.epochs()) {
      weight.fill_(epoch.number());
      epoch.log("loss", static_cast<double>(epoch.number())), epoch.log("other", 1);
    }
  };
  start({.epochs = 2, .watch = "loss"});
  EXPECT_THROW(start({.epochs = 3, .watch = "other"}), ValueError);
  EXPECT_THROW(start({.epochs = 3, .watch = "loss", .best = training::Best::max}), ValueError);
  start({.epochs = 4, .watch = "loss"});
  EXPECT_EQ(weight.item<int>(), 3);
  // Of a run that is over, in a program that only looks.
  training::Run run(folder / "run", {.epochs = 4, .watch = "loss"});
  EXPECT_EQ(run.best("model").at("weight").item<int>(), 0);
}

TEST(TrainingRun, ShowsTheProgressOfItsBatches) {
  const TemporaryFolder folder;
  data::DataLoader loader(Sums(), {.batch_size = 4}), valid(Sums(), {.batch_size = 12});
  const auto start = [&](int stop_at) {
    std::ostringstream out;
    data::DataLoader train(Sums(), {.batch_size = 4});
    training::Run run(folder / "run", {.epochs = 2});
    run.add("train", train);
    for (auto epoch : run.epochs()) {
      auto bar = progress(epoch.batches(train), {.out = &out, .terminal = false, .interval = 0});
      for (auto& [x, y] : bar) {
        bar.show("loss", sum(x));
        if (run.step() == stop_at) std::raise(SIGINT);
      }
      for (auto& [x, y] : progress(epoch.batches_without_steps(valid), {.label = "valid", .out = &out}))
        EXPECT_EQ(x.size(0), 12);
    }
    return out.str();
  };
  const std::string first = start(9), second = start(0);
  expect_contains(first, "epoch 1  1/6  loss ");
  expect_contains(first, "epoch 1  6/6  loss ");
  expect_contains(first, "valid  2/2");
  expect_contains(first, "epoch 2  3/6  loss ");
  EXPECT_FALSE(has(first, "epoch 2  4/6"));
  EXPECT_EQ(first.rfind("valid"), first.find("valid"));  // nothing of the loop that does not run
  EXPECT_FALSE(has(second, "epoch 2  3/6"));
  expect_contains(second, "epoch 2  4/6  loss ");
  expect_contains(second, "epoch 2  6/6  loss ");
}

TEST(TrainingRun, WritesValuesOnADeviceAsSoonAsTheyAreThere) {
  const TemporaryFolder folder;
  data::DataLoader loader(Sums(), {.batch_size = 4});
  training::Run run(folder / "run", {.epochs = 1});
  run.add("train", loader);
  const auto written = [&] {
    std::vector<std::string> names;
    for (const auto& e : training::History::read(folder / "run/history.csv")) names.push_back(e.name);
    return names;
  };
  for (auto epoch : run.epochs()) {
    for (auto& [x, y] : epoch.batches(loader)) {
      EXPECT_EQ(x.size(0), y.size(0));
      if (run.step() == 2) { EXPECT_EQ(written(), (std::vector<std::string>{"loss", "lr"})); }
      if (run.step() == 6) { EXPECT_EQ(run.history().of("loss").back().value, 5); }
      epoch.log("loss", full({}, static_cast<double>(run.step()), Device("sim:0")));
      epoch.log("lr", 0.5);
      synchronize("sim:0");
    }
  }
  EXPECT_EQ(run.history().of("loss")[3].value, 4);
}

TEST(TrainingRun, RefusesToRepeatAPartOfAnEpoch) {
  const TemporaryFolder folder;
  data::DataLoader loader(Sums(), {.batch_size = 4, .shuffle = true});
  Tensor sums = zeros({3});
  const auto train = [&](training::Run& run, std::int64_t leave_at) {
    for (auto epoch : run.epochs()) {
      for (auto& [x, y] : epoch.batches(loader)) {
        sums += x(0) + y(0) * 0;
        if (run.step() == leave_at) throw std::runtime_error("a caught one");
      }
      if (run.step() == -leave_at) break;
    }
  };
  const auto start = [&](const std::string& name, std::int64_t leave_at) {
    training::Run run(folder / name, {.epochs = 3});
    run.add("train", loader).add("sums", sums);
    if (leave_at > 0) {
      EXPECT_THROW(train(run, leave_at), std::runtime_error);
    } else {
      train(run, leave_at);
    }
    if (leave_at != 0) expect_contains(error_of<ValueError>([&] { train(run, 0); }), "make another Run");
  };
  start("all", 0);
  const std::vector<float> all = sums.to_vector<float>();
  for (const std::int64_t at : {8, -12}) {
    loader.set_epoch(0);
    sums.zero_();
    start(std::to_string(at), at);
    start(std::to_string(at), 0);  // goes on from the end of the epoch before
    EXPECT_EQ(sums.to_vector<float>(), all) << at;
  }
}

#ifndef _WIN32
TEST(TrainingRun, SharesSignalsWithOtherGuards) {
  const TemporaryFolder folder;
  struct sigaction before {
  }, after{};
  sigaction(SIGINT, nullptr, &before);
  {
    const InterruptGuard outer;
    std::int64_t epochs = 0;
    training::Run run(folder / "run", {.epochs = 5}), other(folder / "other", {.epochs = 2});
    for (auto epoch : run.epochs()) {
      for (auto inner : other.epochs()) (void)inner;
      if (++epochs == 2) std::raise(SIGINT);
      EXPECT_EQ(interrupted(), epoch.number() == 1 ? SIGINT : 0);
    }
    EXPECT_EQ(epochs, 2);
    { const InterruptGuard nested; }
    EXPECT_EQ(interrupted(), SIGINT);  // still that of the outer one
  }
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  const InterruptGuard next;
  EXPECT_EQ(interrupted(), 0);
}
#endif

TEST(TrainingRun, SaysThatPatienceHasEndedIt) {
  const TemporaryFolder folder;
  std::string said;
  const auto start = [&](std::int64_t epochs) {
    training::Run run(folder / "run", {.epochs = epochs, .watch = "loss", .patience = 2});
    std::int64_t count = 0;
    for (auto epoch : run.epochs()) epoch.log("loss", 1), ++count;
    return count;
  };
  const WarningHandler before = set_warning_handler([&](const std::string& text) { said += text; });
  EXPECT_EQ(start(10), 3);
  EXPECT_EQ(said, "");
  EXPECT_EQ(start(20), 0);
  set_warning_handler(before);
  expect_contains(said, "has ended by its patience: 2 epochs without a better 'loss' than 1");
  expect_contains(said, "run_test.cpp:");
}

TEST(TrainingRun, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THROW(training::Run(folder / "a", {.epochs = -1}), ValueError);
  EXPECT_THROW(training::Run(folder / "a", {.patience = 2}), ValueError);
  training::Run run(folder / "b", {.epochs = 2, .watch = "loss"});
  const auto loop = [&] {
    for (auto epoch : run.epochs()) {
      EXPECT_THROW(epoch.log("two", zeros({2})), ShapeError);
      epoch.log("lose", 1);
    }
  };
  EXPECT_THROW(loop(), ValueError);
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  training::Run other(folder / "c", {.epochs = 1});
  EXPECT_THROW((void)other.best("model"), ValueError);
}

}  // namespace
}  // namespace minnow::test
