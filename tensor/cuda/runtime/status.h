#pragma once

#include <cuda_runtime_api.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// BackendError with the called function, CUDA's message and the open operation.  After a sticky failure (such as an
/// illegal address) the device is marked as failed, and later errors quote the first cause.
[[noreturn]] void failed(cudaError_t status, const char* called);

/// Throws as failed() does, unless the status is success.
inline void check(cudaError_t status, const char* called) {
  if (status != cudaSuccess) [[unlikely]]
    failed(status, called);
}

/// Makes the device current on this thread, also if another library has changed it.
void select(int device);

/// False once the device has failed, and in a process that was forked from one that used CUDA.
bool is_usable(int device) noexcept;
/// BackendError with `operation`, its line and the first cause, if the device is not usable.
void require_usable(int device, const char* operation);
/// BackendError if this thread is capturing, for an operation that waits for the device or reads host memory.
void refuse_in_capture(const char* operation);
/// Remembers an operation that this thread has dispatched, for the message if the device fails later.
void remember_operation(const char* name);
/// Notes that the process uses CUDA, so that forks of it cannot.
void note_use();

}  // namespace minnow::cuda
