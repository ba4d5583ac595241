#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <unistd.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/process.h>
#include <minnow/minnow.h>
#include "devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using dist::BufferSync;
using dist::DataParallel;
using test::error_of;
using test::expect_contains;

struct Net : nn::Module {
  nn::Linear first = child("first", nn::Linear(6, 16));
  nn::BatchNorm1d norm = child("norm", nn::BatchNorm1d(16));
  nn::Linear side = child("side", nn::Linear(16, 3));
  nn::Linear last = child("last", nn::Linear(16, 3));
  bool with_side = true;

  Tensor forward(const Tensor& x) override {
    const Tensor h = tanh(first(x));
    return with_side ? last(h) + side(h) : last(h);
  }
};

/// Rows of a batch: those of rank r are the r-th part.
Tensor batch(std::int64_t rows, int seed) {
  return sin(arange(rows * 6, {.dtype = float32}).reshape({rows, 6}) * (1.3 + 0.1 * seed));
}
Tensor part_of(const Tensor& all) {
  const std::int64_t n = all.size(0) / dist::size();
  return all.narrow(0, dist::rank() * n, n);
}
Tensor loss_of(Net& net, const Tensor& x) { return mean(square(net(x) - 1)); }

void expect_close(const Tensor& a, const Tensor& b, const std::string& name) {
  EXPECT_TRUE(allclose(a, b, 1e-5, 1e-6)) << name << "\n" << a << "\n" << b;
}
/// All ranks have the same bits.
void expect_equal_on_all_ranks(const Tensor& x, const std::string& name) {
  const Tensor all = dist::all_gather(x);
  for (int r = 1; r < dist::size(); ++r) EXPECT_TRUE(equal(all[0], all[r])) << name << " of rank " << r;
}

class DataParallelOnDevice : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, DataParallelOnDevice, test::all_devices(), test::device_test_name);

TEST_P(DataParallelOnDevice, ManyRanksTrainAsOneDoes) {
  for (const double bucket_mb : {25.0, 1e-4, 1e-9}) {  // a quarter of all in each, less, one parameter
    manual_seed(7);
    Net alone;
    manual_seed(static_cast<std::uint64_t>(8 + dist::rank()));
    Net net;
    net.to(device());
    DataParallel parallel(net, {.bucket_mb = bucket_mb});
    const dist::Report before = dist::report();
    alone.load_state_dict(net.state_dict());
    optim::Adam adam(net.parameters(), {.lr = 0.01}), adam_alone(alone.parameters(), {.lr = 0.01});
    for (int step = 0; step < 20; ++step) {
      const Tensor x = batch(12, step);
      const Tensor loss = loss_of(net, part_of(x).to(device()));
      adam.zero_grad();
      loss.backward();
      adam.step();
      const Tensor loss_alone = loss_of(alone, x);
      adam_alone.zero_grad();
      loss_alone.backward();
      adam_alone.step();
    }
    const StateDict want = alone.state_dict();
    for (const auto& [name, tensor] : net.state_dict()) {
      if (is_floating_point(tensor.dtype())) { EXPECT_TRUE(allclose(tensor.cpu(), want.at(name), 1e-4, 1e-5)) << name; }
      expect_equal_on_all_ranks(tensor, name);
    }
    const dist::Report report = parallel.report();
    EXPECT_EQ(report.backwards, 20);
    EXPECT_EQ(report.bytes, 20 * 4 * net.num_parameters());
    EXPECT_LE(report.waited, report.seconds);
    EXPECT_EQ(report.str().substr(report.str().rfind('(')), "(20 backwards)");
    EXPECT_EQ(dist::report().backwards - before.backwards, 20);
    EXPECT_EQ(dist::report().bytes - before.bytes, report.bytes);
  }
}

/// A run with a schedule, clipped gradients, an average of the weights and checkpoints.
struct Training {
  Net net;
  DataParallel parallel{net};
  optim::AdamW adamw{net.parameters(), {.lr = 0.02}};
  optim::StepLR schedule{adamw, 2, 0.5};
  optim::AveragedModel<Net> ema{net, {.decay = 0.9}};
  int step = 0;

  void train_until(int end) {
    for (; step < end; ++step) {
      const Tensor loss = loss_of(net, part_of(batch(12, step)));
      adamw.zero_grad();
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 0.1);
      adamw.step();
      schedule.step();
      ema.update_parameters(net);
    }
  }
  void open(Checkpoint& checkpoint) {
    checkpoint.add("net", net).add("adamw", adamw).add("schedule", schedule).add("ema", ema).add("step", step);
  }
};

