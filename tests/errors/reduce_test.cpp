#include <gtest/gtest.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of reductions, selections and softmax.
namespace minnow {
namespace {

using test::expect_errors;
using test::kShown;
using test::kUndefined;
using test::Misuse;

TEST(Errors, EveryReduction) {
  using Function = std::function<Tensor(const In&, const Shape&)>;
  const auto with = [](auto f) -> Function {
    return [f](const In& x, const Shape& dims) { return f(x, dims, false); };
  };
  const auto spread = [](auto f) -> Function { return [f](const In& x, const Shape& d) { return f(x, d, 1, false); }; };
  const auto normed = [](double p) -> Function { return [p](const In& x, const Shape& d) { return norm(x, p, d); }; };
  const std::pair<const char*, Function> all[] = {{"sum", with(sum)},           {"mean", with(mean)},
                                                  {"var", spread(var)},         {"stddev", spread(stddev)},
                                                  {"prod", with(prod)},         {"amax", with(amax)},
                                                  {"amin", with(amin)},         {"any", with(any)},
                                                  {"all", with(minnow::all)},   {"norm", normed(0)},
                                                  {"norm", normed(1)},          {"norm", normed(2)},
                                                  {"norm", normed(3)},          {"norm", normed(kInfinity)},
                                                  {"norm", normed(-kInfinity)}, {"logsumexp", with(logsumexp)}};
  const Tensor x = zeros({2, 3});
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"IndexError", name, kShown, [=, f = f] { f(x, {2}); }},
        Misuse{"IndexError", name, kShown,
               [=, f = f] {
                 f(x, {0, -3});
               }},
        Misuse{"ValueError", name, kShown,
               [=, f = f] {
                 f(x, {1, -1});
               }},
        Misuse{"ValueError", name, kUndefined, [=, f = f] { f(Tensor(), {}); }},
    });
  const Tensor ints = arange(3), empty = zeros({2, 0});
  expect_errors({
      Misuse{"DTypeError", "mean", "int64[3] on cpu", [=] { mean(ints); }},
      Misuse{"DTypeError", "var", "int64[3] on cpu", [=] { var(ints); }},
      Misuse{"DTypeError", "stddev", "int64[3] on cpu", [=] { stddev(ints); }},
      Misuse{"DTypeError", "norm", "int64[3] on cpu", [=] { norm(ints); }},
      Misuse{"DTypeError", "norm", "int64[3] on cpu", [=] { norm(ints, kInfinity); }},
      Misuse{"ShapeError", "amax", "float32[2, 0] on cpu", [=] { amax(empty, {1}); }},
      Misuse{"ShapeError", "amin", "float32[2, 0] on cpu", [=] { amin(empty); }},
      Misuse{"ShapeError", "norm", "float32[2, 0] on cpu", [=] { norm(empty, kInfinity); }},
      Misuse{"ShapeError", "max", "float32[2, 0] on cpu", [=] { max(empty); }},
      Misuse{"ValueError", "max", kUndefined, [] { max(Tensor()); }},
      Misuse{"ShapeError", "min", "float32[2, 0] on cpu", [=] { min(empty); }},
      Misuse{"ValueError", "min", kUndefined, [] { min(Tensor()); }},
      Misuse{"ShapeError", "sum_to", kShown, [=] { sum_to(x, {4}); }},
      Misuse{"ShapeError", "sum_to", kShown,
             [=] {
               sum_to(x, {2, 3, 1});
             }},
      Misuse{"ValueError", "sum_to", kUndefined, [] { sum_to(Tensor(), {1}); }},
  });
}

