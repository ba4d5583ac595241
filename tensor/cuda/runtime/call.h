#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <vector>
#include <minnow/tensor/backend/call_fields.h>
#include <minnow/tensor/cuda/memory/faults.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cuda {

class Context;

/// A call of the backend under way: made first in each execute(), it selects the device, names the work for messages
/// and profiles, and keeps operands that another stream allocated from being reused too early.
class Call {
 public:
  /// On the device of the operands.
  template <BackendCall C> explicit Call(const C& call) : Call(C::kName, device_of(call)) {
    for_each_view(call, [this](const View& operand) { uses(operand); });
  }
  /// Other work that uses `operand`.  `name` is used where no operation of the user's is known.
  Call(const char* name, const View& operand) : Call(name, operand.device().index()) { uses(operand); }
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

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
  Call(const char* name, int device);

  template <class C> static int device_of(const C& call) {
    int index = -1;
    for_each_view(call, [&](const View& operand) {
      if (index < 0 && operand.defined() && operand.device().is_cuda()) index = operand.device().index();
    });
    return index;
  }
  void uses(const View& operand);
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
