#pragma once

#include <memory>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/tensor.h>

namespace minnow::autograd {

class AutocastCache;

/// Sets what guards have set on this thread, until it ends.  Scopes may end in any order.
class AutocastScope {
 public:
  /// `keeps_cache`: casts of the scopes outside are seen, and later ones stay after this scope.
  AutocastScope(const detail::AutocastMode& mode, bool keeps_cache);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  detail::AutocastMode mode_;
  AutocastScope* outer_;
  AutocastCache* outer_cache_;
  std::unique_ptr<AutocastCache> own_;
};

/// x in another floating-point dtype, recorded; of a parameter, in the dtype of the guard, the one that is kept.
Tensor autocast_to(const Tensor& x, DType dtype);

}  // namespace minnow::autograd
