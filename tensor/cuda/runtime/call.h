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

/// The scope of a running call, opened first in each execute().  Selects the device, names the work for messages and
/// profiles, and keeps operands that were allocated on another stream from being reused too early.
class Call {
 public:
  /// On the device of the operands.
  template <BackendCall C> explicit Call(const C& call) : Call(C::kName, device_of(call)) {
    for_each_view(call, [this](const View& operand) { uses(operand); });
  }
  /// For other work that uses `operand`.  `name` is used if no CallSite is open.
  Call(const char* name, const View& operand) : Call(name, operand.device().index()) { uses(operand); }
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  cudaStream_t stream() const { return stream_; }
  int device() const { return device_; }
  Context& context() const { return context_; }
  /// The operation, for messages.
  const char* operation() const { return operation_; }
  /// Checks a launch; in the debug mode also waits for it and checks the guard bytes of the operands.  Call it after
  /// calls of libraries too.
  void launched() const;
  /// A word in which a kernel stores 1 if it finds the fault, without atomics.  The next synchronization throws the
  /// error, with the operation and the user's line.
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
  bool in_range_ = false;  // a range of the profile is open
  cudaStream_t stream_;
  std::vector<const void*> operands_;  // in the debug mode
};

/// Device memory for the duration of a call, from the device's allocator (nullptr for 0 bytes).
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
