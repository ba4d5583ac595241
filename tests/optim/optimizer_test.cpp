#include <cmath>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow {
namespace {

struct Xor : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(2, 16));
  nn::Linear out = child("out", nn::Linear(16, 2));
  Tensor forward(const Tensor& x) override { return out(tanh(hidden(x))); }
};

using test::error_of;
using test::expect_contains;

Tensor leaf(const Tensor& t) { return t.clone().requires_grad_(); }

class OptimOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, OptimOn, test::all_devices(), test::device_test_name);

template <class Optimizer> double train(Xor& net, Optimizer& optimizer, Device device, int steps) {
  const Tensor x = tensor({{0., 0.}, {0., 1.}, {1., 0.}, {1., 1.}}).to(device), y = tensor({0, 1, 1, 0}).to(device);
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    const Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      Tensor l = nn::cross_entropy(net(x), y);
      l.backward();
      return l;
    });
    last = loss.item();
  }
  return last;
}

TEST_P(OptimOn, LearnsXor) {
  manual_seed(1);
  Xor a, b, c;
  for (Xor* net : {&a, &b, &c}) net->to(device());
  optim::SGD sgd(a.parameters(), {.lr = 0.5, .momentum = 0.9});
  optim::Adam adam(b.parameters(), {.lr = 0.05});
  optim::AdamW adamw(c.parameters(), {.lr = 0.05});
  EXPECT_LT(train(a, sgd, device(), 150), 0.05);
  EXPECT_LT(train(b, adam, device(), 150), 0.05);
  EXPECT_LT(train(c, adamw, device(), 150), 0.05);
}

TEST(Optim, TakesALearningRateInsteadOfOptions) {
  const Tensor x = leaf(ones({2})), y = leaf(ones({2}));
  optim::Adam adam({x}, 1e-2);
  EXPECT_EQ(adam.lr(), 1e-2);
  EXPECT_EQ(adam.options().betas.second, 0.999);
  optim::AdamW adamw({x, y}, 1e-2F);
  EXPECT_EQ(adamw.options().weight_decay, 1e-2);
  optim::SGD sgd({x}, 1), by_default({y}), braces({y}, {});
  EXPECT_EQ(sgd.lr(), 1);
  EXPECT_EQ(by_default.lr(), braces.lr());
  x.set_grad(ones({2}));
  sgd.step();
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 0}));
  expect_contains(error_of<ValueError>([&] { optim::SGD({x}, -1.0); }), "optimizer_test.cpp");
}

TEST_P(OptimOn, StateFollowsAMovedModule) {
  manual_seed(2);
  Xor stay;
  Xor move = nn::clone(stay);
  optim::Adam a(stay.parameters(), {.lr = 0.05}), b(move.parameters(), {.lr = 0.05});
  train(stay, a, Device(), 5);
  train(move, b, Device(), 5);
  move.to(device());
  EXPECT_NEAR(train(stay, a, Device(), 5), train(move, b, device(), 5), 1e-5);  // another order of summation
  EXPECT_EQ(b.state_dict().at("state.0.exp_avg").device(), device());
}

TEST_P(OptimOn, ResumesWithTheSameBits) {
  manual_seed(3);
  Xor net;
  net.to(device());
  optim::Adam adam(net.parameters(), {.lr = 0.05, .amsgrad = true});
  train(net, adam, device(), 5);
  Xor other = nn::clone(net);
  optim::Adam resumed(other.parameters());
  resumed.load_state_dict(adam.state_dict());
  EXPECT_EQ(resumed.lr(), 0.05);
  EXPECT_EQ(train(net, adam, device(), 5), train(other, resumed, device(), 5));
  EXPECT_EQ(net.hidden.weight.to_vector<float>(), other.hidden.weight.to_vector<float>());
  // SGD's first step differs from those with a velocity.
  optim::SGD sgd(net.parameters(), {.lr = 0.05, .momentum = 0.9, .dampening = 0.5});
  train(net, sgd, device(), 3);
  Xor third = nn::clone(net);
  optim::SGD resumed_sgd(third.parameters(), {.momentum = 0.9});
  resumed_sgd.load_state_dict(sgd.state_dict());
  EXPECT_EQ(train(net, sgd, device(), 3), train(third, resumed_sgd, device(), 3));
}

TEST(Optimizer, MaximizeGoesUphill) {
  for (const double want : {0.5, -0.5}) {
    const Tensor p = leaf(zeros({1})), q = leaf(zeros({1})), r = leaf(zeros({1}));
    for (const Tensor& t : {p, q, r}) t.set_grad(ones({1}));
    optim::SGD({p}, {.lr = 0.5, .maximize = want > 0}).step();
    optim::Adam({q}, {.lr = 0.5, .maximize = want > 0}).step();
    optim::AdamW({r}, {.lr = 0.5, .maximize = want > 0}).step();
    for (const Tensor& t : {p, q, r}) EXPECT_NEAR(t.item(), want, 1e-6);
  }
}

