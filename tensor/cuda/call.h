#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <initializer_list>
#include <vector>
#include <minnow/tensor/cuda/memory/faults.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/tensor.h>

namespace minnow::cuda {

class Context;

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

  /// One more operand, for methods that have lists of them.
  void uses(const Tensor& operand);

  cudaStream_t stream() const { return stream_; }
  int device() const { return device_; }
  Context& context() const { return context_; }
  /// The operation, for messages.
  const char* operation() const { return operation_; }
  /// Checks the launch; in the debug mode waits for it, and checks the canaries of the operands.  To be called after a
  /// library's call too.
  void launched() const;
  /// A word on the device in which a kernel stores 1 when it finds the fault (atomics are not needed); the next
  /// synchronization throws the error, naming the operation and the user's line.
  std::uint32_t* fault_flag(Fault fault) const;

 private:
  void check_guards() const;

  Context& context_;
  const char* operation_;
  int device_;
  bool in_range_ = false;  // of a profile
  cudaStream_t stream_;
  std::vector<const void*> operands_;  // in the debug mode
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
