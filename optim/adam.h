#pragma once

#include <utility>
#include <minnow/optim/rule_optimizer.h>

namespace minnow::optim {

struct AdamOptions {
  double lr = 1e-3;                             ///< at least 0
  std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
  double eps = 1e-8;                            ///< at least 0
  double weight_decay = 0;                      ///< L2 penalty, added to the gradient; at least 0
  bool amsgrad = false;                         ///< divide by the largest running mean so far
  bool maximize = false;                        ///< go up instead of down
};

struct AdamWOptions {
  double lr = 1e-3;                             ///< at least 0
  std::pair<double, double> betas{0.9, 0.999};  ///< decay of the running means, each in [0, 1)
  double eps = 1e-8;                            ///< at least 0
  double weight_decay = 1e-2;                   ///< parameters shrink by lr weight_decay; at least 0
  bool amsgrad = false;                         ///< divide by the largest running mean so far
  bool maximize = false;                        ///< go up instead of down
};

/// What Adam and AdamW are made of.
template <bool Decoupled> struct AdamRule {
  using Options = std::conditional_t<Decoupled, AdamWOptions, AdamOptions>;
  static constexpr const char* kName = Decoupled ? "AdamW" : "Adam";
  static constexpr const char* kStateNames[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

  static void check(const Options& options, SourceLocation where);
  static int num_states(const Options& o) { return o.amsgrad ? 3 : 2; }
  static double phase(std::int64_t step, bool) { return static_cast<double>(step); }
  static std::size_t hyper(const Options& options, double phase, Hyper& out);
  static int number();
  template <class O, class F> static void each(O& o, F f) {
    f("lr", o.lr);
    f("beta1", o.betas.first);
    f("beta2", o.betas.second);
    f("eps", o.eps);
    f("weight_decay", o.weight_decay);
    f("amsgrad", o.amsgrad);
    f("maximize", o.maximize);
  }
};

/// Adam (Kingma and Ba 2015), as torch.optim.Adam.  g: gradient + weight_decay p.
///   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///   p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
using Adam = RuleOptimizer<AdamRule<false>>;
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW: p -= lr weight_decay p comes
/// first, and g is the gradient alone.
using AdamW = RuleOptimizer<AdamRule<true>>;

}  // namespace minnow::optim
