#pragma once

#include <functional>
#include <memory>
#include <string>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// Captured work that is a list of calls, with memory that is planned when the capture ends (capture_memory.h).
class CapturedList : public CapturedWork {
 public:
  /// From now on the memory of this tensor is an input, with the next number from 0 on.
  virtual void add_input(const View& tensor) = 0;
  /// Replays read input `i` at this address from here on.
  virtual void set_input(std::size_t i, void* data) = 0;
  /// Whether a replay uses some of this memory, other than as an input.
  virtual bool uses(const void* begin, std::size_t bytes) const = 0;
  /// Two lines with the first call that is another one in `now`, a later capture of the same step; empty if all are the
  /// same calls with the same operands.
  virtual std::string difference(const CapturedList& now) const = 0;
};

/// From now on, this thread's calls of `backend` for `device` are kept instead of run; a replay runs them, on the
/// thread that calls it.  For backends that compute before a call returns and whose memory the host can address.
/// A replay throws what a call throws, and for wrong data the error given to run_checked(), with the operation and the
/// line of the capture; the calls after it are not run.
std::unique_ptr<CapturedList> capture_calls(Backend& backend, Device device);

/// The backend that captures calls for `device` on this thread; nullptr if none are captured.
Backend* call_capture(Device device);

/// A tensor as the last captured call of this thread keeps it.
Tensor captured_operand(const Tensor& tensor);
/// Sets the function that throws when the last captured call finds wrong data in a replay.
void on_wrong_data(std::function<void()> refuse);

/// Runs a call that can find wrong data.  If it does, refuse(tensors...) throws the error.  If the call is captured, a
/// replay calls `refuse` later, so it must not refer to local variables.
template <class C, class Refuse, class... Tensors>
void run_checked(Backend& backend, const C& call, const Refuse& refuse, const Tensors&... tensors) {
  const Outcome outcome = backend.run(call);
  if (outcome == Outcome::ok) [[likely]]
    return;
  if (outcome != Outcome::captured) return refuse(tensors...);
  detail::on_wrong_data([refuse, ... kept = detail::captured_operand(tensors)] { refuse(kept...); });
}

}  // namespace minnow::detail
