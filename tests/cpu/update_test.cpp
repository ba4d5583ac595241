#include <functional>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using namespace kernels;
using test::backend;
using test::blank;
using test::get;
using test::Lay;
using test::set;

constexpr std::size_t kRoles = 2 + UpdateItem::kMaxStates;

/// One rule with some options: its constants, the states that it uses, and the update of one element by hand: p, g,
/// then the states.
struct Case {
  const char* name;
  int rule;
  std::vector<double> constants;
  unsigned states;
  unsigned squares;  // those of them that are means of squares
  std::function<void(double* v)> by_hand;
};

template <class Rule, class ByHand>
Case make_case(const char* name, const typename Rule::Options& o, std::int64_t step, bool first, ByHand by_hand) {
  const auto constants = Rule::constants(o, step, first);
  Case c{name, kIndexOf<UpdateRules, Rule>, std::vector<double>(kNumConstants<Rule>), 0, 0, {}};
  std::memcpy(c.constants.data(), &constants, sizeof(constants));
  for (int k = 0; k < kNumStates<Rule>; ++k) {
    const auto& state = Rule::kStates[k];
    if (state.is_used(o)) c.states |= 1U << k;
    const std::string_view state_name = state.name;
    if (state_name.find("sq") != std::string_view::npos || state_name == "sum" || state_name == "acc_delta")
      c.squares |= 1U << k;
  }
  c.by_hand = [=](double* v) { by_hand(o, static_cast<double>(step), first, v); };
  return c;
}

// The formulas, written out.

void sgd_by_hand(const SgdRule::Options& o, double, bool first, double* v) {
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  if (o.momentum == 0) {
    v[0] -= o.lr * d;
    return;
  }
  v[2] = first ? d : o.momentum * v[2] + (1 - o.dampening) * d;
  v[0] -= o.lr * (o.nesterov ? d + o.momentum * v[2] : v[2]);
}

template <bool Decoupled>
void adam_by_hand(const typename AdamRule<Decoupled>::Options& o, double step, bool, double* v) {
  const auto [beta1, beta2] = o.betas;
  const double d = (o.maximize ? -v[1] : v[1]) + (Decoupled ? 0 : o.weight_decay * v[0]);
  if (Decoupled) v[0] -= o.lr * o.weight_decay * v[0];
  v[2] = beta1 * v[2] + (1 - beta1) * d;
  v[3] = beta2 * v[3] + (1 - beta2) * d * d;
  const double square = o.amsgrad ? (v[4] = std::fmax(v[4], v[3])) : v[3];
  v[0] -=
      o.lr / (1 - std::pow(beta1, step)) * v[2] / (std::sqrt(square) / std::sqrt(1 - std::pow(beta2, step)) + o.eps);
}

void rmsprop_by_hand(const RmspropRule::Options& o, double, bool, double* v) {
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  v[2] = o.alpha * v[2] + (1 - o.alpha) * d * d;
  if (o.centered) v[4] = o.alpha * v[4] + (1 - o.alpha) * d;
  const double scaled = d / (std::sqrt(o.centered ? std::fmax(v[2] - v[4] * v[4], 0.0) : v[2]) + o.eps);
  v[0] -= o.lr * (o.momentum != 0 ? (v[3] = o.momentum * v[3] + scaled) : scaled);
}

void lion_by_hand(const LionRule::Options& o, double, bool, double* v) {
  const auto [beta1, beta2] = o.betas;
  const double d = o.maximize ? -v[1] : v[1];
  const double direction = beta1 * v[2] + (1 - beta1) * d;
  v[0] -= o.lr * ((direction > 0) - (direction < 0) + o.weight_decay * v[0]);
  v[2] = beta2 * v[2] + (1 - beta2) * d;
}

void adagrad_by_hand(const AdagradRule::Options& o, double step, bool first, double* v) {
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  v[2] += (first ? o.initial_accumulator_value : 0) + d * d;
  v[0] -= o.lr / (1 + (step - 1) * o.lr_decay) * d / (std::sqrt(v[2]) + o.eps);
}

