#include <cmath>
#include <gtest/gtest.h>
#include <minnow/nn/init.h>
#include <minnow/nn/loss.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of losses and initialization.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

constexpr const char* kUndefined = "undefined tensor";
constexpr const char* kShown = "float32[2, 3] on cpu";

TEST(Errors, ClassLosses) {
  const Tensor x = zeros({2, 3}), none, t = tensor({0, 1}), far = t.to("sim:0"), ints = zeros({2, 3}, {DType::int64});
  const Tensor weight = ones({3}), wide = ones({3}, {DType::float64});
  expect_errors({
      Misuse{"ShapeError", "cross_entropy", "int64[3] on cpu", [=] { nn::cross_entropy(x, arange(3)); }},
      Misuse{"ShapeError", "cross_entropy", "float32[2, 4] on cpu",
             [=] {
               nn::cross_entropy(x, zeros({2, 4}));
             }},
      Misuse{"ShapeError", "cross_entropy", "float32[] on cpu", [=] { nn::cross_entropy(zeros({}), t); }},
      Misuse{"ShapeError", "cross_entropy", "float32[4] on cpu",
             [=] { nn::cross_entropy(x, t, {.weight = ones({4})}); }},
      Misuse{"DTypeError", "cross_entropy", "float64[3] on cpu", [=] { nn::cross_entropy(x, t, {.weight = wide}); }},
      Misuse{"DTypeError", "cross_entropy", "int32[2] on cpu", [=] { nn::cross_entropy(x, t.to(DType::int32)); }},
      Misuse{"DTypeError", "cross_entropy", "int64[2, 3] on cpu", [=] { nn::cross_entropy(ints, t); }},
      Misuse{"IndexError", "cross_entropy", kShown,
             [=] {
               nn::cross_entropy(x, tensor({0, 3}));
             }},
      Misuse{"IndexError", "cross_entropy", "int64[2",
             [=] {
               nn::cross_entropy(x, tensor({0, -1}), {.weight = weight});
             }},
      Misuse{"ValueError", "cross_entropy", "1.5", [=] { nn::cross_entropy(x, t, {.label_smoothing = 1.5}); }},
      Misuse{"DeviceError", "cross_entropy", "int64[2] on sim:0", [=] { nn::cross_entropy(x, far); }},
      Misuse{"DeviceError", "cross_entropy", "on sim:0",
             [=] { nn::cross_entropy(x, t, {.weight = weight.to("sim:0")}); }},
      Misuse{"ValueError", "cross_entropy", kUndefined, [=] { nn::cross_entropy(none, t); }},
      Misuse{"ShapeError", "nll_loss", "int64[3] on cpu", [=] { nn::nll_loss(x, arange(3)); }},
      Misuse{"ShapeError", "nll_loss", "float32[4] on cpu", [=] { nn::nll_loss(x, t, {.weight = ones({4})}); }},
      Misuse{"DTypeError", "nll_loss", kShown, [=] { nn::nll_loss(x, x); }},
      Misuse{"IndexError", "nll_loss", "int64[2",
             [=] {
               nn::nll_loss(x, tensor({0, 3}));
             }},
      Misuse{"DeviceError", "nll_loss", "int64[2] on sim:0", [=] { nn::nll_loss(x, far); }},
      Misuse{"ValueError", "nll_loss", kUndefined, [=] { nn::nll_loss(x, none); }},
  });
}

TEST(Errors, ElementLosses) {
  using Loss = std::function<Tensor(const In&, const In&)>;
  const std::pair<const char*, Loss> all[] = {
      {"mse_loss", [](const In& x, const In& y) { return nn::mse_loss(x, y); }},
      {"l1_loss", [](const In& x, const In& y) { return nn::l1_loss(x, y); }},
      {"smooth_l1_loss", [](const In& x, const In& y) { return nn::smooth_l1_loss(x, y); }},
      {"binary_cross_entropy_with_logits",
       [](const In& x, const In& y) { return nn::binary_cross_entropy_with_logits(x, y); }}};
  const Tensor x = zeros({2, 3}), none, far = zeros({2, 3}, {.device = "sim:0"}), ints = zeros({2, 3}, {DType::int64});
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"ShapeError", name, "float32[3] on cpu", [=, f = f] { f(x, zeros({3})); }},
        Misuse{"DTypeError", name, "int64[2, 3] on cpu", [=, f = f] { f(ints, ints); }},
        Misuse{"DeviceError", name, "float32[2, 3] on sim:0", [=, f = f] { f(x, far); }},
        Misuse{"ValueError", name, kUndefined, [=, f = f] { f(x, none); }},
    });
  expect_errors({
      Misuse{"ValueError", "smooth_l1_loss", "beta must be positive, got 0",
             [=] { nn::smooth_l1_loss(x, x, {.beta = 0}); }},
      Misuse{"ShapeError", "binary_cross_entropy_with_logits", "float32[4] on cpu",
             [=] { nn::binary_cross_entropy_with_logits(x, x, {.weight = ones({4})}); }},
      Misuse{"ShapeError", "binary_cross_entropy_with_logits", "float32[4] on cpu",
             [=] { nn::binary_cross_entropy_with_logits(x, x, {.pos_weight = ones({4})}); }},
  });
}

