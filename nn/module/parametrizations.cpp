#include <minnow/nn/module/parametrizations.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <minnow/autograd/checkpoint.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {

using detail::Access;
using detail::Child;
using detail::Derived;
using detail::Entry;
using detail::State;

namespace {

constexpr const char* kChild = "parametrizations";

/// Computes a parameter of a layer.
class Parametrization : public Module {
 public:
  virtual Tensor compute() = 0;
  /// Whether compute() changes buffers.
  virtual bool changes() const { return false; }
};

/// Holds them by the names of the parameters.
class Parametrizations : public Module {
 public:
  Parametrizations() { hold_children(); }
  std::string describe() const override { return "Parametrizations"; }
};

template <class M> Child child_of(std::string_view name, const M& module) {
  return {std::string(name), std::make_shared<M>(module), &detail::copy_as<M>};
}

Tensor norm_except(const Tensor& v, int dim) {
  if (dim < 0) return norm(v);
  std::vector<std::int64_t> others;
  for (int d = 0; d < v.dim(); ++d)
    if (d != dim) others.push_back(d);
  return others.empty() ? abs(v) : norm(v, 2, Dims(others), true);
}

class WeightNorm : public Parametrization {
 public:
  WeightNorm(const Tensor& w, int dim)
      : original0(parameter("original0", norm_except(w, dim))), original1(parameter("original1", w)), dim_(dim) {}

  Parameter original0, original1;

  Tensor compute() override { return original1 * (original0 / norm_except(original1, dim_)); }
  std::string describe() const override { return "WeightNorm"; }

 private:
  int dim_;
};

/// The vectors of the power iteration.
class SpectralVectors : public Module {
 public:
  SpectralVectors(const Tensor& first, const Tensor& second) : u(buffer("_u", first)), v(buffer("_v", second)) {}
  Buffer u, v;
  std::string describe() const override { return "SpectralNorm"; }
};

class SpectralNorm : public Parametrization {
 public:
  SpectralNorm(const Tensor& w, const SpectralNormOptions& options)
      : original(parameter("original", w)),
        options_(options),
        vectors_(w.dim() < 2 ? std::optional<SpectralVectors>()
                             : child("0", SpectralVectors(start(w, matrix(w, options).size(0), options),
                                                          start(w, matrix(w, options).size(1), options)))) {
    if (w.dim() > 1) iterate(15);
  }

  Parameter original;

  Tensor compute() override {
    if (original.dim() < 2) return normalize(original, 2, 0, options_.eps);
    if (changes()) iterate(options_.n_power_iterations);
    const Tensor u = vectors_->u.clone(), v = vectors_->v.clone();
    return original / dot(u, mv(matrix(original, options_), v));
  }
  bool changes() const override { return is_training() && original.dim() > 1 && !autograd::is_recomputing(); }
  std::string describe() const override { return "SpectralNorm"; }

 private:
  static Tensor matrix(const Tensor& w, const SpectralNormOptions& options) {  // the other dimensions in their order
    return w.unsqueeze(0).transpose(0, options.dim + 1).flatten(1);
  }
  static Tensor start(const Tensor& w, std::int64_t size, const SpectralNormOptions& options) {
    return normalize(init::normal_(empty({size}, {w.dtype(), w.device()})), 2, 0, options.eps);
  }
  void iterate(std::int64_t times) {
    const NoGradGuard guard;
    const Tensor w = matrix(original, options_);
    for (std::int64_t i = 0; i < times; ++i) {
      vectors_->u.copy_(normalize(mv(w, vectors_->v), 2, 0, options_.eps));
      vectors_->v.copy_(normalize(mv(w.t(), vectors_->u), 2, 0, options_.eps));
    }
  }

