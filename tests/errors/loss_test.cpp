#include <cmath>
#include <gtest/gtest.h>
#include <minnow/nn/losses/ctc_loss.h>
#include <minnow/nn/losses/likelihood_loss.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/losses/margin_loss.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of losses and initialization.
namespace minnow {
namespace {

using test::expect_errors;
using test::kShown;
using test::kUndefined;
using test::Misuse;

TEST(Errors, CtcLoss) {
  const Tensor x = zeros({6, 2, 4}), t = ones({2, 3}, {DType::int64}), in = tensor({6, 5}), out = tensor({3, 1}), none;
  expect_errors({
      Misuse{"ShapeError", "ctc_loss", "float32[6] on cpu", [=] { nn::ctc_loss(zeros({6}), t, in, out); }},
      Misuse{"ShapeError", "ctc_loss", "int64[3, 3] on cpu",
             [=] {
               nn::ctc_loss(x, ones({3, 3}, {DType::int64}), in, out);
             }},
      Misuse{"ShapeError", "ctc_loss", "int64[3] on cpu", [=] { nn::ctc_loss(x, t, arange(3), out); }},
      Misuse{"ShapeError", "ctc_loss", "int64[] on cpu", [=] { nn::ctc_loss(x, t, in, tensor(3)); }},
      Misuse{"ShapeError", "ctc_loss", "float32[6, 4] on cpu",
             [=] {
               nn::ctc_loss(zeros({6, 4}), t, in, out);
             }},
      Misuse{"DTypeError", "ctc_loss", "float16[6, 2, 4] on cpu",
             [=] { nn::ctc_loss(x.to(DType::float16), t, in, out); }},
      Misuse{"DTypeError", "ctc_loss", "float32[2, 3] on cpu",
             [=] {
               nn::ctc_loss(x, zeros({2, 3}), in, out);
             }},
      Misuse{"DTypeError", "ctc_loss", "int16[2] on cpu", [=] { nn::ctc_loss(x, t, in.to(DType::int16), out); }},
      Misuse{"ValueError", "ctc_loss", "blank is 4, and there are 4 classes",
             [=] { nn::ctc_loss(x, t, in, out, {.blank = 4}); }},
      Misuse{"ValueError", "ctc_loss", "blank is -1", [=] { nn::ctc_loss(x, t, in, out, {.blank = -1}); }},
      Misuse{"ValueError", "ctc_loss", "input_lengths[1] is 7, and log_probs has 6 steps",
             [=] {
               nn::ctc_loss(x, t, tensor({6, 7}), out);
             }},
      Misuse{"ValueError", "ctc_loss", "target_lengths[0] is 4, and there are 3 targets",
             [=] {
               nn::ctc_loss(x, t, in, tensor({4, 1}));
             }},
      Misuse{"ValueError", "ctc_loss", "target_lengths sum to 4, and there are 6 targets",
             [=] { nn::ctc_loss(x, t.flatten(), in, out); }},
      Misuse{"IndexError", "ctc_loss", "target 5 of sample 0 is out of range",
             [=] { nn::ctc_loss(x, t * 5, in, out); }},
      Misuse{"DeviceError", "ctc_loss", "int64[2] on sim:0", [=] { nn::ctc_loss(x, t, in.to("sim:0"), out); }},
      Misuse{"ValueError", "ctc_loss", kUndefined, [=] { nn::ctc_loss(x, t, none, out); }},
      Misuse{"ValueError", "ctc_loss", "batchmean",
             [=] { nn::ctc_loss(x, t, in, out, {.reduction = nn::Reduction::batchmean}); }},
  });
}

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
      {"huber_loss", [](const In& x, const In& y) { return nn::huber_loss(x, y); }},
      {"binary_cross_entropy", [](const In& x, const In& y) { return nn::binary_cross_entropy(x, y); }},
      {"kl_div", [](const In& x, const In& y) { return nn::kl_div(x, y); }},
      {"gaussian_nll_loss", [](const In& x, const In& y) { return nn::gaussian_nll_loss(x, y, x); }},
      {"poisson_nll_loss", [](const In& x, const In& y) { return nn::poisson_nll_loss(x, y); }},
      {"soft_margin_loss", [](const In& x, const In& y) { return nn::soft_margin_loss(x, y); }},
      {"hinge_embedding_loss", [](const In& x, const In& y) { return nn::hinge_embedding_loss(x, y); }},
      {"margin_ranking_loss", [](const In& x, const In& y) { return nn::margin_ranking_loss(x, y, x); }},
      {"triplet_margin_loss", [](const In& x, const In& y) { return nn::triplet_margin_loss(x, y, x); }},
      {"multilabel_soft_margin_loss", [](const In& x, const In& y) { return nn::multilabel_soft_margin_loss(x, y); }},
      {"binary_cross_entropy_with_logits",
       [](const In& x, const In& y) { return nn::binary_cross_entropy_with_logits(x, y); }}};
  const Tensor x = zeros({2, 3}), none, far = zeros({2, 3}, {.device = "sim:0"}), ints = zeros({2, 3}, {DType::int64});
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"ShapeError", name, "float32[2] on cpu", [=, f = f] { f(x, zeros({2})); }},
        Misuse{"DTypeError", name, "int64[2, 3] on cpu", [=, f = f] { f(ints, ints); }},
        Misuse{"DeviceError", name, "float32[2, 3] on sim:0", [=, f = f] { f(x, far); }},
        Misuse{"ValueError", name, kUndefined, [=, f = f] { f(x, none); }},
    });
  expect_errors({
      Misuse{"ValueError", "smooth_l1_loss", "beta must not be negative, got -1",
             [=] { nn::smooth_l1_loss(x, x, {.beta = -1}); }},
      Misuse{"ShapeError", "binary_cross_entropy_with_logits", "float32[4] on cpu",
             [=] { nn::binary_cross_entropy_with_logits(x, x, {.weight = ones({4})}); }},
      Misuse{"ShapeError", "binary_cross_entropy_with_logits", "float32[4] on cpu",
             [=] { nn::binary_cross_entropy_with_logits(x, x, {.pos_weight = ones({4})}); }},
  });
}

