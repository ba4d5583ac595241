// "Nothing has changed when it throws", with every allocation failing in turn.

#include <functional>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/sim/options.h>
#include "faults/failing_heap.h"

namespace minnow {
namespace {

using test::FailingHeap;
using test::Shortage;

/// The state of a tensor.
struct Held {
  explicit Held(const Tensor& t) {
    if (!t.defined()) return;
    storage = t.storage().get();
    dtype = t.dtype();
    device = t.device();
    values = t.to_vector<double>();
  }
  friend bool operator==(const Held&, const Held&) = default;

  const Storage* storage = nullptr;
  DType dtype = DType::bool_;
  Device device;
  std::vector<double> values;
};

std::vector<Held> held_by(const std::vector<Tensor>& tensors) {
  std::vector<Held> all;
  for (const Tensor& t : tensors) {
    all.emplace_back(t);
    all.emplace_back(t.grad());
  }
  return all;
}

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(6, 8));
  nn::Linear fc2 = child("fc2", nn::Linear(8, 3));
  nn::Buffer mean = buffer("mean", ones({3}));

  Tensor forward(const Tensor& x) override { return fc2(relu(fc1(x))) - mean; }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> all = parameters();
    all.push_back(mean);
    return all;
  }
};

Net net_with_gradients() {
  manual_seed(7);
  Net net;
  sum(net(ones({2, 6}))).backward();
  return net;
}

/// Makes the nth allocation of the call fail, for each n; `make` makes a new object after a call that succeeded.
template <class Subject, class Call, class Look>
void expect_unchanged(const std::function<Subject()>& make, const Call& call, const Look& look) {
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < 2000; ++n) {
      Subject subject = make();
      const auto before = look(subject);
      bool threw = false;
      empty_cache(Device());
      empty_cache("sim:0");
      {
        const FailingHeap heap(n, shortage);
        try {
          call(subject);
        } catch (const std::bad_alloc&) { threw = true; } catch (const OutOfMemoryError&) {
          threw = true;
        }
        failed = heap.has_failed();
      }
      if (threw) { ASSERT_TRUE(look(subject) == before) << "allocation " << n; }
    }
    EXPECT_GT(n, 5u);
    EXPECT_LT(n, 2000u);
  }
}

std::vector<Held> look_at(const Net& net) { return held_by(net.tensors()); }

TEST(Unchanged, AModuleThatCouldNotBeMoved) {
  const std::function<Net()> make = net_with_gradients;
  expect_unchanged(
      make, [](Net& net) { net.to("sim:0"); }, look_at);
  expect_unchanged(
      make, [](Net& net) { net.to(DType::float64); }, look_at);
  expect_unchanged(
      make, [](Net& net) { net.to(Device("sim:0"), DType::bfloat16); }, look_at);
}

TEST(Unchanged, AModuleWithoutMemoryOnTheDevice) {
  for (std::size_t limit = 512; limit < 16384; limit += 512) {
    sim::Options small = sim::options();
    small.memory = limit;
    const sim::ScopedOptions options(small);
    Net net = net_with_gradients();
    const auto before = look_at(net);
    try {
      net.to("sim:0");
    } catch (const OutOfMemoryError&) { EXPECT_TRUE(look_at(net) == before) << limit; }
  }
}

TEST(Unchanged, AModuleThatCouldNotLoad) {
  for (const Device device : {Device(), Device("sim:0")})
    for (const DType dtype : {DType::float32, DType::float64}) {
      manual_seed(8);
      Net other;
      const StateDict values = other.to(dtype).state_dict();
      const std::function<Net()> make = [&] {
        Net net = net_with_gradients();
        net.to(device);
        return net;
      };
      expect_unchanged(
          make, [&](Net& net) { net.load_state_dict(values, {.convert = true}); }, look_at);
      Net net = make();
      net.load_state_dict(values, {.convert = true});
      EXPECT_EQ(net.fc2.weight.to_vector<double>(), other.fc2.weight.to_vector<double>());
    }
}

struct Trained {
  Trained() : net(net_with_gradients()), adam(net.parameters(), {.lr = 0.125}) { adam.step(); }
  Net net;
  optim::Adam adam;
};