TEST(Optimizer, KeepsGradientsAndSkipsParametersWithoutThem) {
  const Tensor p = leaf(ones({2})), q = leaf(ones({2}));
  p.set_grad(tensor({1., 2.}));
  optim::SGD sgd({p, q}, {.lr = 0.5, .weight_decay = 1});
  sgd.step();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{0, -0.5}));
  EXPECT_EQ(p.grad().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(q.to_vector<float>(), (std::vector<float>{1, 1}));
  sgd.zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Optimizer, GroupsHaveTheirOwnOptions) {
  const Tensor p = leaf(ones({1})), q = leaf(ones({1}));
  optim::SGD sgd({p}, {.lr = 0.5});
  sgd.add_param_group({q}, {.lr = 0.25});
  p.set_grad(ones({1}));
  q.set_grad(ones({1}));
  sgd.step();
  EXPECT_EQ(p.item(), 0.5);
  EXPECT_EQ(q.item(), 0.75);
  sgd.set_lr(1, 0.0);
  EXPECT_EQ(sgd.lr(1), 0.0);
  expect_contains(error_of<IndexError>([&] { (void)sgd.lr(2); }), "parameter group 2 is out of range");
  expect_contains(error_of<ValueError>([&] { sgd.set_lr(-1.0); }), "-1");
}

TEST(Optimizer, AGroupWithoutOptionsHasThoseOfTheConstructor) {
  const Tensor p = leaf(ones({1})), q = leaf(ones({1})), r = leaf(ones({1}));
  optim::SGD sgd({p}, {.lr = 0.5, .momentum = 0.25});
  sgd.set_lr(0.125);  // of the first group alone
  sgd.add_param_group({q});
  EXPECT_EQ(sgd.lr(1), 0.5);
  EXPECT_EQ(sgd.options(1).momentum, 0.25);
  auto options = sgd.defaults();
  options.lr = 2;
  sgd.add_param_group({r}, options);
  EXPECT_EQ(sgd.lr(2), 2);
  EXPECT_EQ(sgd.options(2).momentum, 0.25);
  optim::Adam adam({p}, 0.75);
  adam.add_param_group({q});
  EXPECT_EQ(adam.lr(1), 0.75);
  const Tensor a = leaf(ones({2, 2})), b = leaf(ones({2, 2}));
  optim::Muon muon({a}, {.lr = 0.375, .momentum = 0.5});
  muon.add_param_group({b});
  EXPECT_EQ(muon.lr(1), 0.375);
  EXPECT_EQ(muon.options(1).momentum, muon.defaults().momentum);
  EXPECT_EQ(muon.defaults().momentum, 0.5);
}

TEST(Optimizer, StepsAreCountedForEachParameter) {
  // Adam's first step is lr for every parameter, whenever its first gradient comes.
  const Tensor p = leaf(zeros({1})), q = leaf(zeros({1}));
  optim::Adam adam({p, q}, {.lr = 0.5});
  p.set_grad(ones({1}));
  adam.step();
  q.set_grad(ones({1}));
  adam.step();
  EXPECT_NEAR(q.item(), -0.5, 1e-6);
  EXPECT_NEAR(p.item(), -1.0, 1e-6);
}

TEST(Optimizer, TakesGradientsInAnotherOrderOfDimensions) {
  const Tensor p = leaf(zeros({2, 3}));
  const Tensor g = tensor({{1., 2.}, {3., 4.}, {5., 6.}}).t();
  p.set_grad(g);
  optim::SGD({p}, {.lr = 1}).step();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{-1, -3, -5, -2, -4, -6}));
}

TEST(Optimizer, RefusesBadParameters) {
  const Tensor p = leaf(ones({2}));
  expect_contains(error_of<ValueError>([] { optim::SGD(std::vector<Tensor>{}); }), "empty");
  expect_contains(error_of<ValueError>([&] { optim::SGD({p, p}); }), "twice");
  expect_contains(error_of<ValueError>([&] { optim::SGD({p, Tensor()}); }), "undefined");
  expect_contains(error_of<DTypeError>([] { optim::SGD({tensor({1, 2})}); }), "must be floating-point");
  Tensor w = p;
  w.set_name("w");
  const std::string text = error_of<AutogradError>([&] { optim::Adam({w * 2}); });
  expect_contains(text, "can't optimize a non-leaf Tensor");
  expect_contains(text, "optimizer_test.cpp");
}