TEST(Errors, LikelihoodLosses) {
  const Tensor x = zeros({2, 3}), none, ints = zeros({2, 3}, {DType::int64});
  const auto batchmean = nn::Reduction::batchmean;
  expect_errors({
      Misuse{"ValueError", "huber_loss", "delta must be positive and finite, got 0",
             [=] { nn::huber_loss(x, x, {.delta = 0}); }},
      Misuse{"ValueError", "huber_loss", "got inf", [=] { nn::huber_loss(x, x, {.delta = HUGE_VAL}); }},
      Misuse{"ValueError", "mse_loss", "batchmean is for kl_div only", [=] { nn::mse_loss(x, x, {batchmean}); }},
      Misuse{"ShapeError", "binary_cross_entropy", "float32[4] on cpu",
             [=] { nn::binary_cross_entropy(x, x, {.weight = ones({4})}); }},
      Misuse{"ShapeError", "binary_cross_entropy", "weight is larger than x",
             [=] {
               nn::binary_cross_entropy(x, x, {.weight = ones({2, 2, 3})});
             }},
      Misuse{"DeviceError", "binary_cross_entropy", "on sim:0",
             [=] { nn::binary_cross_entropy(x, x, {.weight = ones({3}, {.device = "sim:0"})}); }},
      Misuse{"ShapeError", "gaussian_nll_loss", "var fits neither", [=] { nn::gaussian_nll_loss(x, x, ones({3})); }},
      Misuse{"DTypeError", "gaussian_nll_loss", "int64[2, 3] on cpu", [=] { nn::gaussian_nll_loss(x, x, ints); }},
      Misuse{"ValueError", "gaussian_nll_loss", "eps must be positive, got 0",
             [=] { nn::gaussian_nll_loss(x, x, x, {.eps = 0}); }},
      Misuse{"ValueError", "gaussian_nll_loss", kUndefined, [=] { nn::gaussian_nll_loss(x, x, none); }},
      Misuse{"ValueError", "poisson_nll_loss", "eps must be positive, got -1",
             [=] { nn::poisson_nll_loss(x, x, {.log_input = false, .eps = -1}); }},
  });
}

