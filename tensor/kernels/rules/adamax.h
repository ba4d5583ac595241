#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct AdamaxRule {
  static constexpr const char* kName = "Adamax";

  struct Options {
    double lr = 2e-3;                             ///< at least 0
    std::pair<double, double> betas{0.9, 0.999};  ///< decay of the mean and of the norm, each in [0, 1)
    double eps = 1e-8;                            ///< at least 0
    double weight_decay = 0;                      ///< L2 penalty, added to the gradient; at least 0
    bool maximize = false;                        ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "2e-3");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.999");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}, {"exp_inf"}};

  template <class T> struct Constants { T step_size, take1, beta2, eps, weight_decay, sign; };
  static Constants<double> constants(const Options& o, std::int64_t step, bool) {
    return {.step_size = o.lr / (1 - math::pow(o.betas.first, static_cast<double>(step))),
            .take1 = 1 - o.betas.first,
            .beta2 = o.betas.second,
            .eps = o.eps,
            .weight_decay = o.weight_decay,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& mean, T& norm) {
    const T d = c.sign * g + c.weight_decay * p;
    mean = mean + c.take1 * (d - mean);
    const T decayed = c.beta2 * norm, now = math::abs(d) + c.eps;
    norm = decayed > now ? decayed : now;
    p -= c.step_size * mean / norm;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using AdamaxOptions = detail::kernels::AdamaxRule::Options;
/// Adamax (Kingma and Ba 2015), as torch.optim.Adamax: Adam with the infinity norm.  g: gradient + weight_decay p.
///   m = beta1 m + (1 - beta1) g,   u = max(beta2 u, |g| + eps)
///   p -= lr / (1 - beta1^t) m / u
using Adamax = RuleOptimizer<detail::kernels::AdamaxRule>;

}  // namespace minnow::optim