std::vector<Held> look_at_state(const std::unique_ptr<Trained>& trained) {
  std::vector<Held> all;
  for (const auto& [name, tensor] : trained->adam.state_dict())
    if (tensor.dim() > 0) all.emplace_back(tensor);
    else all.emplace_back(Tensor()).values = tensor.to_vector<double>();
  return all;
}

TEST(Unchanged, AnOptimizerThatCouldNotLoad) {
  Trained other;
  other.adam.step();
  other.adam.set_lr(0.5);
  const StateDict values = other.adam.state_dict();
  const std::function<std::unique_ptr<Trained>()> make = [] { return std::make_unique<Trained>(); };
  expect_unchanged(
      make, [&](const std::unique_ptr<Trained>& t) { t->adam.load_state_dict(values); }, look_at_state);
}

TEST(Unchanged, AStateDictThatCouldNotGrow) {
  const std::function<StateDict()> make = [] { return StateDict{{"one", Tensor()}}; };
  expect_unchanged(
      make,
      [](StateDict& dict) {
        for (int i = 0; i < 20; ++i) dict.set("a name too long to be kept in place " + std::to_string(i), Tensor());
      },
      [](const StateDict& dict) {
        // The names before the one that failed stay; each that is listed is found.
        bool whole = true;
        for (const auto& [name, tensor] : dict) whole = whole && dict.contains(name);
        return whole;
      });
}

// Its mean and variance move together, and no batch is counted that was not normalized.
TEST(Unchanged, ABatchNormThatCouldNotRun) {
  for (const Device device : {Device(), Device("sim:0")}) {
    const Tensor x = arange(0, 24).to(device, float32).reshape({2, 3, 2, 2}).transpose(2, 3);
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < 200; ++n) {
      nn::BatchNorm2d norm(3);
      norm.to(device);
      const bool threw = test::throws(n, Shortage::once, failed, [&] { (void)norm(x); });
      const bool mean = norm.running_mean.to_vector<float>()[1] != 0;
      const bool var = norm.running_var.to_vector<float>()[1] != 1;
      const bool counted = norm.num_batches_tracked.item() == 1;
      ASSERT_EQ(mean, var) << "allocation " << n;
      ASSERT_TRUE(!counted || mean) << "allocation " << n;
      ASSERT_TRUE(counted || threw) << "allocation " << n;
    }
    EXPECT_GT(n, 5u);
    EXPECT_LT(n, 200u);
  }
}

TEST(Unchanged, TheModesOfASummary) {
  const std::function<Net()> make = [] { return Net(); };
  expect_unchanged(
      make,
      [](Net& net) {
        static_cast<void>(nn::summary(net, {1, 6}));
      },
      [](Net& net) { return std::pair(net.fc1.is_training(), net.fc2.is_training()); });
}

/// Layers of several kinds.
struct Mixed : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(3, 4, 3));
  nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(4));
  nn::LSTM lstm = child("lstm", nn::LSTM(4, 3));
  nn::Linear normed = child("normed", nn::Linear(3, 2));
};

Mixed mixed() {
  Mixed net;
  nn::weight_norm(net.normed);
  for (const Tensor& p : net.parameters()) p.set_grad(ones_like(p));
  return net;
}

std::vector<Held> look_at_mixed(const Mixed& net) {
  std::vector<Tensor> all;
  for (const auto& [name, tensor] : net.named_parameters()) all.push_back(tensor);
  for (const auto& [name, tensor] : net.named_buffers()) all.push_back(tensor);
  return held_by(all);
}

TEST(Unchanged, LayersOfSeveralKinds) {
  const std::function<Mixed()> make = mixed;
  expect_unchanged(
      make, [](Mixed& net) { net.to("sim:0"); }, look_at_mixed);
  expect_unchanged(
      make, [](Mixed& net) { net.to(DType::float64); }, look_at_mixed);
  const StateDict values = mixed().state_dict();
  for (const Device device : {Device(), Device("sim:0")})
    expect_unchanged<Mixed>(
        [&] {
          Mixed net = mixed();
          net.to(device);
          return net;
        },
        [&](Mixed& net) { net.load_state_dict(values); }, look_at_mixed);
}

}  // namespace
}  // namespace minnow
