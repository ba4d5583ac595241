#pragma once

namespace minnow {

/// Whether operations on this thread record for backward; true at the start of a thread.
bool is_grad_enabled();

/// Sets the grad mode of this thread for a scope.
class AutoGradMode {
 public:
  [[nodiscard]] explicit AutoGradMode(bool enabled);
  ~AutoGradMode();
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};

/// Operations in this scope do not record.
class NoGradGuard : AutoGradMode {
 public:
  [[nodiscard]] NoGradGuard() : AutoGradMode(false) {}
};

}  // namespace minnow
