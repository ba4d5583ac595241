#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct AsgdRule {
  static constexpr const char* kName = "ASGD";

  struct Options {
    double lr = 1e-2;         ///< at least 0
    double lambd = 1e-4;      ///< decay of the parameters, and of the learning rate; at least 0
    double alpha = 0.75;      ///< power of the learning rate's decay; at least 0
    double t0 = 1e6;          ///< the step at which averaging starts; at least 0
    double weight_decay = 0;  ///< L2 penalty, added to the gradient; at least 0
    bool maximize = false;    ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-2");
    f("lambd", o.lambd, kAtLeast0, "1e-4");
    f("alpha", o.alpha, kAtLeast0, "0.75");
    f("t0", o.t0, kAtLeast0, "1e6");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"ax"}};

  template <class T> struct Constants { T eta, kept, mu, weight_decay, sign; };
  static Constants<double> constants(const Options& o, std::int64_t step, bool) {
    const double before = static_cast<double>(step - 1), averaged = before - o.t0;
    const double eta = o.lr / math::pow(1 + o.lambd * o.lr * before, o.alpha);
    return {.eta = eta,
            .kept = 1 - o.lambd * eta,
            .mu = averaged > 1 ? 1 / averaged : 1,
            .weight_decay = o.weight_decay,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& average) {
    const T d = c.sign * g + c.weight_decay * p;
    p = c.kept * p - c.eta * d;
    average = c.mu == T(1) ? p : average + c.mu * (p - average);
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using ASGDOptions = detail::kernels::AsgdRule::Options;
/// Averaged stochastic gradient descent (Polyak and Juditsky 1992), as torch.optim.ASGD.  g: gradient + weight_decay p.
///   eta = lr / (1 + lambd lr (t - 1))^alpha,   p = (1 - lambd eta) p - eta g
///   ax += (p - ax) / max(1, t - 1 - t0)
/// ax, the average, is in state_dict().
using ASGD = RuleOptimizer<detail::kernels::AsgdRule>;

}  // namespace minnow::optim
