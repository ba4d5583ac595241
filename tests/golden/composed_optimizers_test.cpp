#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "errors.h"
#include "golden.h"
#include "thrown.h"

namespace minnow::optim {
namespace {

using test::Book;
using test::Tolerance;

class ComposedOptimizers : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ComposedOptimizers, test::all_devices(), test::device_test_name);

template <class O>
void expect_trajectory(const Book& book, const std::string& name, const typename O::Options& options,
                       Tolerance tolerance) {
  SCOPED_TRACE(name);
  std::vector<Tensor> params{book[name + "/p0"], book[name + "/p1"]};
  for (Tensor& p : params) p.requires_grad_();
  O optimizer(params, options);
  for (int step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < 2; ++i)
      params[i].set_grad(book[name + "/g" + std::to_string(i)].select(0, step).clone());
    optimizer.step();
    for (std::size_t i = 0; i < 2; ++i)
      expect_close(params[i].detach(), book[name + "/after" + std::to_string(i)].select(0, step),
                   "parameter " + std::to_string(i) + " after step " + std::to_string(step + 1), tolerance);
  }
}

TEST_P(ComposedOptimizers, TwentyStepsAgreeWithPyTorch) {
  const Book book("composed_optimizers", device());
  const Tolerance halves{1e-2, 2e-2};  // Muon multiplies in bfloat16
  expect_trajectory<Muon>(book, "muon", {.lr = 0.02}, halves);
  expect_trajectory<Muon>(book, "muon/all",
                          {.lr = 0.02,
                           .weight_decay = 0.5,
                           .momentum = 0.8,
                           .nesterov = false,
                           .ns_coefficients = {2.0, -1.5, 0.5},
                           .ns_steps = 3},
                          halves);
  expect_trajectory<Muon>(book, "muon/match", {.lr = 0.05, .adjust_lr = MuonScale::match_rms_adamw}, halves);
  expect_trajectory<Muon>(book, "muon/spectral", {.lr = 0.02, .adjust_lr = MuonScale::spectral_unclamped}, halves);
  const Tolerance singles{1e-5, 1e-5};
  expect_trajectory<Muon>(book, "muon/exact", {.lr = 0.02, .bfloat16 = false}, {1e-4, 1e-4});
  expect_trajectory<Muon>(book, "muon/exact, all",
                          {.lr = 0.02,
                           .weight_decay = 0.5,
                           .momentum = 0.8,
                           .nesterov = false,
                           .ns_coefficients = {2.0, -1.5, 0.5},
                           .ns_steps = 3,
                           .adjust_lr = MuonScale::match_rms_adamw,
                           .bfloat16 = false},
                          {1e-4, 1e-4});
  expect_trajectory<Adafactor>(book, "adafactor", {}, singles);
  expect_trajectory<Adafactor>(
      book, "adafactor/all",
      {.lr = 0.3, .beta2_decay = -0.5, .eps1 = 1e-3, .eps2 = 0.5, .d = 1.5, .weight_decay = 0.1, .maximize = true},
      singles);
}

std::vector<Tensor> parameters(Device device, bool with_vector) {
  RandomGenerator generator(5);
  std::vector<Tensor> list{randn({7, 5}, {.generator = &generator}).to(device).t().requires_grad_()};  // not contiguous
  if (with_vector) list.push_back(randn({5}, {.generator = &generator}).to(device).requires_grad_());
  return list;
}
void set_gradients(const std::vector<Tensor>& params, int t) {
  RandomGenerator generator(static_cast<std::uint64_t>(100 + t));
  for (const Tensor& p : params) p.set_grad(randn(p.shape(), {.generator = &generator}).to(p.device(), p.dtype()));
}

/// A resumed run gives the same bits; a schedule, a move and other dtypes work.
template <class O> void expect_resumes(Device device, bool with_vector) {
  const auto a = parameters(device, with_vector), b = parameters(device, with_vector);
  O first(a, {.lr = 0.1}), second(b, {.lr = 0.1});
  ExponentialLR schedule(first, {.gamma = 0.5}), same(second, {.gamma = 0.5});
  for (int t = 0; t < 3; ++t) {
    for (auto* params : {&a, &b}) set_gradients(*params, t);
    first.step();
    second.step();
    schedule.step();
    same.step();
  }
  EXPECT_DOUBLE_EQ(first.lr(), 0.0125);
  O resumed(b, {.lr = 3});
  resumed.load_state_dict(second.state_dict());
  for (auto* params : {&a, &b}) set_gradients(*params, 3);
  first.step();
  resumed.step();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
  for (const Tensor& p : a) p.set_data(p.detach().to(float64));
  set_gradients(a, 4);
  first.step();
  EXPECT_EQ(a[0].dtype(), float64);
}

