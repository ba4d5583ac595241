#pragma once

#include <string_view>
#include <utility>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

/// BackendError: `op` cannot be captured, because it waits for the device or uses host memory.
[[noreturn]] void forbid_in_capture(std::string_view op, SourceLocation where = {});

/// What this thread must not do, because a CUDA graph cannot capture it.  They hold on a GPU while a step is captured,
/// and on other devices whenever a CapturedStep runs, so that a step that runs there can be captured on a GPU.
struct CaptureRules {
  Device device;              ///< of the step
  bool may_allocate = false;  ///< what steps keep, such as an optimizer's state: a run before the one that is captured

  /// Those that hold now, or nullptr.
  static const CaptureRules* current() { return calling_thread.capture_rules; }
  /// BackendError if they hold for `device`: the host or another device cannot access its memory, since a replay would
  /// not repeat the access.
  static void forbid_access(std::string_view op, Device device, SourceLocation where = {}) {
    if (const CaptureRules* rules = current(); rules && rules->device == device) forbid_in_capture(op, where);
  }
};

/// Sets the rules of this thread for a scope; nullptr: none hold.
class CaptureRulesScope {
 public:
  explicit CaptureRulesScope(const CaptureRules* rules)
      : previous_(std::exchange(calling_thread.capture_rules, rules)) {}
  ~CaptureRulesScope() { calling_thread.capture_rules = previous_; }
  CaptureRulesScope(const CaptureRulesScope&) = delete;
  CaptureRulesScope& operator=(const CaptureRulesScope&) = delete;

 private:
  const CaptureRules* const previous_;
};

}  // namespace minnow::detail
