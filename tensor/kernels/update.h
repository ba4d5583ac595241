#pragma once

#include <string_view>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::kernels {

// Rules of optimizers, element by element.  A rule's Hyper is a plain struct of doubles, handed to a backend
// as an array; flags are 0 or 1.  kStates tensors shaped like the parameter belong to each parameter; a rule
// may leave the later ones out (momentum 0, no amsgrad).  The gradient is never written.

/// Stochastic gradient descent.
///   g' = g + weight_decay p       (g negated first where maximize)
///   v  = momentum v + (1 - dampening) g'     (v = g' at the first step)
///   p -= lr v, with nesterov lr (g' + momentum v)
/// Without momentum no state is read or written.
struct Sgd {
  static constexpr std::string_view kName = "sgd";
  static constexpr int kStates = 1;
  struct Hyper {
    double lr = 1e-3;
    double momentum = 0;
    double dampening = 0;
    double weight_decay = 0;
    double nesterov = 0;
    double maximize = 0;
    double first_step = 0;
  };

  /// The hyper-parameters as the element type's own numbers.
  template <class T> struct Constants { T lr, momentum, keep, take, weight_decay, sign, now, later; };
  template <class T> MINNOW_HD static Constants<T> constants(const Hyper& h) {
    const bool first = h.first_step != 0;
    const bool nesterov = h.nesterov != 0;
    return {T(h.lr),
            T(h.momentum),
            T(first ? 0 : h.momentum),
            T(first ? 1 : 1 - h.dampening),
            T(h.weight_decay),
            T(h.maximize != 0 ? -1 : 1),
            T(nesterov ? 1 : 0),
            T(nesterov ? h.momentum : 1)};
  }
  /// With momentum.
  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& velocity) {
    const T d = c.sign * g + c.weight_decay * p;
    velocity = (c.keep == T(0) ? T(0) : c.keep * velocity) + c.take * d;
    p -= c.lr * (c.now * d + c.later * velocity);
  }
  /// Without.
  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g) {
    p -= c.lr * (c.sign * g + c.weight_decay * p);
  }
};

/// Adam (Kingma and Ba 2015); with decoupled weight decay AdamW (Loshchilov and Hutter 2019).
///   g' = g + weight_decay p            AdamW: p -= lr weight_decay p instead
///   m  = beta1 m + (1 - beta1) g'      v = beta2 v + (1 - beta2) g'^2
///   p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// With amsgrad the largest v so far takes v's place.
template <bool Decoupled> struct AdamRule {
  static constexpr std::string_view kName = Decoupled ? "adamw" : "adam";
  static constexpr int kStates = 3;
  struct Hyper {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0;
    double amsgrad = 0;
    double maximize = 0;
    double step = 1;  ///< t, counted from 1
  };

  template <class T> struct Constants {
    T step_size, beta1, take1, beta2, take2, eps, correction, decay, shrink, sign;
  };
  template <class T> MINNOW_HD static Constants<T> constants(const Hyper& h) {
    const double bias1 = 1 - math::pow(h.beta1, h.step);
    const double bias2 = 1 - math::pow(h.beta2, h.step);
    return {T(h.lr / bias1),
            T(h.beta1),
            T(1 - h.beta1),
            T(h.beta2),
            T(1 - h.beta2),
            T(h.eps),
            T(1 / math::sqrt(bias2)),
            T(Decoupled ? 0 : h.weight_decay),
            T(Decoupled ? 1 - h.lr * h.weight_decay : 1),
            T(h.maximize != 0 ? -1 : 1)};
  }
  template <class T> MINNOW_HD static void step(const Constants<T>& c, T& p, T g, T& m, T& v) {
    T unused = T(0);
    amsgrad_step(c, p, g, m, v, unused);
  }
  template <class T> MINNOW_HD static void amsgrad_step(const Constants<T>& c, T& p, T g, T& m, T& v, T& largest) {
    const T d = c.sign * g + c.decay * p;
    m = m + c.take1 * (d - m);
    v = c.beta2 * v + c.take2 * (d * d);
    largest = largest > v ? largest : v;
    p = c.shrink * p - c.step_size * m / (math::sqrt(largest) * c.correction + c.eps);
  }
};
using Adam = AdamRule<false>;
using AdamW = AdamRule<true>;

/// Every rule; the place in this list is its number.
using UpdateRules = List<Sgd, Adam, AdamW>;

}  // namespace minnow::kernels