void adadelta_by_hand(const AdadeltaRule::Options& o, double, bool, double* v) {
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  v[2] = o.rho * v[2] + (1 - o.rho) * d * d;
  const double delta = std::sqrt(v[3] + o.eps) / std::sqrt(v[2] + o.eps) * d;
  v[3] = o.rho * v[3] + (1 - o.rho) * delta * delta;
  v[0] -= o.lr * delta;
}

void adamax_by_hand(const AdamaxRule::Options& o, double step, bool, double* v) {
  const auto [beta1, beta2] = o.betas;
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  v[2] = beta1 * v[2] + (1 - beta1) * d;
  v[3] = std::fmax(beta2 * v[3], std::fabs(d) + o.eps);
  v[0] -= o.lr / (1 - std::pow(beta1, step)) * v[2] / v[3];
}

void nadam_by_hand(const NadamRule::Options& o, double step, bool, double* v) {
  const auto [beta1, beta2] = o.betas;
  const auto momentum = [&](double t) { return o.betas.first * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay)); };
  double product = 1;
  for (double t = 1; t <= step; ++t) product *= momentum(t);
  const double d = (o.maximize ? -v[1] : v[1]) + (o.decoupled_weight_decay ? 0 : o.weight_decay * v[0]);
  if (o.decoupled_weight_decay) v[0] -= o.lr * o.weight_decay * v[0];
  v[2] = beta1 * v[2] + (1 - beta1) * d;
  v[3] = beta2 * v[3] + (1 - beta2) * d * d;
  const double next = momentum(step + 1);
  v[0] -= o.lr * ((1 - momentum(step)) * d / (1 - product) + next * v[2] / (1 - product * next)) /
          (std::sqrt(v[3] / (1 - std::pow(beta2, step))) + o.eps);
}

void radam_by_hand(const RadamRule::Options& o, double step, bool, double* v) {
  const auto [beta1, beta2] = o.betas;
  const double d = (o.maximize ? -v[1] : v[1]) + (o.decoupled_weight_decay ? 0 : o.weight_decay * v[0]);
  if (o.decoupled_weight_decay) v[0] -= o.lr * o.weight_decay * v[0];
  v[2] = beta1 * v[2] + (1 - beta1) * d;
  v[3] = beta2 * v[3] + (1 - beta2) * d * d;
  const double bias2 = 1 - std::pow(beta2, step), mean = v[2] / (1 - std::pow(beta1, step));
  const double limit = 2 / (1 - beta2) - 1, rho = limit - 2 * step * std::pow(beta2, step) / bias2;
  const double r = (rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho);
  v[0] -= o.lr * mean * (rho > 5 ? std::sqrt(r) * std::sqrt(bias2) / (std::sqrt(v[3]) + o.eps) : 1);
}

void rprop_by_hand(const RpropRule::Options& o, double, bool first, double* v) {
  double d = o.maximize ? -v[1] : v[1];
  const double turn = d * v[2];
  const double size = (first ? o.lr + v[3] : v[3]) * (turn > 0 ? o.etas.second : turn < 0 ? o.etas.first : 1);
  v[3] = std::fmin(std::fmax(size, o.step_sizes.first), o.step_sizes.second);
  if (turn < 0) d = 0;
  v[0] -= v[3] * ((d > 0) - (d < 0));
  v[2] = d;
}

void asgd_by_hand(const AsgdRule::Options& o, double step, bool, double* v) {
  const double d = (o.maximize ? -v[1] : v[1]) + o.weight_decay * v[0];
  const double eta = o.lr / std::pow(1 + o.lambd * o.lr * (step - 1), o.alpha);
  v[0] = v[0] * (1 - o.lambd * eta) - eta * d;
  v[2] += (v[0] - v[2]) / std::fmax(1, step - 1 - o.t0);
}

