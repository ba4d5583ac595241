#include "cpu_support.h"

namespace minnow {
namespace {

using namespace kernels;
using test::backend;
using test::blank;
using test::get;
using test::Lay;
using test::set;

struct Case {
  const char* name;
  int rule;
  std::vector<double> hyper;
  std::size_t states;
};

template <class Hyper> std::vector<double> flat(const Hyper& h) {
  std::vector<double> v(sizeof(Hyper) / sizeof(double));
  std::memcpy(v.data(), &h, sizeof(Hyper));
  return v;
}

std::vector<Case> cases() {
  constexpr int kSgd = kIndexOf<UpdateRules, Sgd>, kAdam = kIndexOf<UpdateRules, Adam>;
  constexpr int kAdamW = kIndexOf<UpdateRules, AdamW>;
  return {
      {"sgd", kSgd, flat(Sgd::Hyper{.lr = 0.1, .weight_decay = 0.01}), 0},
      {"sgd up", kSgd, flat(Sgd::Hyper{.lr = 0.1, .weight_decay = 0.01, .maximize = 1}), 0},
      {"momentum", kSgd, flat(Sgd::Hyper{.lr = 0.1, .momentum = 0.9, .dampening = 0.2}), 1},
      {"first step", kSgd, flat(Sgd::Hyper{.lr = 0.1, .momentum = 0.9, .dampening = 0.2, .first_step = 1}), 1},
      {"nesterov", kSgd, flat(Sgd::Hyper{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = 1}), 1},
      {"adam", kAdam, flat(Adam::Hyper{.lr = 0.01, .weight_decay = 0.1, .step = 3}), 2},
      {"amsgrad", kAdam, flat(Adam::Hyper{.lr = 0.01, .amsgrad = 1, .maximize = 1, .step = 3}), 3},
      {"adamw", kAdamW, flat(AdamW::Hyper{.lr = 0.01, .weight_decay = 0.1, .step = 1000}), 2},
  };
}

/// What the formulas of kernels/update.h say, written out: v holds p, g and the states.
void by_hand(const Case& c, double* v) {
  double& p = v[0];
  const double g = v[1];
  if (c.rule == kIndexOf<UpdateRules, Sgd>) {
    Sgd::Hyper h;
    std::memcpy(static_cast<void*>(&h), c.hyper.data(), sizeof(h));
    const double d = (h.maximize != 0 ? -g : g) + h.weight_decay * p;
    if (c.states == 0) {
      p -= h.lr * d;
      return;
    }
    v[2] = h.first_step != 0 ? d : h.momentum * v[2] + (1 - h.dampening) * d;
    p -= h.lr * (h.nesterov != 0 ? d + h.momentum * v[2] : v[2]);
    return;
  }
  Adam::Hyper h;
  std::memcpy(static_cast<void*>(&h), c.hyper.data(), sizeof(h));
  const bool decoupled = c.rule == kIndexOf<UpdateRules, AdamW>;
  const double d = (h.maximize != 0 ? -g : g) + (decoupled ? 0 : h.weight_decay * p);
  if (decoupled) p -= h.lr * h.weight_decay * p;
  v[2] = h.beta1 * v[2] + (1 - h.beta1) * d;
  v[3] = h.beta2 * v[3] + (1 - h.beta2) * d * d;
  const double square = c.states == 3 ? (v[4] = std::fmax(v[4], v[3])) : v[3];
  p -= h.lr / (1 - std::pow(h.beta1, h.step)) * v[2] /
       (std::sqrt(square) / std::sqrt(1 - std::pow(h.beta2, h.step)) + h.eps);
}

/// One item: param, grad, states, with values of their own, squares not negative.
struct Item {
  std::vector<Tensor> tensors;
  std::vector<double> before;  // [tensor][element]

  Item(const Case& c, const Shape& shape, DType dtype, Lay lay, Lay grad_lay, std::int64_t shift) {
    for (std::size_t k = 0; k < c.states + 2; ++k) {
      Tensor whole = blank({shape.numel() + shift}, dtype);
      Tensor t = lay == Lay::kContiguous && shift > 0
                     ? Tensor(whole.storage(), dtype, shape, contiguous_strides(shape), shift)
                     : blank(shape, dtype, k == 1 ? grad_lay : lay);
      const Tensor values = test::reals({shape.numel() + 7});
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        const double v = get(values, (i + static_cast<std::int64_t>(k)) % values.numel());
        set(t, i, k >= 3 ? v * v : v);
      }
      for (std::int64_t i = 0; i < t.numel(); ++i) before.push_back(get(t, i));
      tensors.push_back(t);
    }
  }
  UpdateItem view() const {
    const auto at = [&](std::size_t k) { return k < tensors.size() ? &tensors[k].layout() : nullptr; };
    return {at(0), at(1), {at(2), at(3), at(4)}};
  }
  void check(const Case& c, double rtol, double atol) const {
    const std::int64_t n = tensors[0].numel();
    for (std::int64_t i = 0; i < n; ++i) {
      double v[5] = {};
      for (std::size_t k = 0; k < tensors.size(); ++k)
        v[k] = before[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
      by_hand(c, v);
      for (std::size_t k = 0; k < tensors.size(); ++k)
        ASSERT_TRUE(test::close(get(tensors[k], i), v[k], rtol, atol))
            << c.name << " tensor " << k << " element " << i << " of " << n << ": " << get(tensors[k], i)
            << ", expected " << v[k];
    }
  }
};

void step(const Case& c, const std::vector<Item>& items) {
  std::vector<UpdateItem> views;
  for (const Item& item : items) views.push_back(item.view());
  backend().run(calls::Update{{c.rule, c.hyper}, views});
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