TEST(Errors, MaxAndMin) {
  using Function = std::function<void(const In&, int)>;
  const std::pair<const char*, Function> all[] = {{"max", [](const In& x, int d) { max(x, d); }},
                                                  {"min", [](const In& x, int d) { min(x, d); }},
                                                  {"argmax", [](const In& x, int d) { argmax(x, d); }},
                                                  {"argmin", [](const In& x, int d) { argmin(x, d); }}};
  const Tensor x = zeros({2, 3}), empty = zeros({2, 0});
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"IndexError", name, kShown, [=, f = f] { f(x, 2); }},
        Misuse{"IndexError", name, kShown, [=, f = f] { f(x, -3); }},
        Misuse{"ShapeError", name, "float32[2, 0] on cpu", [=, f = f] { f(empty, 1); }},
        Misuse{"ValueError", name, kUndefined, [=, f = f] { f(Tensor(), 0); }},
    });
  expect_errors({
      Misuse{"ShapeError", "argmax", "float32[0] on cpu", [=] { argmax(empty); }},
      Misuse{"ShapeError", "argmin", "float32[0] on cpu", [=] { argmin(empty); }},
      Misuse{"ValueError", "argmax", kUndefined, [] { argmax(Tensor()); }},
      Misuse{"ValueError", "argmin", kUndefined, [] { argmin(Tensor()); }},
  });
}

TEST(Errors, Selections) {
  const Tensor x = zeros({2, 3}), none, i = tensor({0, 1}), wide = tensor({{0, 1, 2}}), bad = tensor({0, 2}),
               far = zeros({2, 3}, {.device = "sim:0"}), floats = zeros({2}), like = zeros({2, 3}, {DType::int64});
  expect_errors({
      Misuse{"IndexError", "gather", kShown, [=] { gather(x, 2, wide); }},
      Misuse{"IndexError", "gather", "int64[1, 3] on cpu", [=] { gather(x, 0, wide); }},
      Misuse{"ShapeError", "gather", "int64[2] on cpu", [=] { gather(x, 0, i); }},
      Misuse{"DTypeError", "gather", kShown, [=] { gather(x, 0, x); }},
      Misuse{"DeviceError", "gather", "float32[2, 3] on sim:0", [=] { gather(far, 0, wide); }},
      Misuse{"ValueError", "gather", kUndefined, [=] { gather(none, 0, wide); }},
      Misuse{"IndexError", "scatter_add", kShown, [=] { scatter_add(x, -3, like, x); }},
      Misuse{"IndexError", "scatter_add", "index  int64[1, 3] on cpu",
             [=] {
               scatter_add(x, 0, wide, zeros({1, 3}));
             }},
      Misuse{"ShapeError", "scatter_add", kShown,
             [=] {
               scatter_add(x, 0, like, zeros({2, 2}));
             }},
      Misuse{"DTypeError", "scatter_add", "int64[2, 3] on cpu", [=] { scatter_add(x, 0, like, like); }},
      Misuse{"ValueError", "scatter_add", kUndefined, [=] { scatter_add(x, 0, like, none); }},
      Misuse{"IndexError", "index_select", kShown, [=] { index_select(x, 2, i); }},
      Misuse{"IndexError", "index_select", "int64[2] on cpu", [=] { index_select(x, 0, bad); }},
      Misuse{"IndexError", "index_select", "int64[1] on cpu", [=] { index_select(x, 0, tensor({-1})); }},
      Misuse{"ShapeError", "index_select", "int64[1, 3] on cpu", [=] { index_select(x, 0, wide); }},
      Misuse{"DTypeError", "index_select", "float32[2] on cpu", [=] { index_select(x, 0, floats); }},
      Misuse{"ValueError", "index_select", kUndefined, [=] { index_select(x, 0, none); }},
      Misuse{"IndexError", "index_add", kShown, [=] { index_add(x, 2, i, x); }},
      Misuse{"IndexError", "index_add", "int64[2] on cpu", [=] { index_add(x, 0, bad, x); }},
      Misuse{"ShapeError", "index_add", "float32[3] on cpu", [=] { index_add(x, 0, i, zeros({3})); }},
      Misuse{"DTypeError", "index_add", "int64[2, 3] on cpu", [=] { index_add(x, 0, i, like); }},
      Misuse{"ValueError", "index_add", kUndefined, [=] { index_add(none, 0, i, x); }},
      Misuse{"DTypeError", "one_hot", "float32[2] on cpu", [=] { one_hot(floats); }},
      Misuse{"ValueError", "one_hot", "int64[2] on cpu", [=] { one_hot(i, 0); }},
      Misuse{"IndexError", "one_hot", "int64[2] on cpu", [=] { one_hot(bad, 2); }},
      Misuse{"IndexError", "one_hot", "int64[1] on cpu", [=] { one_hot(tensor({-1}), 2); }},
      Misuse{"ValueError", "one_hot", "int64[0] on cpu", [] { one_hot(zeros({0}, {DType::int64})); }},
      Misuse{"ValueError", "one_hot", kUndefined, [=] { one_hot(none); }},
  });
}

