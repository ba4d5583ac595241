#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct AdadeltaRule {
  static constexpr const char* kName = "Adadelta";

  struct Options {
    double lr = 1;            ///< at least 0
    double rho = 0.9;         ///< decay of the running means, in [0, 1]
    double eps = 1e-6;        ///< at least 0
    double weight_decay = 0;  ///< L2 penalty, added to the gradient; at least 0
    bool maximize = false;    ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1");
    f("rho", o.rho, kFrom0To1, "0.9");
    f("eps", o.eps, kAtLeast0, "1e-6");
    f("weight_decay", o.weight_decay, kAtLeast0, "1e-4");
    f("maximize", o.maximize);
  }

  static constexpr RuleState<Options> kStates[] = {{"square_avg"}, {"acc_delta"}};

  template <class T> struct Constants { T lr, rho, take, eps, weight_decay, sign; };
  static Constants<double> constants(const Options& o, std::int64_t, bool) {
    return {.lr = o.lr,
            .rho = o.rho,
            .take = 1 - o.rho,
            .eps = o.eps,
            .weight_decay = o.weight_decay,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& square, T& deltas) {
    const T d = c.sign * g + c.weight_decay * p;
    square = c.rho * square + c.take * (d * d);
    const T delta = math::sqrt(deltas + c.eps) / math::sqrt(square + c.eps) * d;
    deltas = c.rho * deltas + c.take * (delta * delta);
    p -= c.lr * delta;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using AdadeltaOptions = detail::kernels::AdadeltaRule::Options;
/// Adadelta (Zeiler 2012), as torch.optim.Adadelta.  g: gradient + weight_decay p.
///   v = rho v + (1 - rho) g²,   δ = sqrt(u + eps) / sqrt(v + eps) g
///   u = rho u + (1 - rho) δ²,   p -= lr δ
using Adadelta = RuleOptimizer<detail::kernels::AdadeltaRule>;

}  // namespace minnow::optim
