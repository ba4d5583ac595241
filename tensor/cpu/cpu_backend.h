#pragma once

#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// Runs a call on memory that the host can address.  Each is defined in a file of its name (elementwise.cpp,
/// reduce.cpp, matmul.cpp, ...); a missing one is a link error.
template <BackendCall C> ResultOf<C> execute(const C& call);

/// The CPU's backend.  Thread-safe.
class CpuBackend final : public Forwarding<CpuBackend> {
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

  template <class C> ResultOf<C> pass(const C& call) { return execute(call); }
};

}  // namespace minnow::cpu
