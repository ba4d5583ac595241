#pragma once

#include <minnow/optim/rule_optimizer.h>

namespace minnow::optim {

/// All at least 0.
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;     ///< of the gradient that enters the momentum
  double weight_decay = 0;  ///< L2 penalty, added to the gradient
  bool nesterov = false;    ///< needs momentum, and no dampening
  bool maximize = false;    ///< go up instead of down
};

/// What SGD is made of.
struct SgdRule {
  using Options = SGDOptions;
  static constexpr const char* kName = "SGD";
  static constexpr const char* kStateNames[] = {"momentum_buffer"};

  static void check(const Options& options, SourceLocation where);
  static int num_states(const Options& o) { return o.momentum != 0 ? 1 : 0; }
  static double phase(std::int64_t, bool fresh) { return fresh ? 1 : 0; }
  static std::size_t hyper(const Options& options, double phase, Hyper& out);
  static int number();
  template <class O, class F> static void each(O& o, F f) {
    f("lr", o.lr);
    f("momentum", o.momentum);
    f("dampening", o.dampening);
    f("weight_decay", o.weight_decay);
    f("nesterov", o.nesterov);
    f("maximize", o.maximize);
  }
};

/// Stochastic gradient descent with momentum, as torch.optim.SGD.  g: gradient + weight_decay p.
///   v = momentum v + (1 - dampening) g (at first v = g),   p -= lr v,   nesterov: p -= lr (g + momentum v)
using SGD = RuleOptimizer<SgdRule>;

}  // namespace minnow::optim
