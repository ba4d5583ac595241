#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/record.h>
#include <minnow/data/loader.h>
#include <minnow/data/progress.h>
#include <minnow/data/subset.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/containers.h>
#include <minnow/nn/module/summary.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/captured_step.h>

/// An exception of a user's function reaches the caller unchanged, from any thread, and everything works afterwards.
namespace minnow {
namespace {

/// An exception that is not a std::exception, as some libraries throw.
struct Strange {
  int number;
};

/// Throws this kind of exception.
enum class Kind { kError, kStandard, kStrange };
constexpr Kind kKinds[] = {Kind::kError, Kind::kStandard, Kind::kStrange};

[[noreturn]] void fail(Kind kind) {
  if (kind == Kind::kError) throw IndexError("mine");
  if (kind == Kind::kStandard) throw std::runtime_error("mine");
  throw Strange{7};
}

/// Whether f throws what fail(kind) does.
template <class F> bool throws(Kind kind, F f) {
  try {
    f();
  } catch (const IndexError& e) {
    return kind == Kind::kError && std::string(e.what()) == "IndexError: mine";
  } catch (const Error&) { return false; } catch (const std::runtime_error& e) {
    return kind == Kind::kStandard && std::string(e.what()) == "mine";
  } catch (const Strange& e) { return kind == Kind::kStrange && e.number == 7; }
  return false;
}

/// Sample 5 of 8 throws while `bad` is set.
struct Fragile {
  Kind kind;
  std::shared_ptr<std::atomic<bool>> bad = std::make_shared<std::atomic<bool>>(true);
  std::int64_t size() const { return 8; }
  Tensor get(std::int64_t i) const {
    if (i == 5 && *bad) fail(kind);
    return full({2}, static_cast<double>(i));
  }
};

/// The same for get_batch(), where no sample fails by itself.
struct FragileBatches : Fragile {
  Tensor get(std::int64_t i) const { return full({2}, static_cast<double>(i)); }
  void get_batch(std::span<const std::int64_t> indices, data::BatchBuffer& buffer) const {
    if (*bad) fail(kind);
    buffer.make(0, float32, {static_cast<std::int64_t>(indices.size()), 2});
  }
};

template <class D> int batches_of(data::DataLoader<D>& loader) {
  int count = 0;
  for (auto& batch : loader) count += batch.defined() ? 1 : 0;
  return count;
}

TEST(Thrown, ByADatasetInAWorkerOrNot) {
  for (const Kind kind : kKinds)
    for (const int workers : {0, 2})
      for (const Device device : {Device(), Device(DeviceType::sim)}) {
        const Fragile set{kind};
        data::DataLoader loader(set, {.batch_size = 2, .num_workers = workers, .device = device});
        EXPECT_TRUE(throws(kind,
                           [&] {
                             try {
                               batches_of(loader);
                             } catch (const data::SampleError& e) {
                               EXPECT_EQ(e.sample(), 5);
                               std::rethrow_if_nested(e);
                             }
                           }))
            << static_cast<int>(kind) << " with " << workers;
        *set.bad = false;
        EXPECT_EQ(batches_of(loader), 4);
        const FragileBatches whole{{kind}};
        data::DataLoader batches(whole, {.batch_size = 2, .num_workers = workers, .device = device});
        EXPECT_TRUE(throws(kind,
                           [&] {
                             try {
                               batches_of(batches);
                             } catch (const data::BatchError& e) {
                               EXPECT_EQ(e.batch(), 0);
                               std::rethrow_if_nested(e);
                             }
                           }))
            << static_cast<int>(kind) << " with " << workers;
        *whole.bad = false;
        EXPECT_EQ(batches_of(batches), 4);
      }
}

TEST(Thrown, ByALoopOverALoader) {
  const Fragile set{Kind::kError, std::make_shared<std::atomic<bool>>(false)};
  for (const int workers : {0, 2}) {
    data::DataLoader loader(set, {.batch_size = 1, .num_workers = workers});
    for (const Kind kind : kKinds)
      EXPECT_TRUE(throws(kind, [&] {
        for (auto& batch : loader)
          if (batch.defined()) fail(kind);
      }));
    EXPECT_EQ(batches_of(loader), 8);
  }
}

/// A sampler whose order throws.
struct Orderless {
  Kind kind;
  std::int64_t size() const { return 8; }
  std::vector<std::int64_t> indices(std::uint64_t, std::int64_t epoch) const {
    if (epoch == 0) fail(kind);
    return {0, 1, 2};
  }
};

TEST(Thrown, ByASamplerOrATransform) {
  const Fragile set{Kind::kError, std::make_shared<std::atomic<bool>>(false)};
  for (const Kind kind : kKinds) {
    data::DataLoader loader(set, Orderless{kind}, {.num_workers = 2});
    EXPECT_TRUE(throws(kind, [&] { loader.begin(); }));
    EXPECT_EQ(batches_of(loader), 1);
  }
}

Tensor ones_leaf() { return ones({2, 3}).requires_grad_(); }

TEST(Thrown, ByHooksAndUserFunctions) {
  for (const Kind kind : kKinds) {
    const std::int64_t nodes = autograd::live_nodes();
    const Tensor x = ones_leaf();
    bool bad = true;
    const autograd::Hook hook = [&](const Tensor&) -> Tensor {
      if (bad) fail(kind);
      return Tensor();
    };
    auto on_leaf = register_hook(x, hook);
    EXPECT_TRUE(throws(kind, [&] { sum(x * 2).backward(); }));
    EXPECT_FALSE(x.grad().defined());
    on_leaf.remove();
    const auto with_hook = [&] {
      const Tensor y = x * 3;
      const auto on_result = register_hook(y, hook);
      sum(y).backward();
    };
    EXPECT_TRUE(throws(kind, with_hook));
    const auto user = [&](const Tensor& g) -> Gradients {
      if (bad) fail(kind);
      return {g.expand({2, 3}) * 5};
    };
    const auto recorded = [&] { record("mine", sum(x.detach()), {x}, user).backward(); };
    EXPECT_TRUE(throws(kind, recorded));
    EXPECT_TRUE(throws(kind, [&] {
      gradcheck([&](const std::vector<Tensor>&) -> Tensor { fail(kind); }, {x.to(float64).detach().requires_grad_()});
    }));
    bool same = false;
    std::thread([&] { same = throws(kind, recorded) && throws(kind, with_hook); }).join();
    EXPECT_TRUE(same);
    bad = false;
    with_hook();
    recorded();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 8));
    EXPECT_TRUE(is_grad_enabled());
    EXPECT_EQ(autograd::live_nodes(), nodes);
  }
}

