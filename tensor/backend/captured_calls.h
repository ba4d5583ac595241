#pragma once

#include <functional>
#include <memory>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// From now on, this thread's calls of `backend` for `device` are kept instead of run; a replay runs them, on the
/// thread that calls it.  For backends that compute before a call returns and whose memory the host can address.
/// Memory that the step allocates comes from a pool of the capture; other memory that it uses is kept alive.  A replay
/// throws what a call throws, and for wrong data the error given to run_checked(), with the operation and the line of
/// the capture; the calls after it are not run.
std::unique_ptr<CapturedWork> capture_calls(Backend& backend, Device device);

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
