#pragma once

#include <cuda_runtime_api.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// BackendError, naming what was called, CUDA's text and the operation under way.  A sticky failure (an illegal
/// address, say) marks the device: later errors quote the first cause.
[[noreturn]] void failed(cudaError_t status, const char* called);

/// Throws as failed() does, unless the status is success.
inline void check(cudaError_t status, const char* called) {
  if (status != cudaSuccess) [[unlikely]]
    failed(status, called);
}

/// Makes the device current for this thread, unless it is: other libraries may have chosen another meanwhile.
void select(int device);

/// False once the device has failed, and in a process that was forked from one that used CUDA.
bool is_usable(int device) noexcept;
/// BackendError, naming `operation` and its line and quoting the first cause, when the device is not usable.
void require_usable(int device, const char* operation);
/// BackendError, while this thread's work is being captured, for an operation that waits for the device or reads memory
/// of the host.  Its line is that of the last operation noted.
void refuse_in_capture(const char* operation);
/// Remembers the operation that this thread has just dispatched, to be named should the device fail later.
void remember_operation(const char* name);
/// The process uses CUDA from now on: its forks may not.
void note_use();

}  // namespace minnow::cuda