TEST(Errors, MarginLosses) {
  const Tensor x = zeros({2, 3}), row = zeros({2}), t = tensor({0, 1}), none, wide = ones({4});
  const Tensor labels = zeros({2, 3}, {DType::int64}), ints = labels, cube = zeros({2, 3, 4});
  expect_errors({
      Misuse{"ShapeError", "margin_ranking_loss", "float32[2] on cpu", [=] { nn::margin_ranking_loss(x, x, row); }},
      Misuse{"ShapeError", "cosine_embedding_loss", "y must have one number",
             [=] { nn::cosine_embedding_loss(x, x, x); }},
      Misuse{"ShapeError", "cosine_embedding_loss", "[N, D] or [D]", [=] { nn::cosine_embedding_loss(cube, cube, t); }},
      Misuse{"ValueError", "cosine_embedding_loss", "margin must be in [-1, 1], got 2",
             [=] { nn::cosine_embedding_loss(x, x, t, {.margin = 2}); }},
      Misuse{"ValueError", "triplet_margin_loss", "margin must be positive, got 0",
             [=] { nn::triplet_margin_loss(x, x, x, {.margin = 0}); }},
      Misuse{"ShapeError", "triplet_margin_loss", "no dimension",
             [] { nn::triplet_margin_loss(zeros({}), zeros({}), zeros({})); }},
      Misuse{"IndexError", "multilabel_margin_loss", "classes of this x go from 0 to 2",
             [=] { nn::multilabel_margin_loss(x, labels + 3); }},
      Misuse{"IndexError", "multilabel_margin_loss", "int64[2, 3]", [=] { nn::multilabel_margin_loss(x, labels - 2); }},
      Misuse{"DTypeError", "multilabel_margin_loss", "class numbers must be int64",
             [=] { nn::multilabel_margin_loss(x, x); }},
      Misuse{"ShapeError", "multilabel_margin_loss", "does not fit x", [=] { nn::multilabel_margin_loss(x, t); }},
      Misuse{"ShapeError", "multilabel_margin_loss", "[N, C] or [C]", [=] { nn::multilabel_margin_loss(cube, t); }},
      Misuse{"ShapeError", "multilabel_soft_margin_loss", "float32[4] on cpu",
             [=] { nn::multilabel_soft_margin_loss(x, x, {.weight = wide}); }},
      Misuse{"IndexError", "multi_margin_loss", "a target is out of range", [=] { nn::multi_margin_loss(x, t + 2); }},
      Misuse{"ValueError", "multi_margin_loss", "p must be 1 or 2, got 3",
             [=] { nn::multi_margin_loss(x, t, {.p = 3}); }},
      Misuse{"ShapeError", "multi_margin_loss", "float32[4] on cpu",
             [=] { nn::multi_margin_loss(x, t, {.weight = wide}); }},
      Misuse{"DTypeError", "multi_margin_loss", "x is not floating-point", [=] { nn::multi_margin_loss(ints, t); }},
      Misuse{"DTypeError", "cosine_similarity", "int64[2, 3] on cpu", [=] { cosine_similarity(ints, x); }},
      Misuse{"IndexError", "cosine_similarity", "float32[2, 3] on cpu", [=] { cosine_similarity(x, x, 2); }},
      Misuse{"ShapeError", "pairwise_distance", "float32[] on cpu", [] { pairwise_distance(zeros({}), zeros({})); }},
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
