#pragma once

#include <minnow/tensor/kernels/rules/rule.h>

namespace minnow::detail::kernels {

struct RpropRule {
  static constexpr const char* kName = "Rprop";

  struct Options {
    double lr = 1e-2;                          ///< the step size at the beginning; at least 0
    std::pair<double, double> etas{0.5, 1.2};  ///< what shortens a step, in [0, 1), and what lengthens it, above 1
    std::pair<double, double> step_sizes{1e-6, 50};  ///< the shortest and the longest step; at least 0
    bool maximize = false;                           ///< maximize instead of minimize
  };
  template <class O, class F> static constexpr void options(O& o, F&& f) {
    f("lr", o.lr, kAtLeast0, "1e-2");
    f("etaminus", o.etas.first, kFrom0Below1, "0.5");
    f("etaplus", o.etas.second, kAtLeast0, "1.2");
    f("step_size_min", o.step_sizes.first, kAtLeast0, "1e-6");
    f("step_size_max", o.step_sizes.second, kAtLeast0, "50");
    f("maximize", o.maximize);
  }
  static constexpr const char* conflict(const Options& o) {
    if (!(o.etas.first > 0 && o.etas.second > 1)) return "etaminus must be in (0, 1) and etaplus above 1";
    return o.step_sizes.first > o.step_sizes.second ? "step_size_min must not be above step_size_max" : nullptr;
  }

  static constexpr RuleState<Options> kStates[] = {{"prev"}, {"step_size"}};

  template <class T> struct Constants { T start, minus, plus, shortest, longest, sign; };
  static Constants<double> constants(const Options& o, std::int64_t, bool first) {
    return {.start = first ? o.lr : 0,
            .minus = o.etas.first,
            .plus = o.etas.second,
            .shortest = o.step_sizes.first,
            .longest = o.step_sizes.second,
            .sign = o.maximize ? -1.0 : 1.0};
  }

  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& last, T& size) {
    const T d = c.sign * g, turn = d * last;
    const T factor = turn > T(0) ? c.plus : turn < T(0) ? c.minus : T(1) + turn;  // NaN stays NaN
    T length = (c.start + size) * factor;                                         // size is 0 at first
    length = length < c.shortest ? c.shortest : length > c.longest ? c.longest : length;
    const T kept = turn < T(0) ? T(0) : d;
    const T sign = kept > T(0) ? T(1) : kept < T(0) ? T(-1) : kept;
    p -= sign * length;
    size = length;
    last = kept;
  }
};

}  // namespace minnow::detail::kernels

namespace minnow::optim {

using RpropOptions = detail::kernels::RpropRule::Options;
/// Rprop (Riedmiller and Braun 1993), as torch.optim.Rprop, for whole batches: only the sign of a gradient counts.
///   g g' > 0:   s = min(s etaplus, step_size_max)            g': the gradient of the last step; s begins as lr
///   g g' < 0:   s = max(s etaminus, step_size_min), and g counts as 0
///   p -= s sign(g)
/// Learning rates that are set after the first step have no effect.
using Rprop = RuleOptimizer<detail::kernels::RpropRule>;

}  // namespace minnow::optim