  SpectralNormOptions options_;
  std::optional<SpectralVectors> vectors_;  // of a matrix
};

std::vector<Child>::iterator find_child(State& state, std::string_view name) {
  return std::find_if(state.children.begin(), state.children.end(), [&](const Child& c) { return c.name == name; });
}

Parametrization& parametrization_of(State& state, const std::string& name) {
  State& all = Access::state(*find_child(state, kChild)->module);
  return dynamic_cast<Parametrization&>(*find_child(all, name)->module);
}

/// The memory and versions that a parametrization reads.
std::vector<std::uint64_t> versions_of(const Module& module) {
  std::vector<std::uint64_t> versions;
  const auto add = [&](const Tensor& t) {
    versions.push_back(reinterpret_cast<std::uintptr_t>(t.storage().get()));
    versions.push_back(t.storage()->version());
    versions.push_back(static_cast<std::uint64_t>(t.dtype()));
  };
  for (const Tensor& p : module.parameters()) add(p);
  for (const auto& [name, buffer] : module.named_buffers()) add(buffer);
  return versions;
}

[[noreturn]] void refuse(const char* op, const std::string& why, const Module& module, SourceLocation where) {
  std::string names;
  for (const Entry& entry : Access::state(module).parameters) names += (names.empty() ? "'" : ", '") + entry.name + "'";
  throw ValueError(std::string(op) + ": " + why + "\n  module  " + module.describe() + "\nits own parameters are " +
                       (names.empty() ? "none" : names),
                   where);
}

/// Takes a parameter out of a module: what `make` makes of its value computes it from now on.
template <class Make>
void parametrize(const char* op, const Module& module, std::string_view name, int dim, SourceLocation where,
                 const Make& make) {
  const CallSite site(op, where);
  State& state = Access::state(module);
  const auto entry =
      std::find_if(state.parameters.begin(), state.parameters.end(), [&](const Entry& e) { return e.name == name; });
  if (entry == state.parameters.end()) refuse(op, "there is no parameter '" + std::string(name) + "'", module, where);
  const Tensor weight = entry->tensor;
  if (!weight.slot()->tied.empty()) refuse(op, "'" + std::string(name) + "' is tied to another one", module, where);
  if (dim < -1 || dim >= weight.dim())
    throw IndexError(
        message(fmt::format("there is no dimension {}", dim), {{"weight", weight}}, "dimensions are counted from 0"));
  const NoGradGuard guard;
  const bool trained = weight.requires_grad();
  auto made = make(weight.detach().clone());
  if (!trained) made.requires_grad_(false);
  made.train(state.training);
  if (find_child(state, kChild) == state.children.end())
    Access::register_child(module, child_of(kChild, Parametrizations()), where);
  Access::register_child(*find_child(state, kChild)->module, child_of(name, made), where);
  state.parameters.erase(entry);
  state.places.clear();
  weight.set_slot(nullptr);
  state.derived.push_back({std::string(name), weight});
  Access::compute_derived(module);
}

}  // namespace

void Module::compute_derived() const {
  for (Derived& derived : state_->derived) {
    Parametrization& from = parametrization_of(*state_, derived.name);
    const bool keep = !is_grad_enabled() && !from.changes();
    if (keep && derived.computed_from == versions_of(from)) continue;
    const Tensor value = from.compute();
    derived.computed_from = keep ? versions_of(from) : std::vector<std::uint64_t>();
    derived.tensor.set_data(value);
    derived.tensor.set_slot(value.slot());
  }
}

void detail::weight_norm(const Module& module, std::string_view name, int dim, SourceLocation where) {
  parametrize("weight_norm", module, name, dim, where, [&](const Tensor& w) { return WeightNorm(w, dim); });
}

void detail::spectral_norm(const Module& module, std::string_view name, const SpectralNormOptions& options,
                           SourceLocation where) {
  if (options.n_power_iterations < 1)
    throw ValueError(fmt::format("spectral_norm: n_power_iterations must be positive, got {}\nuse 1 or more",
                                 options.n_power_iterations),
                     where);
  parametrize("spectral_norm", module, name, options.dim < 0 ? 0x7fff : options.dim, where,
              [&](const Tensor& w) { return SpectralNorm(w, options); });
}

void remove_parametrizations(const Module& module, std::string_view name, SourceLocation where) {
  const char* op = "remove_parametrizations";
  const CallSite site(op, where);
  State& state = Access::state(module);
  const auto derived =
      std::find_if(state.derived.begin(), state.derived.end(), [&](const Derived& d) { return d.name == name; });
  if (derived == state.derived.end()) refuse(op, "'" + std::string(name) + "' is not computed", module, where);
  {
    const NoGradGuard guard;
    Tensor weight = derived->tensor;
    const Tensor value = parametrization_of(state, derived->name).compute();
    weight.set_data(value);
    weight.set_slot(nullptr);
    weight.requires_grad_(true);
    state.parameters.push_back({derived->name, weight});
  }
  State& all = Access::state(*find_child(state, kChild)->module);
  all.children.erase(find_child(all, name));
  all.places.clear(), state.places.clear();
  if (all.children.empty()) state.children.erase(find_child(state, kChild));
  state.derived.erase(derived);
}

}  // namespace minnow::nn
