#pragma once

#include <functional>
#include <memory>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// From now on this thread's calls of `backend` for `device` are listed and not done; a replay makes them, on the
/// thread that asks for it.  For backends that compute before a call returns and whose memory the host can address.
/// What the calls allocate comes from a pool of the capture's own; other memory that they use is kept alive.
/// A replay throws what a call throws, and for wrong data what the call's front end says of it (run_checked), with the
/// operation and the line of the capture; the calls after it are not made.
std::unique_ptr<CapturedWork> capture_calls(Backend& backend, Device device);

/// What stands in for the backend of `device` while this thread captures its calls; nullptr while it does not.
Backend* call_capture(Device device);

/// A tensor as the call that this thread captured last keeps it.
Tensor captured_operand(const Tensor& tensor);
/// What a replay calls, to throw, where that call finds wrong data.
void at_wrong_data(std::function<void()> refuse);

/// Makes a call that may find wrong data.  Where it does, refuse(tensors...) throws the error; of a call that is
/// captured, the replay that finds it, so that `refuse` may hold what outlives this function only.
template <class C, class Refuse, class... Tensors>
void run_checked(Backend& backend, const C& call, const Refuse& refuse, const Tensors&... tensors) {
  const Outcome outcome = backend.run(call);
  if (outcome == Outcome::ok) [[likely]]
    return;
  if (outcome != Outcome::captured) return refuse(tensors...);
  detail::at_wrong_data([refuse, ... kept = detail::captured_operand(tensors)] { refuse(kept...); });
}

}  // namespace minnow::detail