std::vector<Case> cases() {
  const auto sgd = [](const char* name, const SgdRule::Options& o, bool first = false) {
    return make_case<SgdRule>(name, o, 2, first, sgd_by_hand);
  };
  const auto adam = [](const char* name, const AdamRule<false>::Options& o) {
    return make_case<AdamRule<false>>(name, o, 3, false, adam_by_hand<false>);
  };
  const auto rmsprop = [](const char* name, const RmspropRule::Options& o) {
    return make_case<RmspropRule>(name, o, 3, false, rmsprop_by_hand);
  };
  return {
      sgd("sgd", {.lr = 0.1, .weight_decay = 0.01}),
      sgd("sgd up", {.lr = 0.1, .weight_decay = 0.01, .maximize = true}),
      sgd("momentum", {.lr = 0.1, .momentum = 0.9, .dampening = 0.2}),
      sgd("first step", {.lr = 0.1, .momentum = 0.9, .dampening = 0.2}, true),
      sgd("nesterov", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
      adam("adam", {.lr = 0.01, .weight_decay = 0.1}),
      adam("amsgrad", {.lr = 0.01, .amsgrad = true, .maximize = true}),
      make_case<AdamRule<true>>("adamw", {.lr = 0.01, .weight_decay = 0.1}, 1000, false, adam_by_hand<true>),
      make_case<LionRule>("lion", {.lr = 0.01, .weight_decay = 0.1}, 3, false, lion_by_hand),
      make_case<LionRule>("lion up", {.lr = 0.01, .betas = {0.5, 0.8}, .maximize = true}, 3, false, lion_by_hand),
      make_case<AdagradRule>("adagrad", {.lr_decay = 0.1, .weight_decay = 0.1}, 3, false, adagrad_by_hand),
      make_case<AdagradRule>("adagrad at first", {.initial_accumulator_value = 0.5, .maximize = true}, 1, true,
                             adagrad_by_hand),
      make_case<AdadeltaRule>("adadelta", {.eps = 1e-2, .weight_decay = 0.1, .maximize = true}, 3, false,
                              adadelta_by_hand),
      make_case<AdamaxRule>("adamax", {.eps = 1e-1, .weight_decay = 0.1, .maximize = true}, 3, false, adamax_by_hand),
      make_case<NadamRule>("nadam", {.lr = 0.01, .weight_decay = 0.1, .maximize = true}, 30, false, nadam_by_hand),
      make_case<NadamRule>("nadam decoupled",
                           {.lr = 0.01, .weight_decay = 0.1, .momentum_decay = 0.1, .decoupled_weight_decay = true}, 2,
                           false, nadam_by_hand),
      make_case<RadamRule>("radam", {.lr = 0.01, .weight_decay = 0.1, .maximize = true}, 30, false, radam_by_hand),
      make_case<RadamRule>("radam decoupled", {.lr = 0.01, .weight_decay = 0.1, .decoupled_weight_decay = true}, 3,
                           false, radam_by_hand),
      make_case<RpropRule>("rprop", {.maximize = true}, 3, false, rprop_by_hand),
      make_case<RpropRule>("rprop at first", {.lr = 0.5, .etas = {0.3, 2}, .step_sizes = {0.4, 2}}, 1, true,
                           rprop_by_hand),
      make_case<AsgdRule>("asgd", {.lr = 0.1, .weight_decay = 0.1, .maximize = true}, 3, false, asgd_by_hand),
      make_case<AsgdRule>("asgd averages", {.lr = 0.1, .lambd = 0.1, .alpha = 0.5, .t0 = 2}, 30, false, asgd_by_hand),
      rmsprop("rmsprop", {.weight_decay = 0.1, .maximize = true}),
      rmsprop("rmsprop with momentum", {.momentum = 0.9}),
      rmsprop("rmsprop centered", {.alpha = 0.9, .eps = 0.1, .centered = true}),
      rmsprop("rmsprop with all", {.alpha = 0.9, .eps = 0.1, .momentum = 0.9, .centered = true}),
  };
}

/// One item: param, grad, states, with values of their own; squares are larger than any other values.
struct Item {
  std::vector<Tensor> tensors;  // by role; undefined where the rule runs without a state
  std::vector<double> before;   // [role][element]

  Item(const Case& c, const Shape& shape, DType dtype, Lay lay, Lay grad_lay, std::int64_t shift) {
    for (std::size_t k = 0; k < kRoles; ++k) {
      if (k >= 2 && (c.states >> (k - 2) & 1U) == 0) {
        tensors.emplace_back();
        before.resize(before.size() + static_cast<std::size_t>(shape.numel()));
        continue;
      }
      Tensor whole = blank({shape.numel() + shift}, dtype);
      Tensor t = lay == Lay::kContiguous && shift > 0
                     ? Tensor(whole.storage(), dtype, shape, contiguous_strides(shape), shift)
                     : blank(shape, dtype, k == 1 ? grad_lay : lay);
      const Tensor values = test::reals({shape.numel() + 7});
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        const double v = get(values, (i + static_cast<std::int64_t>(k)) % values.numel());
        set(t, i, k >= 2 && (c.squares >> (k - 2) & 1U) ? 2 + v * v : v);
      }
      for (std::int64_t i = 0; i < t.numel(); ++i) before.push_back(get(t, i));
      tensors.push_back(t);
    }
  }
  UpdateItem view() const {
    const auto at = [&](std::size_t k) { return tensors[k].defined() ? &tensors[k].layout() : nullptr; };
    UpdateItem item{at(0), at(1), {}};
    for (std::size_t k = 2; k < kRoles; ++k) item.state[k - 2] = at(k);
    return item;
  }
  void check(const Case& c, double rtol, double atol) const {
    const std::int64_t n = tensors[0].numel();
    for (std::int64_t i = 0; i < n; ++i) {
      double v[kRoles] = {};
      for (std::size_t k = 0; k < kRoles; ++k)
        v[k] = before[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
      c.by_hand(v);
      for (std::size_t k = 0; k < kRoles; ++k) {
        if (!tensors[k].defined()) continue;
        ASSERT_TRUE(test::close(get(tensors[k], i), v[k], rtol, atol))
            << c.name << " tensor " << k << " element " << i << " of " << n << ": " << get(tensors[k], i)
            << ", expected " << v[k];
      }
    }
  }
};

void step(const Case& c, const std::vector<Item>& items) {
  std::vector<UpdateItem> views;
  for (const Item& item : items) views.push_back(item.view());
  backend().run(calls::Update{{c.rule, c.constants}, views});
}

class UpdateCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, UpdateCpu, test::every_isa(), test::isa_name);

