#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct AdagradRule {
  static constexpr const char* kName = "Adagrad";

  /// All at least 0.
  struct Options {
    double lr = 1e-2;
    double lr_decay = 0;                   ///< the rate of step t is lr / (1 + (t - 1) lr_decay)
    double weight_decay = 0;               ///< L2 penalty, added to the gradient
    double initial_accumulator_value = 0;  ///< of the sum, before the first step
    double eps = 1e-10;
    bool maximize = false;  ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-2");
    f("lr_decay", o.lr_decay, kAtLeast0, "1e-3");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("initial_accumulator_value", o.initial_accumulator_value, kAtLeast0, "0.1");
    f("eps", o.eps, kAtLeast0, "1e-10");
    f("maximize", o.maximize);
  }

  static bool takes_rows(const Options& o) { return o.weight_decay == 0 && o.initial_accumulator_value == 0; }
  static constexpr RuleState<Options> kStates[] = {{"sum"}};

  template <class T> struct Constants { T lr, weight_decay, start, eps, sign; };
  static Constants<double> constants(const Options& o, std::int64_t step, bool first) {
    return {.lr = o.lr / (1 + static_cast<double>(step - 1) * o.lr_decay),
            .weight_decay = o.weight_decay,
            .start = first ? o.initial_accumulator_value : 0,
            .eps = o.eps,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& sum) {
    const T d = c.sign * g + c.weight_decay * p;
    sum = sum + (c.start + d * d);
    p -= c.lr * d / (math::sqrt(sum) + c.eps);
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using AdagradOptions = detail::kernels::AdagradRule::Options;
/// Adagrad (Duchi, Hazan and Singer 2011), as torch.optim.Adagrad.  g: gradient + weight_decay p.
///   s += g²   (s begins as initial_accumulator_value)
///   p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)
using Adagrad = RuleOptimizer<detail::kernels::AdagradRule>;

}  // namespace minnow::optim
