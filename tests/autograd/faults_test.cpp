#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "support/devices.h"
#include "support/errors.h"
#include "support/thrown.h"

/// Bad indices, targets and divisors, which only the kernel sees.  An asynchronous device reports them at the next
/// synchronization, with the operation and its line; the program can continue.
namespace minnow {
namespace {

class Faults : public test::DeviceTest {
 protected:
  static Tensor whole(const std::vector<std::int64_t>& values) { return tensor(values, {.device = device()}); }
  static Tensor rows() { return ones({4, 3}, {.device = device()}); }
  void TearDown() override {
    synchronize(device());  // reported once
    EXPECT_EQ(sum(rows() + 1).item(), 24);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Faults, test::all_devices(), test::device_test_name);

TEST_P(Faults, NameTheOperationAndTheLine) {
  using test::Misuse;
  const Tensor x = rows(), above = whole({0, 4}), below = whole({-1, 0}), class_3 = whole({0, 3});
  const Tensor at = whole({0, 9}).reshape({2, 1}), column = ones({2, 1}, {.device = device()});
  const Tensor two = ones({2, 3}, {.device = device()}), n = whole({7, 8}), zero = whole({1, 0});
  test::expect_errors({
      Misuse{"IndexError", "index_select", "", [&] { finish([&] { index_select(x, 0, above); }); }},
      Misuse{"IndexError", "index_select", "", [&] { finish([&] { index_select(x, 0, below); }); }},
      Misuse{"IndexError", "gather", "", [&] { finish([&] { gather(x, 1, at); }); }},
      Misuse{"IndexError", "scatter_add", "", [&] { finish([&] { scatter_add(x, 1, at, column); }); }},
      Misuse{"IndexError", "index_add", "", [&] { finish([&] { index_add(x, 0, above, two); }); }},
      Misuse{"IndexError", "cross_entropy", "", [&] { finish([&] { nn::cross_entropy(two, class_3); }); }},
      Misuse{"IndexError", "cross_entropy", "", [&] { finish([&] { nn::cross_entropy(two, below); }); }},
      Misuse{"ValueError", "floor_divide", "zero", [&] { finish([&] { floor_divide(n, zero); }); }},
      Misuse{"ValueError", "remainder", "zero", [&] { finish([&] { remainder(n, zero); }); }},
      Misuse{"ValueError", "fmod", "zero", [&] { finish([&] { fmod(n, zero); }); }},
      Misuse{"ValueError", "floor_divide_", "zero", [&] { finish([&] { floor_divide_(n, zero); }); }},
  });
}

TEST_P(Faults, OfBackwardNameTheForwardLine) {
  const Tensor x = rows().requires_grad_();
  const Tensor targets = whole({0, 1, 2, 0});
  unsigned line = 0;
  const std::string text = test::error_of<IndexError>([&] {
    finish([&] {
      line = __LINE__ + 1;
      const Tensor loss = nn::cross_entropy(x, whole({0, 1, 2, 5}));
      loss.backward();
    });
  });
  EXPECT_NE(text.find("cross_entropy"), std::string::npos) << text;
  EXPECT_NE(text.find("(faults_test.cpp:" + std::to_string(line) + ")"), std::string::npos) << text;
  x.set_grad(Tensor());
  nn::cross_entropy(x, targets).backward();
  EXPECT_NEAR(sum(abs(x.grad())).item(), 4.0 / 3, 1e-5);
}

TEST_P(Faults, NextTrainingStepIsCorrect) {
  nn::Linear net(3, 2);
  net.to(device());
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  int failed = 0;
  for (const std::int64_t label : {0, 7, 1}) {
    try {
      const Tensor loss = nn::cross_entropy(net(ones({1, 3}, {.device = device()})), whole({label}));
      sgd.zero_grad();
      const double value = loss.item();
      loss.backward();
      sgd.step();
      EXPECT_GT(value, 0);
    } catch (const IndexError&) { ++failed; }
  }
  EXPECT_EQ(failed, 1);
}

}  // namespace
}  // namespace minnow
