#pragma once

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/forwarding.h>

namespace minnow::sim {

/// An accelerator that every machine has: memory, streams, events and a copy engine of its own, the CPU's
/// kernels. A kernel runs on the calling thread once the copies of its stream are done.  Thread-safe.
class SimBackend final : public Forwarding<SimBackend> {
 public:
  int device_count() const override;
  Allocator& allocator(int index) override;
  Allocator* pinned_allocator() override;
  Stream current_stream(int index) override;
  void set_current_stream(int index, const Stream& stream) override;
  Stream new_stream(int index) override;
  void synchronize(int index) override;
  std::unique_ptr<Recording> begin_recording(int index) override;
  void transfer(const Tensor& from, const Tensor& to, bool non_blocking) override;
  MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) override;

  template <class R, class... P, class... A> R pass(R (Backend::*kernel)(P...), const A&... arguments) {
    int index = -1;
    (find_device(arguments, index), ...);
    if (index >= 0) finish_copies(index);
    return (cpu_backend()->*kernel)(arguments...);
  }

 private:
  /// The device of the work; elementwise families have 0-dim CPU operands too, which a copy may still be writing.
  static void find_device(const Tensor& operand, int& index) {
    if (!operand.defined()) return;
    if (operand.device().is_cpu()) operand.storage()->wait_ready();
    else index = operand.device().index();
  }
  static void find_device(std::span<const UpdateItem> items, int& index) {
    if (!items.empty()) find_device(*items.front().param, index);
  }
  template <class T> static void find_device(const T&, int&) {}

  /// Waits for the copies of the current stream.
  static void finish_copies(int index);
};

}  // namespace minnow::sim
