#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>
#include <string>

/// What the emulated CUDA runtime offers beside CUDA's own functions.  Thread-safe.
namespace emulator {

/// Gives a kernel to a stream, as `kernel<<<blocks, threads, 0, stream>>>` does; `thread` is called once for each
/// thread of the grid.  An impossible configuration is told by cudaGetLastError().
void launch(cudaStream_t stream, dim3 blocks, dim3 threads, std::function<void()> thread);

/// Gives any other work to a stream, as a library does.  Work that returns a text has failed: the device is
/// unusable from then on (cudaErrorLaunchFailure).
cudaError_t submit(cudaStream_t stream, std::function<std::string()> work);

/// Whether all of [data, data + bytes) lies in one block of device memory that is allocated.
bool is_device_memory(const void* data, std::size_t bytes);

/// What the last piece of failed work said; empty if none did.
std::string last_fault();

/// As after a crash and restart: all devices usable, no error pending, no capture; memory stays allocated.
void recover();

/// Bytes that each device has; cudaMalloc refuses what does not fit.
void set_device_memory(std::size_t bytes);

/// The next `count` calls of the runtime's function of this name fail with the status.
void fail_next(const std::string& function, cudaError_t status, int count = 1);

/// The next `count` calls of a library's function for this algorithm, one of its enumeration, return the status.
void fail_next_algorithm(const std::string& function, int algorithm, int status, int count = 1);

/// For libraries: counts the call, and says which status it is to return, or 0.
int library_status(const std::string& function, int algorithm);

/// Pieces of work that wait in all streams.
std::size_t waiting_work();

/// Calls of the function of this name, the runtime's or one that runs a library's algorithm, since the process began.
std::size_t calls_of(const std::string& function);

}  // namespace emulator
