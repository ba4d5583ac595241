#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/captured_step.h>
#include "errors.h"

/// Bad inputs of CapturedStep.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, CapturedSteps) {
  const Device far(DeviceType::cuda, 9);
  const auto nothing = [] {};
  expect_errors({
      Misuse{"ValueError", "CapturedStep", "warm_up = -1", [=] { CapturedStep(nothing, {.warm_up = -1}); }},
      Misuse{"ValueError", "CapturedStep", "max_captures = -2", [=] { CapturedStep(nothing, {.max_captures = -2}); }},
      Misuse{"DeviceError", "CapturedStep", "cuda:9 cannot be used", [=] { CapturedStep(nothing, {.device = far}); }},
  });
  const Tensor x = zeros({2}), none;
  const std::vector<Tensor> three{x, x, x};
  for (const Device device : {Device(), Device(DeviceType::sim)}) {
    CapturedStep two([](const Tensor& a, const Tensor& b) { return a + b; }, {.device = device});
    expect_errors({
        Misuse{"ValueError", "CapturedStep", "takes 2 tensors, got 0", [&] { two(); }},
        Misuse{"ValueError", "CapturedStep", "got 1", [&] { two(x); }},
        Misuse{"ValueError", "CapturedStep", "got 3", [&] { two(x, x, x); }},
        Misuse{"ValueError", "CapturedStep", "got 4", [&] { two(x, x, x, x); }},
        Misuse{"ValueError", "CapturedStep", "got 3", [&] { two.run(three); }},
        Misuse{"ValueError", "CapturedStep", "input 1  undefined tensor", [&] { two(x, none); }},
        Misuse{"ValueError", "CapturedStep", "input 0  undefined tensor", [&] { two(none, x); }},
    });
    EXPECT_EQ(two(x + 1, x + 2).to_vector<float>(), (std::vector<float>{3, 3}));
  }
}

}  // namespace
}  // namespace minnow
