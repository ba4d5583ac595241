#pragma once

#include <utility>
#include <vector>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

/// Tensors by the names of a module's parameters and buffers: Module::named_parameters(), or a StateDict.
struct NamedWeights {
  NamedWeights(std::vector<NamedTensor> weights, SourceLocation line = SourceLocation::current())
      : items(std::move(weights)), where(line) {}
  NamedWeights(const StateDict& weights, SourceLocation line = SourceLocation::current()) : where(line) {
    for (const auto& [name, tensor] : weights) items.push_back({name, tensor});
  }

  std::vector<NamedTensor> items;
  SourceLocation where;
};

namespace detail {

/// Tensors of a module stand for others as long as it lives.
class Substitution {
 public:
  Substitution(const Module& module, const NamedWeights& weights);
  ~Substitution();
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

 private:
  struct Former;
  std::vector<Former> formers_;
};

}  // namespace detail

/// Calls a module with other weights than its own, as torch.func.functional_call: the parameters and buffers that are
/// named are those tensors for this call, the others its own.  Gradients flow into the tensors and on to what they were
/// computed from, so that MAML (Finn et al. 2017) and hypernetworks need no second way to write forward:
///
///     std::vector<nn::NamedTensor> fast = net.named_parameters();
///     for (int step = 0; step < 3; ++step) {
///       std::vector<Tensor> weights;
///       for (const auto& [name, w] : fast) weights.push_back(w);
///       const auto grads = grad({loss(nn::functional_call(net, fast, x), y)}, weights, {.create_graph = true});
///       for (std::size_t i = 0; i < fast.size(); ++i) fast[i].tensor = weights[i] - 0.1 * grads[i];
///     }
///     loss(nn::functional_call(net, fast, x_test), y_test).backward();
///
/// Tied parameters stay one.  A buffer that forward() writes to (running statistics) is the one that is given.
/// ValueError for a name that the module lacks, for one that weight_norm() computes, and for an undefined tensor.  The
/// module is as before when the call ends, also by an exception; until then no other thread may use it.
template <std::derived_from<Module> M, class... A>
auto functional_call(const M& module, const NamedWeights& weights, A&&... arguments) {
  const minnow::detail::CallSite site(weights.where);
  const detail::Substitution substitution(module, weights);
  return module(std::forward<A>(arguments)...);
}

}  // namespace minnow::nn