TEST(DataParallel, Rank0WritesACheckpointAndAllReadIt) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("minnow-ranks-" + std::to_string(::getppid()));
  Training whole, first, second;
  second.net.load_state_dict(first.net.state_dict());
  whole.net.load_state_dict(first.net.state_dict());
  whole.train_until(6);
  first.train_until(3);
  Checkpoint written(folder.string());
  first.open(written);
  if (dist::rank() == 0) written.save();
  dist::barrier();
  Checkpoint read(folder.string());
  second.open(read);
  ASSERT_TRUE(read.resume().has_value());
  EXPECT_EQ(second.step, 3);
  second.train_until(6);
  dist::barrier();
  if (dist::rank() == 0) std::filesystem::remove_all(folder);
  const auto same = [](const nn::Module& a, const nn::Module& b) {
    const StateDict want = b.state_dict();
    for (const auto& [name, tensor] : a.state_dict()) {
      EXPECT_TRUE(equal(tensor, want.at(name))) << name;
      expect_equal_on_all_ranks(tensor, name);
    }
  };
  same(second.net, whole.net);
  same(second.ema.module(), whole.ema.module());
}

/// Resumes between two backwards of a step, from a file of rank 0 or, within no_sync(), of each rank.
TEST(DataParallel, ACheckpointWithinAnAccumulationHasTheGradients) {
  struct Accumulating {
    Net net;
    DataParallel parallel{net, {.buffers = BufferSync::none}};
    optim::SGD sgd{net.parameters(), {.lr = 0.02, .momentum = 0.9}};

    void train(int from, int to, bool local) {
      for (int i = from; i < to; ++i) {
        std::optional<DataParallel::NoSync> guard;
        if (local && i % 2 == 0) guard.emplace(parallel);
        loss_of(net, part_of(batch(12, i))).backward();
        if (i % 2 == 0) continue;
        sgd.step();
        sgd.zero_grad();
      }
    }
  };
  const std::string folder = (std::filesystem::temp_directory_path() / "minnow-sums-").string();
  for (const bool local : {false, true}) {
    Accumulating whole, first, second;
    first.net.load_state_dict(whole.net.state_dict());
    whole.train(0, 6, local);
    first.train(0, 3, local);
    const std::string own = folder + std::to_string(::getppid()) + (local ? "-" + std::to_string(dist::rank()) : "");
    Checkpoint written(own), read(own);
    written.add("net", first.net).add("sgd", first.sgd);
    if (local || dist::rank() == 0) written.save();
    dist::barrier();
    ASSERT_TRUE(read.add("net", second.net).add("sgd", second.sgd).resume().has_value());
    second.train(3, 6, local);
    dist::barrier();
    if (local || dist::rank() == 0) std::filesystem::remove_all(own);
    for (const auto& [name, tensor] : second.net.state_dict()) {
      EXPECT_TRUE(equal(tensor, whole.net.state_dict().at(name))) << name << local;
      if (name.find("running") == std::string::npos) expect_equal_on_all_ranks(tensor, name);
    }
  }
}

TEST(DataParallel, GradientsAddUpWithoutSync) {
  Net net;
  DataParallel parallel(net, {.buffers = BufferSync::none});
  Net alone;
  alone.load_state_dict(net.state_dict());
  const Tensor x = batch(12, 1), y = batch(12, 2);
  {
    const auto guard = parallel.no_sync();
    loss_of(net, part_of(x)).backward();
    if (dist::size() > 1) {
      const Tensor all = dist::all_gather(net.last.weight.grad());
      EXPECT_FALSE(equal(all[0], all[1]));
    }
  }
  loss_of(net, part_of(y)).backward();
  loss_of(alone, x).backward();
  loss_of(alone, y).backward();
  for (const auto& [name, p] : net.named_parameters()) {
    if (!p.grad().defined()) continue;
    expect_equal_on_all_ranks(p.grad(), name);
  }
  expect_close(net.first.weight.grad(), alone.first.weight.grad(), "first.weight");
  expect_close(net.last.bias.grad(), alone.last.bias.grad(), "last.bias");
}

TEST(DataParallel, GradientsWithoutSyncAreAveragedEvenIfTheLastBackwardHasNone) {
  Net net;
  DataParallel parallel(net, {.buffers = BufferSync::none});
  const Tensor x = batch(12, 1);
  {
    const auto guard = parallel.no_sync();
    loss_of(net, part_of(x)).backward();
  }
  const Tensor own = net.side.weight.grad().clone();
  net.with_side = false;
  loss_of(net, part_of(x)).backward();
  dist::all_reduce(own, dist::ReduceOp::mean);
  expect_close(net.side.weight.grad(), own, "side.weight");
  expect_equal_on_all_ranks(net.side.weight.grad(), "side.weight");
}

