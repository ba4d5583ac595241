#pragma once

#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow::cuda {

/// A CUDA stream that does not synchronize with the legacy default stream.  Thread-safe.
class CudaStream final : public Stream::State {
 public:
  /// The destructor returns the stream to the context, unless it is the default one.
  CudaStream(Context& context, StreamHandle handle, bool is_default)
      : context_(context), handle_(handle), is_default_(is_default) {}
  ~CudaStream() override {
    if (!is_default_) context_.give_back(handle_);
  }

  Event record(EventUse use) override;
  void wait(const Event& event) override;
  void synchronize() override;
  StreamHandle handle() const { return handle_; }

 private:
  Context& context_;
  const StreamHandle handle_;
  const bool is_default_;
};

}  // namespace minnow::cuda
