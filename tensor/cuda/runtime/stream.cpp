#include <minnow/tensor/cuda/runtime/stream.h>

#include <cuda_runtime_api.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

class CudaEvent final : public Event::State {
 public:
  CudaEvent(Context& context, EventUse use, StreamHandle stream)
      : context_(context), event_(context.events(use).record(stream)), use_(use), captured_(capturing()) {}

  bool is_ready() override {
    refuse_captured();
    return event_.is_complete();
  }
  void synchronize() override {
    refuse_captured();
    refuse_in_capture("Event::synchronize");
    event_.synchronize();
    context_.report();
  }
  void settle() noexcept override {
    try {
      if (!captured_ && !capturing() && is_usable(context_.index)) event_.synchronize();
    } catch (...) {  // the device failed: the next use of it throws
    }
  }
  double seconds() override { return since(context_.base); }
  double seconds_since(Event::State& start) override {
    auto* other = dynamic_cast<CudaEvent*>(&start);
    if (!other || &other->context_ != &context_) return State::seconds_since(start);
    other->require_time();
    return since(other->event_);
  }

  Context& context() const { return context_; }
  EventHandle handle() const { return event_.handle(); }
  void refuse_captured() const {
    if (captured_)
      throw BackendError(
          "Event: it was recorded in a captured step, where it only orders work\nrecord another one outside of the "
          "step");
  }

 private:
  /// Not the difference of two seconds(), whose precision is that of a float with the time since the start.  Faults
  /// that kernels found are left to other waits, since code that only measures time ignores errors.
  double since(const PooledEvent& start) {
    refuse_captured();
    require_time();
    refuse_in_capture("Event::seconds_since");
    event_.synchronize();
    start.synchronize();
    select(context_.index);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(start.handle()),
                               static_cast<cudaEvent_t>(event_.handle())),
          "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

  void require_time() const {
    if (use_ == EventUse::ordering)
      throw BackendError("Event::seconds_since: the event has no time\nrecord it with EventUse::timing",
                         CallSite::where());
  }

  Context& context_;
  const PooledEvent event_;
  const EventUse use_;
  const bool captured_;
};

}  // namespace

Event CudaStream::record(EventUse use) {
  require_usable(context_.index, "Stream::record");
  return Event(std::make_shared<CudaEvent>(context_, use, handle_));
}

void CudaStream::wait(const Event& event) {
  if (!event.state()) return;
  require_usable(context_.index, "Stream::wait");
  if (const auto* mine = dynamic_cast<CudaEvent*>(event.state().get())) {
    if (!capturing()) mine->refuse_captured();  // otherwise this stream would be captured too
    context_.driver.wait(handle_, mine->handle());
  } else event.synchronize();  // another kind of device: the host waits
}

void CudaStream::synchronize() {
  require_usable(context_.index, "Stream::synchronize");
  refuse_in_capture("Stream::synchronize");
  select(context_.index);
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(handle_)), "cudaStreamSynchronize");
  context_.report();
}

}  // namespace minnow::cuda
