#pragma once

#include <memory>
#include <minnow/tensor/backend/call_fields.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow::detail {

/// Captured work, which can be replayed any number of times (see CapturedStep).
class CapturedWork {
 public:
  /// Abandons a capture that was not finished: its thread computes again.
  virtual ~CapturedWork() = default;
  /// Ends the capture.  BackendError if some of it cannot be captured.
  virtual void finish() = 0;
  /// Runs the captured work on the current stream.
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
/// Four at a time, for the compiler's time: each class of the chain repeats the functions of those behind it.
template <class C, class D, class E, class F, class... More>
class Runs<CallList<C, D, E, F, More...>> : public Runs<CallList<More...>> {
 public:
  using Runs<CallList<More...>>::run;
  virtual ResultOf<C> run(const C& call) = 0;
  virtual ResultOf<D> run(const D& call) = 0;
  virtual ResultOf<E> run(const E& call) = 0;
  virtual ResultOf<F> run(const F& call) = 0;
};

/// What a kind of device does: run(call) for each call of calls.h, `backend.run(calls::Softmax{x, y, dim, log})`, and
/// the functions below.  Arguments are checked before and outputs are allocated.
class Backend : public detail::Runs<Calls> {
 public:
  // Devices, memory, streams.
  virtual int device_count() const = 0;
  /// Whether calls are loops on the host, which find wrong data before they return: false of a GPU.
  virtual bool computes_on_host() const = 0;
  virtual Allocator& allocator(int index) = 0;
  /// Page-locked host memory for copies to and from this backend's devices; nullptr if it does not need any.
  virtual Allocator* pinned_allocator() = 0;
  virtual Stream current_stream(int index) = 0;
  virtual void set_current_stream(int index, const Stream& stream) = 0;
  virtual Stream new_stream(int index) = 0;
  virtual void synchronize(int index) = 0;
  /// From now on, work of this thread on the device is captured instead of run.  nullptr if calls are loops on the
  /// host.
  virtual std::unique_ptr<CapturedWork> begin_capture(int) { return nullptr; }

  /// Copies between the host and a device, or between two devices of this backend.  Both views are dense, with the same
  /// dtype, shape and strides.  With non_blocking the call may return before the copy is done; the storages are kept
  /// until then.
  virtual void transfer(const View& from, const View& to, bool non_blocking) = 0;
  /// Whether products of this half dtype are faster than those of float32.
  virtual bool computes_half(DType dtype) const = 0;
  /// The memory format that the outputs of a convolution must have.
  virtual MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) = 0;
};

}  // namespace minnow::detail
