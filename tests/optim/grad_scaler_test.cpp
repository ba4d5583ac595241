#include <minnow/optim/grad_scaler.h>

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/golden.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

constexpr float kInf = std::numeric_limits<float>::infinity();

class GradScaler : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GradScaler, test::all_devices(), test::device_test_name);

std::unique_ptr<optim::Optimizer> make(const std::string& name, const Tensor& w) {
  if (name == "sgd") return std::make_unique<optim::SGD>(std::vector{w}, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
  if (name == "adam") return std::make_unique<optim::Adam>(std::vector{w}, optim::AdamOptions{.lr = 0.1});
  if (name == "radam") return std::make_unique<optim::RAdam>(std::vector{w}, optim::RAdamOptions{.lr = 0.1});
  return std::make_unique<optim::Adafactor>(std::vector{w}, optim::AdafactorOptions{.lr = 0.1});
}

TEST_P(GradScaler, GivesPyTorchsScalesAndParameters) {
  const test::Book book("grad_scaler", device());
  const Tensor factors = book["factors"];
  for (const std::string name : {"sgd", "adam", "radam", "adafactor"}) {
    Tensor w = book[name + "/w"].requires_grad_();
    const auto optimizer = make(name, w);
    optim::GradScaler scaler({.init_scale = 1024, .growth_interval = 4});
    const auto scales = book[name + "/scales"].to_vector<double>();
    const Tensor weights = book[name + "/weights"];
    for (int step = 0; step < factors.size(0); ++step) {
      optimizer->zero_grad();
      scaler.scale(sum(w * factors[step])).backward();
      if (step % 3 == 0) {
        scaler.unscale_(*optimizer);
        optim::clip_grad_norm_({w}, 2);
      }
      scaler.step(*optimizer);
      scaler.update();
      EXPECT_EQ(scaler.get_scale(), scales[static_cast<std::size_t>(step)]) << name << " step " << step;
      test::expect_close(w.detach(), weights[step], name + " step " + std::to_string(step), {2e-5, 2e-6});
    }
    EXPECT_EQ(optimizer->state_dict().at("state.0.step").item(), static_cast<double>(factors.size(0) - 4)) << name;
  }
}

// The new one is at the address of the old one, whose gradients were unscaled.
TEST_P(GradScaler, AnotherOptimizerAtTheSameAddressIsAnotherOne) {
  const Tensor w = ones({2}, {.device = device()}).requires_grad_();
  optim::GradScaler scaler({.init_scale = 1024});
  std::optional<optim::SGD> sgd(std::in_place, std::vector{w}, optim::SGDOptions{.lr = 0.5});
  scaler.scale(sum(w)).backward();
  scaler.unscale_(*sgd);
  sgd.emplace(std::vector{w}, optim::SGDOptions{.lr = 0.5});
  sgd->zero_grad();
  scaler.scale(sum(w)).backward();
  scaler.step(*sgd);
  scaler.update();
  EXPECT_EQ(w.detach().to_vector<float>(), (std::vector<float>{0.5, 0.5}));
}

TEST_P(GradScaler, StepsOutsideOfACapturedStep) {
  const auto trained = [&](bool captured) {
    manual_seed(5);
    nn::Linear net(3, 4);
    net.to(device());
    optim::Adam adam(net.parameters(), {.lr = 0.05});
    optim::GradScaler scaler({.init_scale = 256, .growth_interval = 3});
    const auto direct = [&](const Tensor& x) {
      adam.zero_grad();
      scaler.scale(mean(square(net(x)))).backward();
    };
    CapturedStep step(direct, {.device = device(), .warm_up = 1});
    std::vector<double> all;
    for (int i = 0; i < 12; ++i) {
      Tensor x = randn({5, 3}, {.device = device()});
      if (i == 1 || i == 6 || i == 7) x(2) = kInf;
      if (captured) step(x);
      else direct(x);
      scaler.step(adam);
      scaler.update();
      all.push_back(scaler.get_scale());
    }
    for (const auto& [name, value] : adam.state_dict())
      for (const double v : value.to_vector<double>()) all.push_back(v);
    for (const double v : net.weight.to_vector<double>()) all.push_back(v);
    return all;
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST_P(GradScaler, CannotBeCaptured) {
  const Tensor w = ones({3}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  optim::GradScaler scaler;
  scaler.scale(sum(w)).backward();
  const auto refused = [&](const std::string& name, const std::function<void()>& f) {
    CapturedStep step(f, {.device = device(), .warm_up = 0});
    const std::string text = error_of<BackendError>([&] { step(); });
    expect_contains(text, "BackendError: GradScaler::" + name + ": it cannot be captured");
    expect_contains(text, "grad_scaler_test.cpp:");
  };
  refused("unscale_", [&] { scaler.unscale_(sgd); });
  refused("step", [&] { scaler.step(sgd); });
  refused("update", [&] { scaler.update(); });
  EXPECT_EQ(w.to_vector<double>(), std::vector<double>(3, 1.0));
}

TEST_P(GradScaler, AShorterIntervalCountsTheStepsBefore) {
  const Tensor w = ones({3}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  optim::GradScaler scaler({.init_scale = 4, .growth_interval = 9});
  const auto scale_after_a_step = [&] {
    sgd.zero_grad();
    scaler.scale(sum(w)).backward();
    scaler.step(sgd);
    scaler.update();
    return scaler.get_scale();
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scale_after_a_step(), 4);
  scaler.set_growth_interval(2);  // of 4 good steps it would never be the next
  EXPECT_EQ(scale_after_a_step(), 8);
  EXPECT_EQ(scale_after_a_step(), 8);
  EXPECT_EQ(scale_after_a_step(), 16);
}

TEST_P(GradScaler, ASkippedStepChangesNothing) {
  Tensor w = ones({300, 7}, {.device = device()}).requires_grad_(),
         v = ones({5}, {.device = device()}).requires_grad_();
  optim::AdamW adam({w, v}, {.lr = 0.1});
  optim::GradScaler scaler;
  const auto step = [&](float factor) {
    adam.zero_grad();
    scaler.scale(sum(w) + sum(v * factor)).backward();
    scaler.step(adam);
    scaler.update();
  };
  step(1);
  const StateDict before = adam.state_dict();
  std::vector<Tensor> kept{w.detach().clone(), v.detach().clone()};
  std::vector<std::pair<std::string, Tensor>> states;
  for (const auto& [name, value] : before) states.emplace_back(name, value.clone());
  step(kInf);  // of one parameter only
  EXPECT_TRUE(w.detach().equal(kept[0]));
  EXPECT_TRUE(v.detach().equal(kept[1]));
  const StateDict after = adam.state_dict();
  for (const auto& [name, value] : states) EXPECT_TRUE(after.at(name).equal(value)) << name;
  EXPECT_EQ(scaler.get_scale(), 32768);
}

TEST_P(GradScaler, TheFirstStepMayBeSkipped) {
  const auto run = [&](bool skipped) {
    Tensor w = ones({4}, {.device = device()}).requires_grad_();
    optim::SGD sgd({w}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.5});
    optim::GradScaler scaler({.init_scale = 8});
    for (const float factor : {kInf, 1.0F, 2.0F}) {
      if (factor == kInf && !skipped) continue;
      sgd.zero_grad();
      scaler.scale(sum(w * factor)).backward();
      scaler.step(sgd);
      scaler.update();
    }
    return w.to_vector<double>();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_P(GradScaler, AccumulatesGradients) {
  Tensor w = ones({4}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  optim::GradScaler scaler({.init_scale = 64});
  scaler.scale(sum(w)).backward();
  scaler.scale(sum(w * 2)).backward();
  scaler.step(sgd);
  scaler.update();
  EXPECT_EQ(w.to_vector<double>(), std::vector<double>(4, -2));
}

std::vector<double> all_of(const Tensor& like, double value) {
  return std::vector<double>(static_cast<std::size_t>(like.numel()), value);
}

TEST_P(GradScaler, UnscalesGradientsOfAnyLayoutAndDtype) {
  optim::GradScaler scaler({.init_scale = 4});
  const Device d = device();
  std::vector<Tensor> params{ones({3, 4}, {.device = d}), ones({2, 3, 5, 5}, {.device = d}),
                             ones({1030}, {.dtype = bfloat16, .device = d}),
                             ones({7}, {.dtype = float64, .device = d})};
  params[1] = params[1].contiguous(MemoryFormat::channels_last).clone();
  for (Tensor& p : params) p.requires_grad_();
  optim::SGD sgd(params, {.lr = 1});
  const auto set = [&](double value) {
    params[0].set_grad(full({4, 3}, value, {.device = d}).t());
    params[1].set_grad(full({2, 3, 5, 5}, value, {.device = d}));
    params[2].set_grad(full({2060}, value, {.dtype = bfloat16, .device = d})(slice(0, kToEnd, 2)));
    params[3].set_grad(full({}, value, {.dtype = float64, .device = d}).expand({7}));
  };
  (void)scaler.scale(ones({}, {.device = d}));
  set(8);
  scaler.unscale_(sgd);
  for (const Tensor& p : params) EXPECT_EQ(p.grad().to_vector<double>(), all_of(p, 2));
  scaler.step(sgd);
  scaler.update();
  for (const Tensor& p : params) EXPECT_EQ(p.to_vector<double>(), all_of(p, -1));
  for (std::size_t bad = 0; bad < params.size(); ++bad) {
    set(8);
    params[bad].set_grad(full(params[bad].shape(), kInf, {.dtype = params[bad].dtype(), .device = d}));
    scaler.step(sgd);
    scaler.update();
    for (const Tensor& p : params) EXPECT_EQ(p.to_vector<double>(), all_of(p, -1)) << bad;
  }
  EXPECT_EQ(scaler.get_scale(), 0.25);
}

TEST_P(GradScaler, ResumesFromACheckpoint) {
  optim::GradScaler scaler({.init_scale = 16, .growth_interval = 2});
  Tensor w = ones({4}, {.device = device()}).requires_grad_();
  optim::Adam adam({w}, 0.1);
  const auto step = [&](optim::GradScaler& s) {
    adam.zero_grad();
    s.scale(sum(w)).backward();
    s.step(adam);
    s.update();
  };
  step(scaler), step(scaler), step(scaler);
  const StateDict state = scaler.state_dict();
  EXPECT_EQ(state.at("scale").item(), 32);
  EXPECT_EQ(state.at("_growth_tracker").item(), 1);
  optim::GradScaler other;
  other.load_state_dict(state);
  EXPECT_EQ(other.get_scale(), 32);
  EXPECT_EQ(other.get_growth_interval(), 2);
  step(other);
  EXPECT_EQ(other.get_scale(), 64);
  other.load_state_dict(state);  // it has a scale on the device
  EXPECT_EQ(other.get_scale(), 32);
  expect_contains(error_of<ValueError>([&] { other.load_state_dict(StateDict()); }), "'scale' is missing");
}

TEST_P(GradScaler, RefusesMisuse) {
  optim::GradScaler scaler;
  Tensor w = ones({4}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  expect_contains(error_of<ValueError>([&] { scaler.update(); }), "GradScaler::update: scale() was not called");
  expect_contains(error_of<ValueError>([&] { scaler.unscale_(sgd); }), "GradScaler::unscale_: scale() was not called");
  expect_contains(error_of<ValueError>([&] { scaler.step(sgd); }), "GradScaler::step: scale() was not called");
  scaler.scale(sum(w)).backward();
  expect_contains(error_of<ValueError>([&] { scaler.update(); }), "no gradients were checked before");
  scaler.unscale_(sgd);
  expect_contains(error_of<ValueError>([&] { scaler.unscale_(sgd); }), "since the last update()");
  scaler.step(sgd);
  expect_contains(error_of<ValueError>([&] { scaler.step(sgd); }), "since the last update()");
  expect_contains(error_of<ValueError>([&] { scaler.unscale_(sgd); }), "it was called after step()");
  scaler.update();
  expect_contains(error_of<ValueError>([&] { scaler.update(); }), "no gradients were checked before");
  sgd.zero_grad();
  expect_contains(error_of<ValueError>([&] { scaler.step(sgd); }), "no parameter of this optimizer has a gradient");
  scaler.unscale_(sgd);
  scaler.scale(sum(w)).backward();
  EXPECT_NO_THROW(scaler.step(sgd)) << "what had no gradient is not taken as unscaled";
  EXPECT_EQ(w.grad().to_vector<double>(), std::vector<double>(4, 1.0));
  Tensor half = ones({4}, {.dtype = float16, .device = device()}).requires_grad_();
  optim::SGD halves({half}, {.lr = 1});
  scaler.scale(sum(half)).backward();
  expect_contains(error_of<DTypeError>([&] { scaler.step(halves); }), "a gradient is float16");
  expect_contains(error_of<DTypeError>([&] { (void)scaler.scale(ones({2}, int64)); }), "not floating-point");
  expect_contains(error_of<ValueError>([&] { scaler.update(-1); }), "the scale must be positive");
  scaler.update(128);
  EXPECT_EQ(scaler.get_scale(), 128);
}

TEST(GradScalerOptions, AreChecked) {
  expect_contains(error_of<ValueError>([] { optim::GradScaler s({.init_scale = 0}); }), "the scale must be positive");
  expect_contains(error_of<ValueError>([] { optim::GradScaler s({.growth_factor = 1}); }), "growth_factor");
  expect_contains(error_of<ValueError>([] { optim::GradScaler s({.backoff_factor = 1}); }), "backoff_factor");
  expect_contains(error_of<ValueError>([] { optim::GradScaler s({.growth_interval = 0}); }), "growth_interval");
  optim::GradScaler scaler;
  expect_contains(error_of<ValueError>([&] { scaler.set_backoff_factor(2); }), "set_backoff_factor");
  scaler.set_growth_factor(3);
  EXPECT_EQ(scaler.get_growth_factor(), 3);
}

TEST(GradScalerOptions, ADisabledOneChangesNothing) {
  optim::GradScaler scaler({.enabled = false});
  Tensor w = ones({2}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 1});
  const Tensor loss = sum(w);
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  loss.backward();
  scaler.unscale_(sgd);
  scaler.step(sgd);
  scaler.update();
  EXPECT_EQ(w.to_vector<double>(), std::vector<double>(2, 0));
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_EQ(scaler.state_dict().size(), 0U);
}

}  // namespace
}  // namespace minnow
