#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <initializer_list>
#include <minnow/tensor/device.h>
#include <minnow/tensor/tensor.h>

namespace minnow::cuda {

/// What a kernel may find wrong while it runs; reported at the next synchronization.
enum class Fault : std::uint8_t { index_out_of_range, target_out_of_range, division_by_zero };

/// One method of the backend under way: made first in each, it selects the device, names the work for messages and
/// profiles, and keeps operands that another stream allocated from being reused too early.
class Call {
 public:
  /// The first tensor decides the device.  `method` is used where no operation of the user's is known.  CPU operands
  /// (scalars) and undefined tensors are allowed after the first.
  Call(const char* method, const Tensor& first, std::initializer_list<const Tensor*> others = {});
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  cudaStream_t stream() const { return stream_; }
  int device() const { return device_; }
  /// Checks the launch; in the debug mode waits for it.
  void launched() const;
  /// A word on the device in which a kernel stores 1 when it finds the fault (atomics are not needed); the next
  /// synchronization throws the error, naming the operation and the user's line.
  std::uint32_t* fault_flag(Fault fault) const;

 private:
  const char* method_;
  int device_;
  cudaStream_t stream_;
};

/// Device memory for the length of a call, from the device's allocator (nullptr for 0 bytes).
class Scratch {
 public:
  Scratch(const Call& call, std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T> T* as() const { return static_cast<T*>(data_); }

 private:
  Allocator& allocator_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace minnow::cuda
