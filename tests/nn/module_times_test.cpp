#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <string>
#include <thread>
#include <minnow/autograd/checkpoint.h>
#include <minnow/minnow.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/calling_thread.h>

/// profile::Table and profile::StepTimes.
namespace minnow {
namespace {

using TableRow = profile::Table::Row;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

struct SlowLayer : nn::Module {
  Tensor forward(const Tensor& x) override {
    nap();
    return record("slow", x * 2, {x}, [](const Tensor& g) {
      nap();
      return g * 2;
    });
  }
};
struct SlowPair : nn::Module {
  SlowLayer a = child("a", SlowLayer());
  nn::Linear b = child("b", nn::Linear(100, 50));
  Tensor forward(const Tensor& x) override {
    const Tensor h = b(a(a(x)));
    nap();
    return h;
  }
};

TableRow table_row(const profile::Table& table, const std::string& module) {
  for (const TableRow& r : table.rows())
    if (r.module == module) return r;
  ADD_FAILURE() << "no " << module << " in\n" << table.str();
  return {};
}

TEST(Table, TimesByModule) {
  SlowPair net;
  const profile::Table table;
  sum(net(ones({10, 100}).requires_grad_())).backward();
  const TableRow root = table_row(table, "SlowPair"), a = table_row(table, "a"), b = table_row(table, "b");
  EXPECT_EQ(table.rows().size(), 3U);
  EXPECT_EQ(table.rows()[0].module, "SlowPair");
  EXPECT_EQ(root.calls, 1);
  EXPECT_EQ(a.calls, 2);
  EXPECT_EQ(a.type, "SlowLayer");
  EXPECT_GE(a.seconds, 0.010);
  EXPECT_GE(a.backward_seconds, 0.010);
  EXPECT_GE(root.self_seconds, 0.005);
  EXPECT_GE(root.seconds, a.seconds + b.seconds + root.self_seconds - 1e-9);
  EXPECT_GE(root.backward_seconds, a.backward_seconds + b.backward_seconds - 1e-9);
  EXPECT_GT(b.backward_seconds, 0);
  EXPECT_LT(b.backward_seconds, a.backward_seconds);
}

TEST(Table, Memory) {
  nn::Sequential net(nn::Linear(1000, 1000), nn::Linear(1000, 10));
  const Tensor x = ones({1000, 1000});
  const profile::Table table;
  const Tensor y = net(x);
  EXPECT_GE(table_row(table, "0").kept_bytes, 4'000'000);
  EXPECT_LT(table_row(table, "0").kept_bytes, 5'000'000);
  EXPECT_GE(table_row(table, "Sequential").peak_bytes, 4'040'000);
  EXPECT_GE(table_row(table, "Sequential").kept_bytes, 4'040'000) << "backward needs it";
  {
    const NoGradGuard no_grad;
    const profile::Table inner;
    const Tensor z = net(x);
    EXPECT_LT(table_row(inner, "Sequential").kept_bytes, 100'000);
    EXPECT_GE(table_row(inner, "Sequential").peak_bytes, 4'000'000);
  }
  EXPECT_EQ(table_row(table, "0").calls, 2) << "both count";
}

TEST(Table, MemoryOfADevice) {
  nn::Linear fc(100, 1000);
  fc.to("sim:0");
  const Tensor x = ones({100, 100}).to("sim:0");
  const profile::Table table;
  const Tensor y = fc(x);
  EXPECT_GE(table_row(table, "Linear").kept_bytes, 400'000);
}

TEST(Table, TypesAsTheyArePrinted) {
  nn::Sequential net(nn::Conv2d(1, 2, 3));
  const profile::Table table;
  net(ones({1, 1, 4, 4}));
  EXPECT_EQ(table_row(table, "0").type, "Conv2d");
}

TEST(Table, ModulesOfOneName) {
  nn::Sequential generator(nn::Linear(4, 4)), discriminator(nn::Linear(4, 4));
  const profile::Table table;
  for (int i = 0; i < 3; ++i) discriminator(generator(ones({4})));
  for (const char* name : {"Sequential", "Sequential#2", "0", "0#2"})
    EXPECT_EQ(table_row(table, name).calls, 3) << name;
  EXPECT_EQ(table.rows().size(), 4U);
  const std::string text = table.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  EXPECT_NE(text.find("0#2 (Linear)"), std::string::npos) << text;
}

/// Calls itself.
struct SlowSelfCalling : nn::Module {
  SlowLayer slow = child("slow", SlowLayer());
  int depth = 0;
  Tensor forward(const Tensor& x) override { return ++depth > 3 ? x : slow((*this)(x)); }
};

TEST(Table, RecursionAndCheckpoints) {
  SlowSelfCalling deep;
  SlowPair net;
  const auto start = std::chrono::steady_clock::now();
  const profile::Table table;
  sum(deep(ones({3}).requires_grad_())).backward();
  sum(checkpoint([&](const Tensor& x) { return net(x); }, ones({10, 100}))).backward();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(table_row(table, "SlowSelfCalling").calls, 4);
  EXPECT_EQ(table_row(table, "SlowPair").calls, 2);
  EXPECT_LE(table_row(table, "SlowSelfCalling").seconds + table_row(table, "SlowSelfCalling").backward_seconds +
                table_row(table, "SlowPair").seconds,
            all.count());
  EXPECT_GE(table_row(table, "slow").backward_seconds, 0.015);
}

TEST(Table, BackwardOfWhatIsOutsideIsInNoRow) {
  SlowLayer net;
  const Tensor x = ones({3}).requires_grad_();
  const profile::Table table;
  const Tensor first = net(x);
  const Tensor outside = record("slow", first * 2, {first}, [](const Tensor& g) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return g * 2;
  });
  sum(outside + net(x)).backward();
  EXPECT_GE(table_row(table, "SlowLayer").backward_seconds, 0.010);
  EXPECT_LT(table_row(table, "SlowLayer").backward_seconds, 0.200);
}

#ifdef __GLIBC__
TEST(Table, MemoryHasALimit) {
  struct Doubled : nn::Module {
    Tensor forward(const Tensor& y) override { return y * 2; }
  };
  struct Twice : nn::Module {
    Doubled a = child("a", Doubled());
    Tensor forward(const Tensor& y) override { return a(y * 2) * 2; }
  } net;
  const Tensor x = ones({3}).requires_grad_();
  const profile::Table table;
  for (int i = 0; i < 100; ++i) net(net(x));
  const auto used = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = used();
  for (int i = 0; i < 100'000; ++i) (void)net(x);
  EXPECT_LT(used(), before + 2'500'000);
  sum(net(x)).backward();
  EXPECT_GT(table_row(table, "Twice").backward_seconds, 0) << "it has the newest";
}
#endif

struct SlowData {
  std::int64_t size() const { return 3; }
  std::tuple<Tensor> get(std::int64_t) const {
    nap();
    return {ones({100})};
  }
};

TEST(StepTimes, PartsAreAllOfTheTime) {
  SlowPair net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  data::DataLoader loader(SlowData(), {.batch_size = 1, .num_workers = 0});
  const auto start = std::chrono::steady_clock::now();
  profile::StepTimes times;
  for (auto& [x] : loader) {
    const Tensor there = x.to("sim:0");
    sum(net(x.clone().requires_grad_())).backward();
    sgd.step();
    nap();
  }
  const auto parts = times.seconds();
  {
    const NoGradGuard no_grad;
    net(ones({1, 100}));
  }
  const auto after = times.seconds();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_GE(parts.waiting, 0.015);
  EXPECT_GT(parts.copies, 0);
  EXPECT_GE(parts.forward, 0.045);
  EXPECT_GE(parts.backward, 0.030);
  EXPECT_GT(parts.step, 0);
  EXPECT_GE(parts.other, 0.015);
  EXPECT_EQ(after.forward, parts.forward) << "evaluation is other";
  EXPECT_NEAR(after.total(), all.count(), 0.050);
  EXPECT_EQ(times.parts()[0].first, "waiting");
  EXPECT_EQ(times.parts().size(), 6U);
  times.reset();
  EXPECT_LT(times.seconds().total(), all.count());
  EXPECT_NE(times.str().find("backward 0 s"), std::string::npos) << times.str();
  EXPECT_EQ(calling_thread.observer, nullptr) << "no operation asks it";
}

TEST(StepTimes, ScopesThatDoNotEndInOrder) {
  using Part = minnow::detail::OpenScope;
  const profile::StepTimes times;
  auto outer = std::make_unique<Part>(minnow::detail::ScopeKind::step, "step");
  const Part inner(minnow::detail::ScopeKind::backward, "backward");
  outer.reset();
  nap();
  EXPECT_GE(times.seconds().other, 0.005);
}

TEST(StepTimes, OfLBFGS) {
  SlowPair net;
  optim::LBFGS lbfgs(net.parameters(), {.max_iter = 3});
  const Tensor x = ones({10, 100}).requires_grad_();
  const profile::StepTimes times;
  const auto loss = [&] {
    lbfgs.zero_grad();
    const Tensor l = sum(square(net(x)));
    l.backward();
    return l;
  };
  lbfgs.step(loss);
  const auto seconds = times.seconds();
  EXPECT_GE(seconds.forward, 0.015);
  EXPECT_GE(seconds.backward, 0.010);
  EXPECT_GT(seconds.step, 0);
  EXPECT_LT(seconds.other, seconds.forward);
}

TEST(StepTimes, ExceptionsEndParts) {
  const profile::StepTimes times;
  nn::Linear fc(3, 4);
  EXPECT_THROW(fc(ones({5})), ShapeError);
  const double forward = times.seconds().forward;
  EXPECT_GT(forward, 0);
  nap();
  EXPECT_EQ(times.seconds().forward, forward);
}

}  // namespace
}  // namespace minnow
