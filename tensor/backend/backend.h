#pragma once

#include <memory>
#include <minnow/tensor/backend/call_fields.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/stream.h>

namespace minnow::detail {

/// Work that is captured instead of done, to be done again and again: see CapturedStep.
class CapturedWork {
 public:
  /// Gives up a capture that was not finished; its thread computes as before.
  virtual ~CapturedWork() = default;
  /// Ends the capture.  BackendError when something in it cannot be captured.
  virtual void finish() = 0;
  /// Does the captured work, on the current stream.
  virtual void replay() = 0;
};

/// A virtual function run(const C&) for each call.
template <class List> class Runs;
template <> class Runs<CallList<>> {
 public:
  virtual ~Runs() = default;

 protected:
  void run();
};
template <class C, class... More> class Runs<CallList<C, More...>> : public Runs<CallList<More...>> {
 public:
  using Runs<CallList<More...>>::run;
  virtual ResultOf<C> run(const C& call) = 0;
};

/// Everything a device can do.  What computes is a call of calls.h, and run(call) does it:
/// `backend.run(calls::Softmax{x, y, dim, log})`.  A backend is free of checks and of shape logic.
class Backend : public detail::Runs<Calls> {
 public:
  // Devices, memory, streams.
  virtual int device_count() const = 0;
  /// Whether calls are loops on the host, which find wrong data before they return: false of a GPU.
  virtual bool computes_on_host() const = 0;
  virtual Allocator& allocator(int index) = 0;
  /// Page-locked host memory for copies to and from this backend's devices; nullptr when it has no use for
  /// any.
  virtual Allocator* pinned_allocator() = 0;
  virtual Stream current_stream(int index) = 0;
  virtual void set_current_stream(int index, const Stream& stream) = 0;
  virtual Stream new_stream(int index) = 0;
  virtual void synchronize(int index) = 0;
  /// From now on this thread's work on the device is captured and not done.
  virtual std::unique_ptr<CapturedWork> begin_capture(int index) = 0;

  /// Bytes between the host and this device, or between two of its devices; both sides dense in the same
  /// order and of one dtype.  With non_blocking the call may return first; the storages stay alive until the
  /// copy is done.
  virtual void transfer(const View& from, const View& to, bool non_blocking) = 0;
  /// The memory format that a convolution's outputs should have.
  virtual MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) = 0;
};

}  // namespace minnow::detail
