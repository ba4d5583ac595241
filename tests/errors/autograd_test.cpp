#include <gtest/gtest.h>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of backward, grad, hooks, record and gradcheck.
namespace minnow {
namespace {

using test::expect_errors;
using test::kShown;
using test::kUndefined;
using test::Misuse;

Tensor leaf() { return zeros({2, 3}).requires_grad_(); }

TEST(Errors, Backward) {
  const Tensor x = leaf(), y = x * 2, plain = zeros({2, 3}), far = zeros({2, 3}, {.device = "sim:0"});
  expect_errors({
      Misuse{"AutogradError", "backward", kShown, [=] { backward({y}); }},
      Misuse{"AutogradError", "backward", kShown, [=] { backward({plain}); }},
      Misuse{"AutogradError", "backward", kUndefined, [] { backward({Tensor()}); }},
      Misuse{"ShapeError", "backward", "float32[3] on cpu", [=] { backward({y}, {zeros({3})}); }},
      Misuse{"DeviceError", "backward", "float32[2, 3] on sim:0", [=] { backward({y}, {far}); }},
      Misuse{"ValueError", "backward", "gradients  2",
             [=] {
               backward({y}, {plain, plain});
             }},
      Misuse{"AutogradError", "grad", kShown, [=] { grad(y, x); }},
      Misuse{"AutogradError", "grad", kShown, [=] { grad(plain, x); }},
      Misuse{"AutogradError", "grad", kShown, [=] { grad(sum(y), plain); }},
      Misuse{"AutogradError", "grad", kShown, [=] { grad(sum(y), leaf()); }},
      Misuse{"AutogradError", "grad", kUndefined, [=] { grad(sum(y), Tensor()); }},
      Misuse{"ShapeError", "grad", "float32[3] on cpu", [=] { grad(y, x, {.grad_outputs = {zeros({3})}}); }},
      Misuse{"ValueError", "grad", "outputs    1",
             [=] {
               grad(y, x, {.grad_outputs = {plain, plain}});
             }},
  });
}

TEST(Errors, Graphs) {
  const Tensor x = leaf();
  const auto twice = [](const Tensor& y) { sum(y).backward(), sum(y).backward(); };
  const auto overwrite = [](const Tensor& y) {
    const Tensor z = sum(y);
    fill_(y.detach(), 1);
    z.backward();
  };
  const auto both = [](const Tensor& g) { return Gradients{g, g}; };
  const auto same = [](const Tensor& g) { return g; };
  const auto none = [](const Tensor&) { return Gradients(); };
  const auto other = [](const Tensor&) { return zeros({5}); };
  const auto far = [](const Tensor&) { return zeros({2, 3}, {.device = "sim:0"}); };
  const Tensor stale = x * 2;
  fill_(stale.detach(), 1);
  expect_errors({
      Misuse{"AutogradError", "exp", "saved  float32[2, 3] on cpu", [=] { overwrite(exp(x)); }},
      Misuse{"AutogradError", "mul", "retain_graph", [=] { twice(x * x); }},
      Misuse{"AutogradError", "add", "operand  float32[2, 3] on cpu", [=] { (void)(stale + 1); }},
      Misuse{"AutogradError", "two", "2 gradients for 1 input",
             [=] { record("two", zeros({}), {x}, both).backward(); }},
      Misuse{"AutogradError", "one", "1 gradient for 2 inputs",
             [=] {
               record("one", zeros({}), {x, x}, same).backward();
             }},
      Misuse{"AutogradError", "one", "Gradients{g0, g1, ...}",
             [=] {
               record("one", zeros({}), {x, Tensor()}, same).backward();
             }},
      Misuse{"AutogradError", "none", "0 gradients for 1 input  (",
             [=] { record("none", zeros({}), {x}, none).backward(); }},
      Misuse{"ShapeError", "bad", "[2, 3] does not broadcast to [5]",
             [=] { record("bad", zeros({}), {x}, other).backward(); }},
      Misuse{"DeviceError", "bad", "float32[2, 3] on sim:0", [=] { record("bad", zeros({}), {x}, far).backward(); }},
  });
}

TEST(Errors, ChangedLeaves) {
  // With a gradient of what they were, and between two uses.
  const auto changed = [](const Tensor& value) {
    Tensor x = leaf();
    sum(x).backward();
    x.set_data(value);
    return sum(x);
  };
  const auto between = [](const Tensor& value) {
    Tensor x = leaf();
    const Tensor first = sum(x);
    x.set_data(value);
    return first + sum(x);
  };
  const Tensor four = zeros({4}), far = zeros({2, 3}, {.device = "sim:0"}), wide = zeros({2, 3}, {DType::float64});
  const char *hint = "call zero_grad() after the tensor was moved", *again = "compute the loss again";
  expect_errors({
      Misuse{"ShapeError", "backward", "grad()    float32[2, 3] on cpu", [=] { changed(four).backward(); }},
      Misuse{"ShapeError", "backward", hint, [=] { changed(four).backward(); }},
      Misuse{"DeviceError", "backward", hint, [=] { changed(far).backward(); }},
      Misuse{"DTypeError", "backward", hint, [=] { changed(wide).backward(); }},
      Misuse{"AutogradError", "backward", again, [=] { between(four).backward(); }},
      Misuse{"AutogradError", "backward", again, [=] { between(wide).backward(); }},
  });
}

TEST(Errors, Hooks) {
  const Tensor x = leaf(), plain = zeros({2, 3});
  const auto same = [](const Tensor& g) { return g; };
  expect_errors({
      Misuse{"AutogradError", "register_hook", kShown, [=] { (void)register_hook(plain, same); }},
      Misuse{"ValueError", "register_hook", kUndefined, [=] { (void)register_hook(Tensor(), same); }},
      Misuse{"ValueError", "register_hook", kShown, [=] { (void)register_hook(x, {}); }},
      Misuse{"ShapeError", "register_hook", "float32[3] on cpu",
             [=] {
               const auto hook = register_hook(x, [](const Tensor&) { return zeros({3}); });
               sum(x).backward();
             }},
  });
}

TEST(Errors, Gradcheck) {
  const Tensor wide = ones({2}, {DType::float64}).requires_grad_(), x = leaf(), plain = ones({2}, {DType::float64});
  const TensorFunction right = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  const TensorFunction wrong = [](const std::vector<Tensor>& in) {
    return record("wrong", square(in[0].detach()), {in[0]}, [](const Tensor& g) { return g * 5; });
  };
  const TensorFunction restless = [](const std::vector<Tensor>& in) { return square(in[0]) * rand({}); };
  expect_errors({
      Misuse{"DTypeError", "gradcheck", kShown, [=] { gradcheck(right, {x}); }},
      Misuse{"AutogradError", "gradcheck", "requires a gradient", [=] { gradcheck(right, {plain}); }},
      Misuse{"AutogradError", "gradcheck", "float64[2] on cpu", [=] { gradcheck(wrong, {wide}); }},
      Misuse{"ValueError", "gradcheck", "the function is empty", [=] { gradcheck({}, {wide}); }},
      Misuse{"AutogradError", "gradcheck", "two results for the same inputs", [=] { gradcheck(restless, {wide}); }},
      Misuse{"AutogradError", "gradgradcheck", "must be deterministic", [=] { gradgradcheck(restless, {wide}); }},
      Misuse{"DTypeError", "gradgradcheck", kShown, [=] { gradgradcheck(right, {x}); }},
      Misuse{"AutogradError", "gradgradcheck", "requires a gradient", [=] { gradgradcheck(right, {plain}); }},
      Misuse{"ValueError", "gradgradcheck", "the function is empty", [=] { gradgradcheck({}, {wide}); }},
  });
}

}  // namespace
}  // namespace minnow
