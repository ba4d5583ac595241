// What options each rule takes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <tuple>
#include <minnow/optim/adam.h>
#include <minnow/optim/sgd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/update.h>

namespace minnow::optim {
namespace {

std::string shown(double value) { return fmt::format("{}", value); }

double flag(bool on) { return on ? 1 : 0; }

/// A kernel's own struct, as the array that a backend takes.
template <class T> std::size_t put(const T& hyper, Hyper& out) {
  constexpr std::size_t kCount = sizeof(T) / sizeof(double);
  static_assert(sizeof(T) % sizeof(double) == 0 && kCount <= std::tuple_size_v<Hyper>);
  const auto values = std::bit_cast<std::array<double, kCount>>(hyper);
  std::copy(values.begin(), values.end(), out.begin());
  return kCount;
}

void require_at_least_0(const char* op, const char* name, double value, const char* usual, SourceLocation where) {
  if (!(value >= 0) || !std::isfinite(value))
    throw ValueError(std::string(op) + ": " + name + " = " + shown(value) +
                         " is not a finite number of at least 0\ngive one, e.g. " + usual,
                     where);
}

}  // namespace

void SgdRule::check(const Options& o, SourceLocation where) {
  require_at_least_0(kName, "lr", o.lr, "1e-3", where);
  require_at_least_0(kName, "momentum", o.momentum, "0.9", where);
  require_at_least_0(kName, "weight_decay", o.weight_decay, "1e-4", where);
  if (!std::isfinite(o.dampening))
    throw ValueError(
        std::string(kName) + ": dampening = " + shown(o.dampening) + " is not a finite number\n0 is the usual one",
        where);
  if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
    throw ValueError(std::string(kName) + ": nesterov needs a momentum above 0 and no dampening\n  momentum   " +
                         shown(o.momentum) + "\n  dampening  " + shown(o.dampening) +
                         "\nset .momentum = 0.9, or leave nesterov out",
                     where);
}

std::size_t SgdRule::hyper(const Options& o, double phase, Hyper& out) {
  return put(
      kernels::Sgd::Hyper{o.lr, o.momentum, o.dampening, o.weight_decay, flag(o.nesterov), flag(o.maximize), phase},
      out);
}

int SgdRule::number() { return kernels::kIndexOf<kernels::UpdateRules, kernels::Sgd>; }

template <bool Decoupled> void AdamRule<Decoupled>::check(const Options& o, SourceLocation where) {
  require_at_least_0(kName, "lr", o.lr, "1e-3", where);
  require_at_least_0(kName, "eps", o.eps, "1e-8", where);
  require_at_least_0(kName, "weight_decay", o.weight_decay, "1e-2", where);
  for (const double beta : {o.betas.first, o.betas.second})
    if (!(beta >= 0 && beta < 1))
      throw ValueError(
          std::string(kName) + ": a beta of " + shown(beta) + " is not in [0, 1)\n0.9 and 0.999 are the usual ones",
          where);
}

template <bool Decoupled> std::size_t AdamRule<Decoupled>::hyper(const Options& o, double phase, Hyper& out) {
  return put(typename kernels::AdamRule<Decoupled>::Hyper{o.lr, o.betas.first, o.betas.second, o.eps, o.weight_decay,
                                                          flag(o.amsgrad), flag(o.maximize), phase},
             out);
}

template <bool Decoupled> int AdamRule<Decoupled>::number() {
  return kernels::kIndexOf<kernels::UpdateRules, kernels::AdamRule<Decoupled>>;
}

template struct AdamRule<false>;
template struct AdamRule<true>;

}  // namespace minnow::optim
