#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct RmspropRule {
  static constexpr const char* kName = "RMSprop";

  struct Options {
    double lr = 1e-2;         ///< at least 0
    double alpha = 0.99;      ///< decay of the running means, in [0, 1]
    double eps = 1e-8;        ///< at least 0
    double weight_decay = 0;  ///< L2 penalty, added to the gradient; at least 0
    double momentum = 0;      ///< at least 0
    bool centered = false;    ///< divide by the standard deviation of the gradient, not by its root mean square
    bool maximize = false;    ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-2");
    f("alpha", o.alpha, kFrom0To1, "0.99");
    f("eps", o.eps, kAtLeast0, "1e-8");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("momentum", o.momentum, kAtLeast0, "0.9");
    f("centered", o.centered);
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {
      {"square_avg"}, {"momentum_buffer", &Options::momentum}, {"grad_avg", &Options::centered}};

  template <class T> struct Constants { T lr, alpha, take, eps, weight_decay, momentum, sign; };
  static Constants<double> constants(const Options& o, std::int64_t, bool) {
    return {.lr = o.lr,
            .alpha = o.alpha,
            .take = 1 - o.alpha,
            .eps = o.eps,
            .weight_decay = o.weight_decay,
            .momentum = o.momentum,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T, class V, class M>
  MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& square, V&& velocity, M&& mean) {
    const T d = c.sign * g + c.weight_decay * p;
    square = c.alpha * square + c.take * (d * d);
    T variance = square;
    if constexpr (kPresent<M>) {
      mean = mean + c.take * (d - mean);
      variance = square - mean * mean;
      variance = variance < T(0) ? T(0) : variance;  // negative by rounding, if the gradient hardly changes
    }
    const T scaled = d / (math::sqrt(variance) + c.eps);
    if constexpr (kPresent<V>) {
      velocity = c.momentum * velocity + scaled;
      p -= c.lr * velocity;
    } else {
      p -= c.lr * scaled;
    }
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using RMSpropOptions = detail::kernels::RmspropRule::Options;
/// RMSprop (Hinton 2012), as torch.optim.RMSprop.  g: gradient + weight_decay p.
///   v = alpha v + (1 - alpha) g²,   centered: m = alpha m + (1 - alpha) g, and v - m² replaces v below
///   p -= lr g / (sqrt(v) + eps),   momentum: b = momentum b + g / (sqrt(v) + eps),   p -= lr b
/// If rounding makes v - m² negative, it counts as 0; in PyTorch the parameter becomes NaN.
using RMSprop = RuleOptimizer<detail::kernels::RmspropRule>;

}  // namespace minnow::optim