TEST(Optimizer, RefusesBadOptions) {
  const Tensor p = leaf(ones({2}));
  expect_contains(error_of<ValueError>([&] { optim::SGD({p}, {.lr = -1}); }),
                  "lr must be finite and at least 0, got -1");
  expect_contains(error_of<ValueError>([&] { optim::SGD({p}, {.lr = NAN}); }), "lr");
  expect_contains(error_of<ValueError>([&] { optim::SGD({p}, {.nesterov = true}); }), "nesterov");
  expect_contains(error_of<ValueError>([&] { optim::Adam({p}, {.betas = {1, 0.9}}); }), "beta");
  expect_contains(error_of<ValueError>([&] { optim::AdamW({p}, {.weight_decay = -1}); }), "weight_decay");
  optim::SGD sgd({p});
  sgd.options().momentum = -1;
  p.set_grad(ones({2}));
  expect_contains(error_of<ValueError>([&] { sgd.step(); }), "momentum");
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Optimizer, RefusesStateThatDoesNotFit) {
  const Tensor p = leaf(ones({2})), q = leaf(ones({3}));
  optim::Adam a({p}), b({q});
  p.set_grad(ones({2}));
  a.step();
  expect_contains(error_of<ValueError>([&] { b.load_state_dict(a.state_dict()); }), "state.0.exp_avg");
  expect_contains(error_of<ValueError>([&] { b.load_state_dict({}); }), "missing");
  expect_contains(error_of<ValueError>([&] { optim::SGD({p}).load_state_dict(a.state_dict()); }), "do not fit");
  StateDict more = a.state_dict();
  more.set("state.1.step", ones({}));
  expect_contains(error_of<ValueError>([&] { a.load_state_dict(more); }), "names");
  optim::Adam other({q}, {.lr = 0.25});
  expect_contains(error_of<ValueError>([&] { other.load_state_dict(a.state_dict()); }), "do not fit");
  EXPECT_EQ(other.lr(), 0.25);  // the options of the refused state are not kept
}

TEST(LRScheduler, MatchesTheFormulas) {
  const Tensor p = leaf(ones({1}));
  optim::SGD sgd({p}, {.lr = 1});
  optim::StepLR step(sgd, {.step_size = 2, .gamma = 0.5});
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i, step.step()) rates.push_back(sgd.lr());
  EXPECT_EQ(rates, (std::vector<double>{1, 1, 0.5, 0.5, 0.25}));
  sgd.set_lr(1);
  optim::SequentialLR both(
      sgd, {optim::LinearLR({.start_factor = 0.25, .total_iters = 3}), optim::CosineAnnealingLR({.T_max = 2})}, {3});
  rates.clear();
  for (int i = 0; i < 6; ++i, both.step()) rates.push_back(sgd.lr());
  const std::vector<double> want{0.25, 0.5, 0.75, 1, 0.5, 0};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(rates[i], want[i], 1e-12) << i;
  expect_contains(error_of<ValueError>([&] { optim::StepLR(sgd, {.step_size = 0}); }), "step_size");
  expect_contains(error_of<ValueError>([&] { optim::CosineAnnealingLR(sgd, {.T_max = 0}); }), "T_max");
  expect_contains(error_of<ValueError>([&] { optim::SequentialLR(sgd, {optim::LinearLR()}, {1}); }), "milestone");
}

TEST_P(OptimOn, ClipsByNormAndValue) {
  const Tensor p = leaf(zeros({2}).to(device())), q = leaf(zeros({1}).to(device()));
  p.set_grad(tensor({0., 3.}).to(device()));
  q.set_grad(tensor({4.}).to(device()));
  EXPECT_NEAR(optim::clip_grad_norm_({p, q}, 1).item(), 5, 1e-6);
  EXPECT_NEAR(p.grad().to_vector<float>()[1], 0.6, 1e-6);
  EXPECT_NEAR(q.grad().item(), 0.8, 1e-6);
  optim::clip_grad_value_({p, q}, 0.7);
  EXPECT_NEAR(q.grad().item(), 0.7, 1e-6);
  q.set_grad(tensor({-4.}).to(device()));
  EXPECT_NEAR(optim::clip_grad_norm_({q}, 8).item(), 4, 1e-6);  // not longer than max_norm: unchanged
  EXPECT_EQ(q.grad().item(), -4);
  optim::clip_grad_value_({q}, 0.7);
  EXPECT_NEAR(q.grad().item(), -0.7, 1e-6);
  const Tensor h = leaf(zeros({1}, {DType::float16, device()})), k = leaf(zeros({1}, {DType::float16, device()}));
  for (const Tensor& t : {h, k}) t.set_grad(full({1}, 6e4, {DType::float16, device()}));
  EXPECT_NEAR(optim::clip_grad_norm_({h, k}, 1).item(), 6e4 * std::sqrt(2), 100);  // more than a half holds
  EXPECT_NEAR(h.grad().item(), std::sqrt(0.5), 1e-3);
  q.set_grad(tensor({3.}).to(device()));  // given twice, it is scaled twice
  EXPECT_NEAR(optim::clip_grad_norm_({q, q}, 1).item(), 3 * std::sqrt(2), 1e-5);
  EXPECT_NEAR(q.grad().item(), 3 / 18.0, 1e-5);
  expect_contains(error_of<ValueError>([&] { optim::clip_grad_norm_({p}, -1); }), "max_norm");
  expect_contains(error_of<ValueError>([&] { optim::clip_grad_norm_({p}, 1, {.norm_type = 0}); }), "norm_type");
  expect_contains(error_of<ValueError>([&] { optim::clip_grad_value_({p}, -1); }), "clip_value");
}

}  // namespace
}  // namespace minnow
