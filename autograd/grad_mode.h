#pragma once

namespace minnow {

/// Whether operations on this thread record for backward; true at the start of a thread.
bool is_grad_enabled();

/// Sets the grad mode of this thread for a scope.
class GradMode {
 public:
  [[nodiscard]] explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

/// Operations in this scope do not record.
class NoGradGuard : GradMode {
 public:
  [[nodiscard]] NoGradGuard() : GradMode(false) {}
};

}  // namespace minnow