TEST(Errors, Initialization) {
  using Init = std::function<Tensor(const Tensor&, SourceLocation)>;
  using L = SourceLocation;
  namespace init = nn::init;
  const std::pair<const char*, Init> all[] = {
      {"uniform_", [](const Tensor& t, L l) { return init::uniform_(t, 0, 1, nullptr, l); }},
      {"normal_", [](const Tensor& t, L l) { return init::normal_(t, 0, 1, nullptr, l); }},
      {"trunc_normal_", [](const Tensor& t, L l) { return init::trunc_normal_(t, {}, l); }},
      {"constant_", [](const Tensor& t, L l) { return init::constant_(t, 3, l); }},
      {"ones_", [](const Tensor& t, L l) { return init::ones_(t, l); }},
      {"zeros_", [](const Tensor& t, L l) { return init::zeros_(t, l); }},
      {"eye_", [](const Tensor& t, L l) { return init::eye_(t, l); }},
      {"dirac_", [](const Tensor& t, L l) { return init::dirac_(t, 1, l); }},
      {"orthogonal_", [](const Tensor& t, L l) { return init::orthogonal_(t, 1, nullptr, l); }},
      {"sparse_", [](const Tensor& t, L l) { return init::sparse_(t, 0.5, 0.01, nullptr, l); }},
      {"fans", [](const Tensor& t, L l) { return init::fans(t, l), t; }},
      {"xavier_uniform_", [](const Tensor& t, L l) { return init::xavier_uniform_(t, 1, nullptr, l); }},
      {"xavier_normal_", [](const Tensor& t, L l) { return init::xavier_normal_(t, 1, nullptr, l); }},
      {"kaiming_uniform_", [](const Tensor& t, L l) { return init::kaiming_uniform_(t, {}, l); }},
      {"kaiming_normal_", [](const Tensor& t, L l) { return init::kaiming_normal_(t, {}, l); }}};
  const Tensor x = zeros({2, 3}), row = zeros({3}), ints = zeros({2, 3}, {DType::int64}), none;
  const auto here = SourceLocation::current;
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"DTypeError", name, "int64[2, 3] on cpu",
               [=, f = f] { f(ints, here(__builtin_FILE(), __builtin_LINE())); }},
        Misuse{"ValueError", name, kUndefined, [=, f = f] { f(none, here(__builtin_FILE(), __builtin_LINE())); }},
    });
  for (const char* const name :
       {"eye_", "dirac_", "orthogonal_", "sparse_", "fans", "xavier_uniform_", "kaiming_normal_"})
    for (const auto& [known, f] : all)
      if (known == std::string(name))
        expect_errors({Misuse{"ShapeError", name, "float32[3] on cpu",
                              [=, f = f] { f(row, here(__builtin_FILE(), __builtin_LINE())); }}});
  expect_errors({
      Misuse{"ValueError", "uniform_", "got 1 and 0", [=] { init::uniform_(x, 1, 0); }},
      Misuse{"ShapeError", "uniform_", kShown,
             [] {
               init::uniform_(zeros({3}).expand({2, 3}));
             }},
      Misuse{"ValueError", "normal_", "-1", [=] { init::normal_(x, 0, -1); }},
      Misuse{"ValueError", "trunc_normal_", "std  0", [=] { init::trunc_normal_(x, {.std = 0}); }},
      Misuse{"ValueError", "trunc_normal_", "a    3", [=] { init::trunc_normal_(x, {.a = 3}); }},
      Misuse{"ShapeError", "constant_", kShown,
             [] {
               init::constant_(zeros({3}).expand({2, 3}), 1);
             }},
      Misuse{"ShapeError", "ones_", kShown,
             [] {
               init::ones_(zeros({3}).expand({2, 3}));
             }},
      Misuse{"ShapeError", "zeros_", kShown,
             [] {
               init::zeros_(zeros({3}).expand({2, 3}));
             }},
      Misuse{"ShapeError", "dirac_", kShown, [=] { init::dirac_(x); }},
      Misuse{"ValueError", "dirac_", "float32[3, 2, 1]",
             [] {
               init::dirac_(zeros({3, 2, 1}), 2);
             }},
      Misuse{"ValueError", "sparse_", "1.5", [=] { init::sparse_(x, 1.5); }},
      Misuse{"ValueError", "calculate_gain", "'gelu'", [] { init::calculate_gain("gelu"); }},
      Misuse{"ValueError", "calculate_gain", "''", [] { init::calculate_gain(""); }},
      Misuse{"ValueError", "calculate_gain", "'ReLU'", [] { init::calculate_gain("ReLU"); }},
      Misuse{"ValueError", "kaiming_uniform_", "'gelu'", [=] { init::kaiming_uniform_(x, {.nonlinearity = "gelu"}); }},
      Misuse{"ValueError", "kaiming_normal_", "'gelu'", [=] { init::kaiming_normal_(x, {.nonlinearity = "gelu"}); }},
  });
}

}  // namespace
}  // namespace minnow