TEST_P(ComposedOptimizers, ResumeAndFollowTheirParameters) {
  expect_resumes<Muon>(device(), false);
  expect_resumes<Adafactor>(device(), true);
}

TEST_P(ComposedOptimizers, MuonInACapturedStep) {
  const auto a = parameters(device(), false), b = parameters(device(), false);
  Muon captured(a, {.lr = 0.1}), direct(b, {.lr = 0.1});
  const auto train = [&](const std::vector<Tensor>& params, Muon& muon, const Tensor& x) {
    Tensor loss = sum(params[0] * x);
    muon.zero_grad();
    loss.backward();
    muon.step();
    return loss;
  };
  CapturedStep step([&](const Tensor& x) { return train(a, captured, x); }, {.device = device()});
  for (int t = 0; t < 6; ++t) {
    if (t == 4) captured.set_lr(0.3), direct.set_lr(0.3);
    RandomGenerator generator(static_cast<std::uint64_t>(t));
    const Tensor x = randn({5, 7}, {.generator = &generator}).to(device());
    (void)step(x);
    (void)train(b, direct, x);
    EXPECT_TRUE(a[0].detach().allclose(b[0].detach(), 1e-5, 1e-5)) << t;
  }
  EXPECT_EQ(captured.state_dict().at("state.0.step").item(), 6);
}

TEST(ComposedOptimizersErrors, BadInputs) {
  const Tensor vector = ones({3}).requires_grad_(), matrix = ones({3, 2}).requires_grad_();
  test::expect_errors({
      test::Misuse{"ShapeError", "Muon", "must be a matrix", [=] { Muon({vector}); }},
      test::Misuse{"ValueError", "Muon", "ns_steps must be in [1, 100), got 0",
                   [=] { Muon({matrix}, {.ns_steps = 0}); }},
      test::Misuse{"ValueError", "Adafactor", "d must be finite and at least 1",
                   [=] { Adafactor({matrix}, {.d = 0.5}); }},
      test::Misuse{"ValueError", "Adafactor", "beta2_decay must be",
                   [=] { Adafactor({matrix}, {.beta2_decay = 0.1}); }},
  });
  Adafactor adafactor({matrix});
  CapturedStep step(
      [&](const Tensor& x) {
        Tensor loss = sum(matrix * x);
        adafactor.zero_grad();
        loss.backward();
        adafactor.step();
        return loss;
      },
      {.device = "cpu"});
  const Tensor x = ones({3, 2});
  const auto run = [&] {
    for (int i = 0; i < 5; ++i) (void)step(x);  // the first ones run directly
  };
  test::expect_contains(test::error_of<BackendError>(run), "cannot be captured");
}

/// Gradients of several small batches are added: the step is that of the whole batch.
TEST_P(ComposedOptimizers, GradientsAccumulate) {
  manual_seed(2);
  nn::Linear whole(4, 2);
  whole.to(device());
  nn::Linear parts = nn::clone(whole);
  const Tensor x = randn({8, 4}, {.device = device()}), y = randn({8, 2}, {.device = device()});
  Adam a(whole.parameters(), {.lr = 0.1}), b(parts.parameters(), {.lr = 0.1});
  for (int step = 0; step < 3; ++step) {
    a.zero_grad();
    nn::mse_loss(whole(x), y).backward();
    a.step();
    b.zero_grad();
    for (int part = 0; part < 4; ++part)
      (nn::mse_loss(parts(x.narrow(0, 2 * part, 2)), y.narrow(0, 2 * part, 2)) / 4).backward();
    b.step();
  }
  EXPECT_TRUE(whole.weight.detach().allclose(parts.weight.detach(), 1e-4, 1e-5));
}

}  // namespace
}  // namespace minnow::optim
