#pragma once

#include <span>
#include <string>
#include <minnow/autograd/node.h>

namespace minnow {

struct AnomalyOptions {
  /// Also check the result of each operation as it is recorded.  An operation whose result has NaN, or an infinity that
  /// no operand has, throws AutogradError.  Infinities that the caller wrote himself (masked_fill with -infinity, and
  /// the like) are no error.
  bool check_forward = false;
};

/// Finds the operation whose gradient became NaN or infinite.  While it is on, a backward on this thread checks every
/// gradient that it computes.  The first one with NaN or an infinity is an AutogradError with the operation, its line
/// in the forward pass, the operand and the counts; gradients of leaves that were finished before stay.  A sum of
/// finite gradients that overflows, a hook, and a gradient that is given to backward are found too.
///
/// Nodes always know their line, so only backward needs to run while it is on.  Each check waits for the device: for
/// debugging.  A CapturedStep runs directly meanwhile; turning it on inside of a step that is being captured is a
/// BackendError.
void set_detect_anomaly(bool on, AnomalyOptions options = {});
/// Whether it is on, on this thread.
bool is_anomaly_enabled();

/// set_detect_anomaly() for a scope:
///
///     DetectAnomalyGuard guard;
///     loss.backward();
class DetectAnomalyGuard {
 public:
  [[nodiscard]] explicit DetectAnomalyGuard(AnomalyOptions options = {});
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool on_;
  AnomalyOptions options_;
};

namespace autograd {

struct Input;

/// AutogradError if `gradient`, which `node` computed from `incoming` for its input, is not finite.
void check_gradient(Node& node, std::size_t input, const Tensor& gradient, std::span<const Tensor> incoming);
/// The same for a gradient at an edge's end that no operation computed; `what` it is.
void check_gradient_at(const Edge& edge, const Tensor& gradient, const char* what, const char* hint);
/// With AnomalyOptions::check_forward: AutogradError if the operation made a value that is not finite.
void check_result(const Node& node, const Tensor& result, std::span<const Input> inputs);

}  // namespace autograd
}  // namespace minnow
