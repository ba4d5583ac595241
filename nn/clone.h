#pragma once

#include <minnow/nn/detail/cloning.h>

namespace minnow::nn {

/// A deep copy of a module of the same type: own parameters and buffers (values, names, requires_grad, mode), no
/// gradients, no hooks.  What is shared inside the module is shared inside the copy.  ValueError, naming it, for a
/// registered tensor or child that the struct does not hold as nn::Parameter, nn::Buffer or by its module type.
template <std::derived_from<Module> M> M clone(const M& module, SourceLocation where = SourceLocation::current()) {
  detail::Cloning cloning(module, typeid(M), where);
  M twin = module;
  cloning.finish();
  return twin;
}

}  // namespace minnow::nn
