#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct LionRule {
  static constexpr const char* kName = "Lion";

  struct Options {
    double lr = 1e-4;                            ///< at least 0; 3 to 10 times smaller than AdamW's
    std::pair<double, double> betas{0.9, 0.99};  ///< for the direction, and decay of the running mean; each in [0, 1)
    double weight_decay = 0;                     ///< parameters are multiplied by 1 - lr weight_decay; at least 0
    bool maximize = false;                       ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-4");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.99");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-1");
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}};

  template <class T> struct Constants { T lr, beta1, take1, beta2, take2, shrink, sign; };
  static Constants<double> constants(const Options& o, std::int64_t, bool) {
    return {.lr = o.lr,
            .beta1 = o.betas.first,
            .take1 = 1 - o.betas.first,
            .beta2 = o.betas.second,
            .take2 = 1 - o.betas.second,
            .shrink = 1 - o.lr * o.weight_decay,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& mean) {
    const T d = c.sign * g;
    const T direction = c.beta1 * mean + c.take1 * d;
    const T sign = direction > T(0) ? T(1) : direction < T(0) ? T(-1) : direction;  // NaN stays NaN
    p = c.shrink * p - c.lr * sign;
    mean = c.beta2 * mean + c.take2 * d;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using LionOptions = detail::kernels::LionRule::Options;
/// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms").
///   c = beta1 m + (1 - beta1) g,   p -= lr (sign(c) + weight_decay p),   m = beta2 m + (1 - beta2) g
/// A NaN in the gradient makes the parameter NaN, as in the other optimizers.
using Lion = RuleOptimizer<detail::kernels::LionRule>;

}  // namespace minnow::optim