TEST(DataParallel, AParameterWithoutGradientIsNamed) {
  Net net;
  DataParallel parallel(net);
  net.with_side = false;
  loss_of(net, part_of(batch(12, 1))).backward();  // on no rank: it keeps none
  EXPECT_FALSE(net.side.weight.grad().defined());
  EXPECT_TRUE(net.last.weight.grad().defined());
  if (dist::size() == 1) return;
  net.with_side = dist::rank() != 1;
  const Tensor loss = loss_of(net, part_of(batch(12, 1)));
  const std::string what = error_of<AutogradError>([&] { loss.backward(); });
  expect_contains(what, "'side.");
  expect_contains(what, "none on rank 1");
  net.with_side = true;
  net.zero_grad();
  loss_of(net, part_of(batch(12, 1))).backward();  // goes on
  expect_equal_on_all_ranks(net.side.weight.grad(), "side.weight");
}

TEST(DataParallel, BuffersFollowRank0OrAreAveraged) {
  for (const BufferSync sync : {BufferSync::broadcast, BufferSync::mean, BufferSync::none}) {
    nn::BatchNorm1d norm(2);
    const DataParallel parallel(norm, {.buffers = sync});
    norm(full({4, 2}, dist::rank(), {.dtype = float32}) + arange(4, {.dtype = float32}).reshape({4, 1}));
    const Tensor own = norm.state_dict().at("running_mean").clone();
    norm(zeros({4, 2}) + arange(4, {.dtype = float32}).reshape({4, 1}));
    const Tensor all = dist::all_gather(norm.state_dict().at("running_mean"));
    const Tensor before = dist::all_gather(own);
    const Tensor from = sync == BufferSync::broadcast ? before[0] : sync == BufferSync::mean ? mean(before, {0}) : own;
    expect_close(norm.state_dict().at("running_mean"), from * 0.9 + 0.15, "running_mean");
    if (sync != BufferSync::none) expect_equal_on_all_ranks(norm.state_dict().at("running_mean"), "running_mean");
    norm.eval();
    norm(zeros({4, 2}));  // no buffers are sent
  }
}

TEST(DataParallel, OtherModulesAreRefused) {
  if (dist::size() == 1) return;
  nn::Linear net(3, dist::rank() == 1 ? 4 : 5);
  const std::string what = error_of<ValueError>([&] { const DataParallel parallel(net); });
  expect_contains(what, "rank 0  DataParallel  float32[5, 3]  'weight'");
  expect_contains(what, "rank 1  DataParallel  float32[4, 3]  'weight'");
  nn::Sequential longer =
      dist::rank() == 1 ? nn::Sequential(nn::Linear(2, 2)) : nn::Sequential(nn::Linear(2, 2), nn::Linear(2, 2));
  expect_contains(error_of<ValueError>([&] { const DataParallel parallel(longer); }), "'1.weight'");
  struct Named : nn::Module {
    explicit Named(const std::string& name) { weight = parameter(name, ones({2})); }
    nn::Parameter weight;
    Tensor forward(const Tensor& x) override { return x * weight; }
  } named(std::string(80, 'x') + (dist::rank() == 1 ? "b" : "a"));
  expect_contains(error_of<ValueError>([&] { const DataParallel parallel(named); }), "xb'");
  nn::Linear same(3, 5);
  const double megabytes = dist::rank() == 1 ? 1 : 25;
  expect_contains(error_of<ValueError>([&] { const DataParallel parallel(same, {.bucket_mb = megabytes}); }),
                  "rank 1  DataParallel  'no more; bucket_mb 1, buffers broadcast'");
}

TEST(DataParallel, RanksThatUseModelsInAnotherOrderAreNamed) {
  Net a, b;
  const DataParallel parallel_a(a, {.buffers = BufferSync::none}), parallel_b(b, {.buffers = BufferSync::none});
  const Tensor x = part_of(batch(12, 1));
  const Tensor first = loss_of(dist::rank() == 1 ? b : a, x), second = loss_of(dist::rank() == 1 ? a : b, x);
  if (dist::size() > 1) {
    const std::string what = error_of<ValueError>([&] { first.backward(); });
    expect_contains(what, "rank 0  backward of DataParallel  model ");
    expect_contains(what, "the ranks do not call the same");
    a.zero_grad();
    b.zero_grad();
  }
  mean(square(a(x) + b(x))).backward();  // both in one
  expect_equal_on_all_ranks(a.last.weight.grad(), "a");
  expect_equal_on_all_ranks(b.last.weight.grad(), "b");
}