/// Throws in forward while `bad` is set.
struct Breaking : nn::Module {
  Kind kind;
  std::shared_ptr<bool> bad = std::make_shared<bool>(true);
  nn::Linear fc = child("fc", nn::Linear(3, 2));
  explicit Breaking(Kind k) : kind(k) {}
  Tensor forward(const Tensor& x) override {
    const Tensor y = fc(x);
    if (*bad) fail(kind);
    return y;
  }
};

TEST(Thrown, ByModulesAndTheirHooks) {
  const Tensor x = ones({4, 3});
  for (const Kind kind : kKinds) {
    Breaking net(kind);
    nn::Sequential outer(net);
    EXPECT_TRUE(throws(kind, [&] { outer(x); }));
    EXPECT_TRUE(throws(kind, [&] { nn::summary(outer, {4, 3}); }));
    EXPECT_TRUE(outer.is_training() && net.fc.is_training() && is_grad_enabled());
    EXPECT_TRUE(throws(kind, [&] { outer.apply([&](nn::Module&) { fail(kind); }); }));
    *net.bad = false;
    const auto summary = nn::summary(outer, {4, 3});
    EXPECT_NE(summary.find("[4, 2]"), std::string::npos) << summary;
    {
      const auto handle = net.register_forward_hook([&](nn::Module&, const Tensor&, const Tensor&) { fail(kind); });
      EXPECT_TRUE(throws(kind, [&] { outer(x); }));
    }
    EXPECT_EQ(outer(x).shape(), (Shape{4, 2}));
  }
}

TEST(Thrown, ByClosuresSchedulersAndCapturedSteps) {
  for (const Kind kind : kKinds) {
    const Tensor w = ones_leaf();
    optim::SGD sgd({w}, {.lr = 0.5});
    sum(w).backward();
    EXPECT_TRUE(throws(kind, [&] { sgd.step([&]() -> Tensor { fail(kind); }); }));
    EXPECT_EQ(w.to_vector<float>(), std::vector<float>(6, 1));
    optim::LRScheduler scheduler(sgd, [&](double base, std::int64_t t) {
      if (t == 1) fail(kind);
      return base;
    });
    EXPECT_TRUE(throws(kind, [&] { scheduler.step(); }));
    EXPECT_EQ(sgd.lr(), 0.5);
    for (const int warm_up : {0, 1}) {
      bool bad = true;
      const auto add = [&](const Tensor& x) {
        if (bad) fail(kind);
        return x + 1;
      };
      CapturedStep step(add, {.device = Device(), .warm_up = warm_up});
      EXPECT_TRUE(throws(kind, [&] { step(ones({2})); }));
      bad = false;
      for (int run = 0; run < 3; ++run) EXPECT_EQ(step(full({2}, run)).to_vector<int>(), std::vector<int>(2, run + 1));
    }
  }
}

/// A buffer of a stream that throws.
struct BrokenPipe : std::stringbuf {
  int sync() override { throw Strange{1}; }
};

TEST(Thrown, ByStreamsAndDeleters) {
  BrokenPipe pipe;
  std::ostream out(&pipe);
  out.exceptions(std::ios::badbit);
  EXPECT_ANY_THROW({
    data::ProgressBar bar(2, {.out = &out, .terminal = true, .interval = 0.0});
    bar.start("x");
    bar.step(1);
  });
  float memory[2] = {1, 2};
  {
    const Tensor x = from_blob(memory, {2}, float32, [](void*) { throw Strange{1}; });
  }
  EXPECT_EQ(memory[0], 1.0F);
}

}  // namespace
}  // namespace minnow
