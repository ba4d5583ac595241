#pragma once

#include <string>
#include <minnow/tensor/tensor.h>

// For libraries beside minnow, such as NCCL, that submit work of their own.  In a build without CUDA nothing calls
// these.
namespace minnow::cuda {

/// The cudaStream_t of this thread's current stream on the device of a and b, which becomes the thread's current one.
/// The memory of both is kept until the work that is submitted to the stream now is done; in a capture, as long as the
/// captured work is there.
void* native_stream(const Tensor& a, const Tensor& b);
/// Says which GPU of the machine it is.  BackendError.
std::string bus_id(int device);
/// Whether this thread is capturing.
bool is_capturing();
/// The scope of calls of the library, which may allocate or copy at the first use of something, also in a capture.
class NativeScope {
 public:
  NativeScope();
  ~NativeScope();  // NOLINT(performance-trivially-destructible): with CUDA it has work to do
  NativeScope(const NativeScope&) = delete;
  NativeScope& operator=(const NativeScope&) = delete;

 private:
  [[maybe_unused]] int mode_ = 0;  // of cudaStreamCaptureMode, what the thread had
  [[maybe_unused]] bool relaxed_;
};

}  // namespace minnow::cuda
