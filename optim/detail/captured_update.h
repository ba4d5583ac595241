#pragma once

#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::optim::detail {

/// What an optimizer's step notes in a capture, so that each replay makes the step that would be next.  Nothing outside
/// of a captured step.
class CapturedUpdate {
 public:
  explicit CapturedUpdate(Optimizer& optimizer) : o_(optimizer) {}

  /// Where each replay finds the constants of this pass over the optimizer's items; nullptr outside of a capture.
  const double* note_pass(const Optimizer::Pending& key);
  /// BackendError for an optimizer whose steps cannot be captured.
  void note_composed(const Optimizer::Pending& pending);
  /// BackendError for state that a captured step would allocate.
  void require_may_allocate(const Tensor& param, SourceLocation where) const;

 private:
  using Slots = std::vector<Optimizer::Slot*>;
  /// Whether a captured pass over these slots would still be the same.
  bool is_as_captured(const Optimizer::Pending& key, const Slots& slots) const;

  Optimizer& o_;
};

}  // namespace minnow::optim::detail
