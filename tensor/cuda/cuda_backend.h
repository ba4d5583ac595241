#pragma once

#include <string>
#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// Submits a call's work to the calling thread's current stream; begins with a cuda::Call.  Each is defined in a file
/// of its name (elementwise_*.cu, reduce.cu, matmul.cpp, ...); a missing one is a link error.
template <BackendCall C> ResultOf<C> execute(const C& call);

/// NVIDIA GPUs.  Thread-safe.
class CudaBackend final : public Forwarding<CudaBackend> {
 public:
  int device_count() const override;
  bool computes_on_host() const override { return false; }
  Allocator& allocator(int index) override;
  Allocator* pinned_allocator() override;
  Stream current_stream(int index) override;
  void set_current_stream(int index, const Stream& stream) override;
  Stream new_stream(int index) override;
  void synchronize(int index) override;
  std::unique_ptr<CapturedWork> begin_capture(int index) override;
  void transfer(const View& from, const View& to, bool non_blocking) override;
  bool computes_half(DType) const override { return true; }
  MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) override;

  template <class C> ResultOf<C> pass(const C& call) {
    if constexpr (requires { C::kHostOnly; })
      throw DeviceError(std::string(CallSite::op_or(C::kName)) + ": " + C::kHostOnly +
                        " run on the CPU only, not on a GPU\nmove the operands: .cpu()");
    else return execute(call);
  }
};

}  // namespace minnow::cuda