TEST(Errors, Joining) {
  const Tensor x = zeros({2, 3}), none, far = zeros({2, 3}, {.device = "sim:0"}),
               wide = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  expect_errors({
      Misuse{"ValueError", "cat", "give at least one", [] { cat({}); }},
      Misuse{"ShapeError", "cat", "float32[2, 4] on cpu",
             [=] {
               cat({x, zeros({2, 4})});
             }},
      Misuse{"ShapeError", "cat", "cannot be joined",
             [] {
               cat({zeros({}), zeros({})});
             }},
      Misuse{"IndexError", "cat", kShown,
             [=] {
               cat({x, x}, 2);
             }},
      Misuse{"DeviceError", "cat", "on sim:0",
             [=] {
               cat({x, far});
             }},
      Misuse{"ValueError", "cat", kUndefined,
             [=] {
               cat({x, none});
             }},
      Misuse{"ValueError", "stack", "give at least one", [] { stack({}); }},
      Misuse{"ShapeError", "stack", "float32[3] on cpu",
             [=] {
               stack({x, zeros({3})});
             }},
      Misuse{"ShapeError", "stack", "maximum of 8", [=] { stack({wide}); }},
      Misuse{"IndexError", "stack", kShown,
             [=] {
               stack({x, x}, 3);
             }},
      Misuse{"DeviceError", "stack", "on sim:0",
             [=] {
               stack({x, far});
             }},
      Misuse{"ValueError", "stack", kUndefined,
             [=] {
               stack({none, x});
             }},
      Misuse{"ValueError", "stack", kUndefined,
             [=] {
               stack({x, none});
             }},
  });
}

TEST(Errors, SoftmaxAndDropout) {
  const Tensor x = zeros({2, 3}), none, ints = arange(3), classes = tensor({0, 3});
  expect_errors({
      Misuse{"IndexError", "softmax", kShown, [=] { softmax(x, 2); }},
      Misuse{"DTypeError", "softmax", "int64[3] on cpu", [=] { softmax(ints, 0); }},
      Misuse{"ValueError", "softmax", kUndefined, [=] { softmax(none, 0); }},
      Misuse{"IndexError", "log_softmax", kShown, [=] { log_softmax(x, -3); }},
      Misuse{"DTypeError", "log_softmax", "int64[3] on cpu", [=] { log_softmax(ints, 0); }},
      Misuse{"ValueError", "log_softmax", kUndefined, [=] { log_softmax(none, 0); }},
      Misuse{"IndexError", "cross_entropy", "int64[2] on cpu", [=] { cross_entropy_rows(x, classes); }},
      Misuse{"ShapeError", "cross_entropy", "int64[3] on cpu", [=] { cross_entropy_rows(x, ints); }},
      Misuse{"DTypeError", "cross_entropy", "float32[2] on cpu", [=] { cross_entropy_rows(x, zeros({2})); }},
      Misuse{"ValueError", "cross_entropy", kUndefined, [=] { cross_entropy_rows(none, ints); }},
      Misuse{"ValueError", "dropout", kShown, [=] { dropout(x, {.p = 1.5}); }},
      Misuse{"ValueError", "dropout", kShown, [=] { dropout(x, {.p = -0.1}); }},
      Misuse{"DTypeError", "dropout", "int64[3] on cpu", [=] { dropout(ints); }},
      Misuse{"ValueError", "dropout", kUndefined, [=] { dropout(none, {.p = 0}); }},
  });
}

}  // namespace
}  // namespace minnow
