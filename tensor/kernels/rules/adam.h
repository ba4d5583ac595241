#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

/// Adam, or AdamW with decoupled weight decay.
template <bool Decoupled> struct AdamRule {
  static constexpr const char* kName = Decoupled ? "AdamW" : "Adam";

  struct Options {
    double lr = 1e-3;                             ///< at least 0
    std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
    double eps = 1e-8;                            ///< at least 0
    /// At least 0.  Adam: L2 penalty, added to the gradient.  AdamW: parameters are multiplied by 1 - lr weight_decay.
    double weight_decay = Decoupled ? 1e-2 : 0;
    bool amsgrad = false;   ///< divide by the largest running mean so far
    bool maximize = false;  ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-3");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.999");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-2");
    f("amsgrad", o.amsgrad);
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}, {"exp_avg_sq"}, {"max_exp_avg_sq", &Options::amsgrad}};

  template <class T> struct Constants {
    T step_size, beta1, take1, beta2, take2, eps, correction, decay, shrink, sign;
  };
  static Constants<double> constants(const Options& o, std::int64_t step, bool) {
    const auto t = static_cast<double>(step);
    const double bias1 = 1 - math::pow(o.betas.first, t), bias2 = 1 - math::pow(o.betas.second, t);
    return {.step_size = o.lr / bias1,
            .beta1 = o.betas.first,
            .take1 = 1 - o.betas.first,
            .beta2 = o.betas.second,
            .take2 = 1 - o.betas.second,
            .eps = o.eps,
            .correction = 1 / math::sqrt(bias2),
            .decay = Decoupled ? 0 : o.weight_decay,
            .shrink = Decoupled ? 1 - o.lr * o.weight_decay : 1,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T, class V>
  MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& mean, T& square, V&& largest) {
    const T d = c.sign * g + c.decay * p;
    mean = mean + c.take1 * (d - mean);
    square = c.beta2 * square + c.take2 * (d * d);
    T divisor = square;
    if constexpr (kPresent<V>) divisor = largest = largest > square ? largest : square;
    p = c.shrink * p - c.step_size * mean / (math::sqrt(divisor) * c.correction + c.eps);
  }
};

/// Adam for sparse gradients.
struct SparseAdamRule {
  static constexpr const char* kName = "SparseAdam";

  struct Options {
    double lr = 1e-3;                             ///< at least 0
    std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
    double eps = 1e-8;                            ///< at least 0
    bool maximize = false;                        ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-3");
    f("beta1", o.betas.first, kFrom0Below1, "0.9");
    f("beta2", o.betas.second, kFrom0Below1, "0.999");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("maximize", o.maximize);
  }
  static bool takes_rows(const Options&) { return true; }

  static constexpr RuleState<Options> kStates[] = {{"exp_avg"}, {"exp_avg_sq"}};

  using Loops = AdamRule<false>;
  /// Adam's, with eps beside the root of the mean that is not corrected.
  static Loops::Constants<double> constants(const Options& o, std::int64_t step, bool first) {
    Loops::Constants<double> c =
        Loops::constants({.lr = o.lr, .betas = o.betas, .eps = o.eps, .maximize = o.maximize}, step, first);
    c.step_size /= c.correction;
    c.correction = 1;
    return c;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using AdamOptions = detail::kernels::AdamRule<false>::Options;
using AdamWOptions = detail::kernels::AdamRule<true>::Options;
/// Adam (Kingma and Ba 2015), as torch.optim.Adam.  g: gradient + weight_decay p.
///   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///   p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
using Adam = RuleOptimizer<detail::kernels::AdamRule<false>>;
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW: p -= lr weight_decay p comes
/// first, and g is the gradient only.
using AdamW = RuleOptimizer<detail::kernels::AdamRule<true>>;
using SparseAdamOptions = detail::kernels::SparseAdamRule::Options;
/// Adam for the sparse gradients of embeddings, as torch.optim.SparseAdam: rows without a gradient, and their means,
/// stay as they are in a step, whose number t counts for all rows.
///   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²,   p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
using SparseAdam = RuleOptimizer<detail::kernels::SparseAdamRule>;

}  // namespace minnow::optim
