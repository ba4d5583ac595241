#pragma once

namespace minnow {

/// Whether operations on this thread record for backward; true at the start of a thread.
bool is_grad_enabled();

/// Sets the grad mode of this thread for a scope.  The mode is that of the newest guard that lives; it ends in the
/// thread where it began.
class AutoGradMode {
 public:
  [[nodiscard]] explicit AutoGradMode(bool enabled);
  ~AutoGradMode();
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
  AutoGradMode* outer_;
};

/// Operations in this scope do not record.
class NoGradGuard : AutoGradMode {
 public:
  [[nodiscard]] NoGradGuard() : AutoGradMode(false) {}
};

/// The same as NoGradGuard, under PyTorch's other name: what is computed in it may be used in training later.
class InferenceMode : AutoGradMode {
 public:
  [[nodiscard]] InferenceMode() : AutoGradMode(false) {}
};

}  // namespace minnow
