#pragma once

#include <minnow/tensor/in.h>

namespace minnow::nn {

/// Notices that losses became NaN or infinite, without waiting for the device:
///
///     nn::FiniteCheck check;
///     for (auto& [images, labels] : loader) {
///       const Tensor loss = step(images, labels);
///       check(loss);
///     }
///     check.finish();
///
/// The device counts the losses.  On the CPU a bad one is reported at once, elsewhere one or a few calls later, with
/// the number of the first bad one.  May be called inside of a CapturedStep, where it only counts: call poll() after
/// the step then.  Not thread-safe.
class FiniteCheck {
 public:
  /// Counts a loss, of any shape, and polls.  ValueError if a loss was NaN or infinite.  The first call decides the
  /// device; it cannot be captured (BackendError).
  void operator()(const In& loss);
  /// ValueError if a loss of which the device has reported was NaN or infinite.  Does not wait.
  void poll(SourceLocation where = SourceLocation::current());
  /// The same for all losses so far; waits for the device.
  void finish(SourceLocation where = SourceLocation::current());

 private:
  void look(bool wait);

  Tensor counts_;  // int64 {1 until the first bad loss, then 0; the losses before it} on the device
  Tensor good_, so_far_;
  Tensor seen_;  // a copy of counts_ that is on its way to the host
};

}  // namespace minnow::nn