TEST_P(UpdateCpu, EveryRuleOverSeveralTensorsOfOddSizes) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::vector<Item> items;
      for (const std::int64_t n : {1, 0, 17, 4096, 4097, 100003})
        items.emplace_back(c, Shape{n}, dtype, Lay::kContiguous, Lay::kContiguous, n % 3);
      step(c, items);
      for (const Item& item : items) item.check(c, dtype == float32 ? 1.3e-6 : 1e-12, dtype == float32 ? 1e-5 : 1e-12);
    }
  }
}

TEST_P(UpdateCpu, OtherLayoutsAndHalves) {
  for (const Case& c : cases()) {
    std::vector<Item> items;
    items.emplace_back(c, Shape{37, 130}, float32, Lay::kContiguous, Lay::kReversed, 0);
    items.emplace_back(c, Shape{37, 130}, float32, Lay::kReversed, Lay::kContiguous, 0);
    items.emplace_back(c, Shape{3, 70}, float32, Lay::kGaps, Lay::kBroadcast, 0);
    step(c, items);
    for (const Item& item : items) item.check(c, 1.3e-6, 1e-5);
    std::vector<Item> halves;
    halves.emplace_back(c, Shape{1001}, DType::bfloat16, Lay::kContiguous, Lay::kContiguous, 0);
    step(c, halves);
    halves[0].check(c, 1e-2, 1e-2);
  }
}

TEST(UpdateThreads, AnyNumberGivesTheSameBits) {
  for (const Case& c : cases()) {
    test::expect_thread_invariant([&] {
      std::vector<Item> items;
      items.emplace_back(c, Shape{60001}, float32, Lay::kContiguous, Lay::kContiguous, 0);
      items.emplace_back(c, Shape{300}, float32, Lay::kContiguous, Lay::kContiguous, 0);
      step(c, items);
      return items[0].tensors[0];
    });
  }
}

}  // namespace
}  // namespace minnow
