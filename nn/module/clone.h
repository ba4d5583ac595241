#pragma once

#include <minnow/nn/detail/cloning.h>

namespace minnow::nn {

/// A deep copy of a module: it has parameters and buffers of its own (with their values, names and requires_grad), and
/// the mode; no gradients and no hooks.  What is shared inside the module is shared inside the copy.  ValueError for a
/// registered tensor or child that the class does not hold as nn::Parameter, nn::Buffer or by its module type.
template <std::derived_from<Module> M> M clone(const M& module, SourceLocation where = SourceLocation::current()) {
  detail::Cloning cloning(module, typeid(M), where);
  cloning.copy_children();
  M copy = module;
  cloning.check_copy_of(module);
  return copy;
}

/// A deep copy of a module's state_dict(), e.g. of the best epoch: `best = nn::snapshot(net);` and, at the end,
/// `net.load_state_dict(best);`.  OutOfMemoryError.
inline StateDict snapshot(const Module& module, SourceLocation where = SourceLocation::current()) {
  return module.state_dict().clone(where);
}

}  // namespace minnow::nn
