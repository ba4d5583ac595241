#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct SgdRule {
  static constexpr const char* kName = "SGD";

  /// All at least 0.
  struct Options {
    double lr = 1e-3;
    double momentum = 0;
    double dampening = 0;     ///< of the gradient in the momentum; any finite number
    double weight_decay = 0;  ///< L2 penalty, added to the gradient
    bool nesterov = false;    ///< needs momentum, and no dampening
    bool maximize = false;    ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-3");
    f("momentum", o.momentum, kAtLeast0, "0.9");
    f("dampening", o.dampening, kFinite, "0");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("nesterov", o.nesterov);
    f("maximize", o.maximize);
  }
  static constexpr const char* conflict(const Options& o) {
    if (!o.nesterov || (o.momentum != 0 && o.dampening == 0)) return nullptr;
    return "nesterov needs a momentum above 0 and a dampening of 0";
  }

  static bool takes_rows(const Options& o) { return o.momentum == 0 && o.weight_decay == 0; }
  static constexpr RuleState<Options> kStates[] = {{"momentum_buffer", &Options::momentum}};

  template <class T> struct Constants { T lr, momentum, keep, take, weight_decay, sign, now, later; };
  static Constants<double> constants(const Options& o, std::int64_t, bool first) {
    return {.lr = o.lr,
            .momentum = o.momentum,
            .keep = first ? 0 : o.momentum,
            .take = first ? 1 : 1 - o.dampening,
            .weight_decay = o.weight_decay,
            .sign = o.maximize ? -1.0 : 1.0,
            .now = o.nesterov ? 1.0 : 0.0,
            .later = o.nesterov ? o.momentum : 1};
  }

  template <class T, class V> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, V&& velocity) {
    const T d = c.sign * g + c.weight_decay * p;
    if constexpr (kPresent<V>) {
      velocity = (c.keep == T(0) ? T(0) : c.keep * velocity) + c.take * d;
      p -= c.lr * (c.now * d + c.later * velocity);
    } else {
      p -= c.lr * d;
    }
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using SGDOptions = detail::kernels::SgdRule::Options;
/// Stochastic gradient descent with momentum, as torch.optim.SGD.  g: gradient + weight_decay p.
///   v = momentum v + (1 - dampening) g (at first v = g),   p -= lr v,   nesterov: p -= lr (g + momentum v)
using SGD = RuleOptimizer<detail::kernels::SgdRule>;

}  // namespace minnow::optim
