#pragma once

#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/internal.h>

namespace minnow::sim {

/// A simulated accelerator: its own memory, streams, events and copy engine, with the CPU's loops, which run on the
/// calling thread after the copies of the stream are done.  Thread-safe.
class SimBackend final : public Forwarding<SimBackend> {
 public:
  int device_count() const override;
  bool computes_on_host() const override { return true; }
  Allocator& allocator(int index) override;
  Allocator* pinned_allocator() override;
  Stream current_stream(int index) override;
  void set_current_stream(int index, const Stream& stream) override;
  Stream new_stream(int index) override;
  void synchronize(int index) override;
  void transfer(const View& from, const View& to, bool non_blocking) override;
  bool computes_half(DType dtype) const override;
  MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) override;

  /// Runs a call on the device of its operands.  Elementwise calls can have 0-dim CPU operands, to which a copy may be
  /// pending.
  template <class C> ResultOf<C> pass(const C& call) {
    int index = -1;
    for_each_view(call, [&](const View& operand) {
      if (!operand.defined()) return;
      if (operand.device().is_cpu()) operand.storage()->wait_ready();
      else index = operand.device().index();
    });
    if (index >= 0) finish_copies(index);
    return cpu_backend()->run(call);
  }

 private:
  /// Waits for the copies of the current stream.
  static void finish_copies(int index);
};

}  // namespace minnow::sim
