#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct NadamRule {
  static constexpr const char* kName = "NAdam";

  struct Options {
    double lr = 2e-3;                             ///< at least 0
    std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
    double eps = 1e-8;                            ///< at least 0
    double weight_decay = 0;                      ///< at least 0
    double momentum_decay = 4e-3;                 ///< how fast the momentum reaches beta1; at least 0
    /// Parameters are multiplied by 1 - lr weight_decay (as in AdamW); otherwise an L2 penalty, added to the gradient.
    bool decoupled_weight_decay = false;
    bool maximize = false;  ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "2e-3");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.999");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-2");
    f("momentum_decay", o.momentum_decay, kAtLeast0, "4e-3");
    f("decoupled_weight_decay", o.decoupled_weight_decay);
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}, {"exp_avg_sq"}};

  /// The momentum of step i is beta1 (1 - 0.5 0.96^(i momentum_decay)).
  static double momentum(const Options& o, double i) {
    return o.betas.first * (1 - 0.5 * math::pow(0.96, i * o.momentum_decay));
  }
  /// The product of the momentums of steps 1 to t, by the series of log(1 - 0.5 q^i) with the geometric sums over i of
  /// its terms: as many operations for any t.
  static double momentum_product(const Options& o, double t) {
    const double log_q = o.momentum_decay * math::log(0.96);
    double sum = 0, half = 1;
    for (int k = 1; k <= 60; ++k) {
      half *= 0.5;
      const double powers = k * log_q;
      const double geometric = log_q == 0 ? t : math::exp(powers) * math::expm1(t * powers) / math::expm1(powers);
      sum -= half / k * geometric;
    }
    return math::pow(o.betas.first, t) * math::exp(sum);
  }

  template <class T> struct Constants { T now, mean, take1, beta2, take2, eps, correction, decay, shrink, sign; };
  static Constants<double> constants(const Options& o, std::int64_t step, bool) {
    const auto t = static_cast<double>(step);
    const double product = momentum_product(o, t), next = momentum(o, t + 1);
    return {.now = o.lr * (1 - momentum(o, t)) / (1 - product),
            .mean = o.lr * next / (1 - product * next),
            .take1 = 1 - o.betas.first,
            .beta2 = o.betas.second,
            .take2 = 1 - o.betas.second,
            .eps = o.eps,
            .correction = 1 / math::sqrt(1 - math::pow(o.betas.second, t)),
            .decay = o.decoupled_weight_decay ? 0 : o.weight_decay,
            .shrink = o.decoupled_weight_decay ? 1 - o.lr * o.weight_decay : 1,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& mean, T& square) {
    const T d = c.sign * g + c.decay * p;
    mean = mean + c.take1 * (d - mean);
    square = c.beta2 * square + c.take2 * (d * d);
    p = c.shrink * p - (c.now * d + c.mean * mean) / (math::sqrt(square) * c.correction + c.eps);
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using NAdamOptions = detail::kernels::NadamRule::Options;
/// Adam with Nesterov momentum (Dozat 2016), as torch.optim.NAdam.  g: gradient + weight_decay p.
///   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///   μ_t = beta1 (1 - 0.5 0.96^(t momentum_decay)),   M_t = μ_1 ... μ_t
///   p -= lr (μ_(t+1) m / (1 - M_(t+1)) + (1 - μ_t) g / (1 - M_t)) / (sqrt(v / (1 - beta2^t)) + eps)
/// M_t is that of the present beta1 and momentum_decay, also if they were others before.
using NAdam = RuleOptimizer<detail::kernels::NadamRule>;

}  // namespace minnow::optim