TEST(DataParallel, ParametersThatComeLaterAreRefused) {
  Net net;
  net.first.weight.requires_grad_(false);
  const DataParallel parallel(net);
  loss_of(net, part_of(batch(12, 1))).backward();
  net.last.weight.requires_grad_(false);  // of fewer, the others are averaged
  loss_of(net, part_of(batch(12, 1))).backward();
  expect_equal_on_all_ranks(net.side.weight.grad(), "side.weight");
  net.first.weight.requires_grad_(true);
  expect_contains(error_of<AutogradError>([&] { loss_of(net, part_of(batch(12, 1))); }),
                  "'first.weight' requires a gradient, and did not");
}

TEST_P(DataParallelOnDevice, TheModuleMayBeConvertedAndMoved) {
  Net net;
  const DataParallel parallel(net);
  Net alone;
  alone.load_state_dict(net.state_dict());
  net.to(device());
  net.to(float64);
  alone.to(float64);
  const Tensor x = batch(12, 1).to(float64);
  loss_of(net, part_of(x).to(device())).backward();
  loss_of(alone, x).backward();
  EXPECT_TRUE(allclose(net.first.weight.grad().cpu(), alone.first.weight.grad(), 1e-13, 1e-14));
  expect_equal_on_all_ranks(net.first.weight.grad(), "first.weight");
}

/// Multiplies by a buffer, which backward needs.
struct Masked : nn::Module {
  nn::Linear linear = child("linear", nn::Linear(6, 3));
  nn::Buffer mask = buffer("mask", full({3}, 2, {.dtype = float32}));
  Tensor forward(const Tensor& x) override { return linear(x) * mask; }
};

TEST_P(DataParallelOnDevice, BuffersAreWrittenOnlyWhereTheyHaveChanged) {
  Masked net;
  net.to(device());
  const DataParallel parallel(net);
  const Tensor x = part_of(batch(12, 1)).to(device());
  mean(square(net(x) + net(x * 2))).backward();
  expect_equal_on_all_ranks(net.linear.weight.grad(), "weight");
  if (dist::rank() == dist::size() - 1) net.mask.fill_(5);  // on one rank only
  net(x);
  EXPECT_TRUE(equal(net.mask.cpu(), full({3}, dist::size() == 1 ? 5 : 2, {.dtype = float32})));
}

TEST(DataParallel, GradientsThatShareMemoryAreAveraged) {
  nn::Linear net(3, 2);
  const DataParallel parallel(net);
  (sum(net.bias) * (dist::rank() + 1)).backward({}, {.create_graph = true});
  EXPECT_TRUE(allclose(net.bias.grad().detach(), full({2}, (dist::size() + 1) / 2.0, {.dtype = float32})));
}

// What is averaged is no longer what was recorded, which must not be lost silently.
TEST(DataParallel, APenaltyOnAveragedGradientsIsRefused) {
  nn::Linear net(3, 2);
  const DataParallel parallel(net);
  sum(square(net.weight)).backward({}, {.create_graph = true});
  EXPECT_TRUE(net.weight.grad().requires_grad());
  EXPECT_THROW((void)square(net.weight.grad()), AutogradError);
}

TEST(DataParallel, GradientsAreKeptByThoseWhoHaveThem) {
  nn::Linear net(3, 2);
  const DataParallel parallel(net);
  sum(net.weight).backward();
  const Tensor first = net.weight.grad(), values = first.clone();
  net.zero_grad();
  sum(3 * net.weight).backward();
  EXPECT_TRUE(equal(first, values));
  EXPECT_TRUE(allclose(net.weight.grad(), 3 * values));
  // Accumulated into the same tensor.
  const Tensor same = net.weight.grad();
  sum(net.weight).backward();
  EXPECT_TRUE(net.weight.grad().is_same(same));
  EXPECT_TRUE(allclose(same, 4 * values));
}

TEST(DataParallel, AnotherHandleOfTheModuleIsTheModule) {
  auto net = std::make_unique<Masked>();
  const DataParallel parallel(*net);
  Masked other = *net;
  net.reset();
  mean(square(other(part_of(batch(12, 1))))).backward();
  expect_equal_on_all_ranks(other.linear.weight.grad(), "weight");
}

TEST(DataParallel, AnExceptionInBackwardLeavesItUsable) {
  Net net;
  DataParallel parallel(net);
  {
    const HookHandle hook = register_hook(net.first.bias, [](const Tensor&) -> Tensor { throw ValueError("mine"); });
    const Tensor loss = loss_of(net, part_of(batch(12, 1)));
    EXPECT_THROW(loss.backward(), ValueError);  // on all ranks
  }
  net.zero_grad();
  loss_of(net, part_of(batch(12, 1))).backward();
  for (const auto& [name, p] : net.named_parameters())
    if (p.grad().defined()) expect_equal_on_all_ranks(p.grad(), name);
}

}  // namespace
}  // namespace minnow
