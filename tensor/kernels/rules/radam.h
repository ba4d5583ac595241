#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct RadamRule {
  static constexpr const char* kName = "RAdam";

  struct Options {
    double lr = 1e-3;                             ///< at least 0
    std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
    double eps = 1e-8;                            ///< at least 0
    double weight_decay = 0;                      ///< at least 0
    /// Parameters are multiplied by 1 - lr weight_decay (as in AdamW); otherwise an L2 penalty, added to the gradient.
    bool decoupled_weight_decay = false;
    bool maximize = false;  ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-3");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.999");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-2");
    f("decoupled_weight_decay", o.decoupled_weight_decay);
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}, {"exp_avg_sq"}};

  template <class T> struct Constants {
    T step_size, take1, beta2, take2, eps, adaptive, rectified, decay, shrink, sign;
  };
  static Constants<double> constants(const Options& o, std::int64_t step, bool) {
    const auto t = static_cast<double>(step);
    const double power = math::pow(o.betas.second, t), bias2 = 1 - power;
    const double limit = 2 / (1 - o.betas.second) - 1, length = limit - 2 * t * power / bias2;
    const bool adaptive = length > 5;  // otherwise the variance of 1 / sqrt(v) is not bounded
    const double rectified =
        adaptive ? math::sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) : 0;
    return {.step_size = o.lr / (1 - math::pow(o.betas.first, t)),
            .take1 = 1 - o.betas.first,
            .beta2 = o.betas.second,
            .take2 = 1 - o.betas.second,
            .eps = o.eps,
            .adaptive = adaptive ? 1.0 : 0.0,
            .rectified = rectified * math::sqrt(bias2),
            .decay = o.decoupled_weight_decay ? 0 : o.weight_decay,
            .shrink = o.decoupled_weight_decay ? 1 - o.lr * o.weight_decay : 1,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& mean, T& square) {
    const T d = c.sign * g + c.decay * p;
    mean = mean + c.take1 * (d - mean);
    square = c.beta2 * square + c.take2 * (d * d);
    const T scale = c.adaptive != T(0) ? c.rectified / (math::sqrt(square) + c.eps) : T(1);
    p = c.shrink * p - c.step_size * mean * scale;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using RAdamOptions = detail::kernels::RadamRule::Options;
/// Rectified Adam (Liu et al. 2020), as torch.optim.RAdam.  g: gradient + weight_decay p.
///   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///   ρ = 2 / (1 - beta2) - 1,   ρ_t = ρ - 2 t beta2^t / (1 - beta2^t)
///   ρ_t > 5:    p -= lr m / (1 - beta1^t) r sqrt(1 - beta2^t) / (sqrt(v) + eps),
///               r² = (ρ_t - 4) (ρ_t - 2) ρ / ((ρ - 4) (ρ - 2) ρ_t)
///   otherwise:  p -= lr m / (1 - beta1^t)
using RAdam = RuleOptimizer<detail::kernels::RadamRule>;

}  // namespace minnow::optim
