#include <gtest/gtest.h>
#include <thread>
#include <minnow/minnow.h>

#include "devices.h"
#include "thrown.h"

/// Backward inside of backward, and backward through one graph several times and in several threads.
namespace minnow {
namespace {

using test::error_of;
using test::has;

std::string place(unsigned line) { return "reentry_test.cpp:" + std::to_string(line); }

class Reentry : public test::DeviceTest {
 protected:
  using Doubles = std::vector<double>;
  static Tensor leaf(const Nested& values) { return tensor(values, {DType::float64, device()}).requires_grad_(); }
  static Doubles values(const Tensor& t) { return t.to_vector<double>(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Reentry, test::all_devices(), test::device_test_name);

TEST_P(Reentry, OfAFunctionIntoItsOwnGraphIsAnError) {
  const Tensor x = leaf({1, 2});
  Tensor y, above;
  const auto own = [&](const Tensor& inner, unsigned* line) {
    *line = __LINE__ + 1;
    return record("own", inner.detach() * 1, {inner}, [&](const Tensor& g) {
      const AutoGradMode on(true);
      sum(above).backward({.retain_graph = true});
      return g;
    });
  };
  unsigned line = 0;
  y = own(x, &line);
  for (const Tensor& start : {y, y * 2}) {
    above = start;
    const std::string text = error_of<AutogradError>([&] { sum(start).backward({.retain_graph = true}); });
    EXPECT_TRUE(has(text, "own: its gradient function called backward on a graph that it is itself part of")) << text;
    EXPECT_TRUE(has(text, place(line))) << text;
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Reentry, IntoAnotherGraphWorks) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  // Recomputes a value for its gradient (checkpointing).
  const auto again = [](const Tensor& a, const Tensor& b) {
    return record("again", (a * b * b).detach(), {a, b}, [a = a.detach(), b = b.detach()](const Tensor& g) {
      const AutoGradMode on(true);
      const Tensor u = a.clone().requires_grad_(), v = b.clone().requires_grad_();
      (u * v * v).backward(g);
      return Gradients{u.grad(), v.grad()};
    });
  };
  sum(again(again(x, w), w)).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{81, 256}));
  EXPECT_EQ(values(w.grad()), (Doubles{108, 512}));  // 4 x w^3
}

TEST_P(Reentry, WithoutGradModeTheHintSaysHowToEnableIt) {
  const Tensor x = leaf({1, 2});
  unsigned line = 0;
  const Tensor y = record("own", x.detach() * 1, {x}, [&](const Tensor& g) {
    const Tensor u = ones({2}).requires_grad_();
    line = __LINE__ + 1;
    sum(u * u).backward();
    return g;
  });
  const std::string text = error_of<AutogradError>([&] { sum(y).backward(); });
  EXPECT_TRUE(has(text, "`AutoGradMode on(true);`")) << text;
  EXPECT_TRUE(has(text, place(line))) << text;
}

TEST_P(Reentry, HookMayBeAddedAndRemovedWhileItsNodeRuns) {
  Tensor x = leaf({1, 2});
  Tensor y;
  int calls = 0;
  HookHandle handle([] {});
  y = record("own", x.detach() * 1, {x}, [&](const Tensor& g) {
    handle.remove();
    handle = register_hook(y, [&](const Tensor&) { return ++calls, Tensor(); });
    return g;
  });
  for (int i = 0; i < 3; ++i) sum(y).backward({.retain_graph = true});
  EXPECT_EQ(calls, 2);
  y = Tensor();
}

TEST_P(Reentry, OfAFreedGraphNamesBothLines) {
  const Tensor x = leaf({2});
  const unsigned forward = __LINE__ + 1;
  const Tensor y = x * x;
  y.backward();
  unsigned line = 0;
  std::string text = error_of<AutogradError>([&] { line = __LINE__, y.backward(); });
  EXPECT_TRUE(has(text, "(" + place(forward) + ")")) << text;
  EXPECT_TRUE(has(text, "runs again at " + place(line) + "  (")) << text;
  text = error_of<AutogradError>([&] { line = __LINE__, grad(y, x); });
  EXPECT_TRUE(has(text, "runs again at " + place(line) + "  (")) << text;
}

TEST_P(Reentry, OfAFreedGraphOfGradientsNamesTheUsersLines) {
  const Tensor x = leaf({2});
  const unsigned forward = __LINE__ + 1;
  const Tensor y = x * exp(x);
  const Tensor first = grad(y, x, {.create_graph = true});
  grad(first, x);
  const std::string text = error_of<AutogradError>([&] { grad(first, x); });
  EXPECT_TRUE(has(text, place(forward)) || has(text, place(forward + 1))) << text;
  Tensor both = x.detach().requires_grad_();
  const unsigned call = __LINE__ + 1;
  for (int i = 0; i < 2; ++i) (both * both).backward({.create_graph = true});
  const Tensor held = both.grad();
  both.set_grad({});
  grad(held, both);
  const std::string sums = error_of<AutogradError>([&] { grad(held, both); });
  EXPECT_TRUE(has(sums, place(call))) << sums;
}

TEST_P(Reentry, AnExpandedOldGradientIsAddedTo) {
  Tensor x = leaf({1, 2});
  const Tensor one = ones({1}, {DType::float64, device()});
  x.set_grad(one.expand({2}));
  sum(x * 3).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 4}));
  EXPECT_EQ(one.item(), 1);
}

TEST_P(Reentry, UsersGradientTensorIsNotWritten) {
  std::vector<double> own{5, 7};
  Tensor x = tensor({1.0, 2.0}, {DType::float64}).requires_grad_();
  const auto constant = [&](const Tensor& in) {
    return record("own", in.detach() * 1, {in},
                  [&](const Tensor&) { return from_blob(static_cast<void*>(own.data()), {2}, DType::float64); });
  };
  (sum(constant(x)) + sum(x * 2) + sum(constant(x))).backward();
  sum(x).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{13, 17}));
  EXPECT_EQ(own, (std::vector<double>{5, 7}));
}

TEST_P(Reentry, OneGraphInSeveralThreads) {
  Tensor x = leaf({1, 2, 3});
  const Tensor h = x * x, y = sum(h(0) * h(1)) + sum(exp(h * 0) * h) + sum(add(h, h));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([y] {
      for (int i = 0; i < 20; ++i) y.backward({.retain_graph = true});
    });
  threads.clear();
  EXPECT_EQ(values(x.grad()), (Doubles{60 * 14, 60 * 16, 60 * 18}));
}

TEST_P(Reentry, TheBitsOfASumDoNotChangeFromRunToRun) {
  RandomGenerator generator(3);
  Tensor x = rand({64}, {.generator = &generator}).to(device()).requires_grad_();
  const auto run = [&] {
    const Tensor h = x * 1.1;
    Tensor loss = zeros({}, {.device = device()});
    for (int i = 0; i < 100; ++i) loss = loss + sum(sin(h * (0.1 * i)) * x(slice(i % 7, 64))(slice(0, 1)));
    return grad(loss, x).to_vector<float>();
  };
  const auto first = run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), first);
}

}  // namespace
}  // namespace minnow
