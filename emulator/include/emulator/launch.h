#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <string>

extern "C" {
extern __attribute__((weak, visibility("hidden"))) char emulated_shared_begin[], emulated_shared_end[];
extern __attribute__((weak, visibility("hidden"))) const char emulated_bounded_begin[], emulated_bounded_end[];
}

/// Functions of the emulated CUDA runtime beside those of CUDA.  Thread-safe.
namespace emulator {

/// The memory of all __shared__ variables of a program.
struct Shared {
  char *begin = nullptr, *end = nullptr;
};
/// That of the program of which the caller is a part: device_code.ld gathers it.
inline Shared shared_memory() { return {emulated_shared_begin, emulated_shared_end}; }

/// Whether a kernel of the program of which the caller is a part has __launch_bounds__.
template <class... Parameters> bool has_bounds(void (*kernel)(Parameters...)) {
  const auto* at = reinterpret_cast<const char*>(kernel);
  return at >= emulated_bounded_begin && at < emulated_bounded_end;
}

/// Launches a kernel on a stream, as `kernel<<<blocks, threads, 0, stream>>>` does; `thread` is called once for each
/// thread of the grid.  cudaGetLastError() reports an invalid configuration.  `bounded`: the kernel was compiled for
/// its number of threads.  Others may need 255 registers a thread, of which 65536 are enough for 256 threads.
void launch(cudaStream_t stream, dim3 blocks, dim3 threads, std::function<void()> thread, bool bounded = false,
            Shared shared = shared_memory());

/// Submits other work to a stream, as libraries do.  Work that returns a text has failed, and the device cannot be used
/// after it (cudaErrorLaunchFailure).
cudaError_t submit(cudaStream_t stream, std::function<std::string()> work);

/// Whether [data, data + bytes) is in one allocated block of device memory.
bool is_device_memory(const void* data, std::size_t bytes);

/// The error text of the last failed work; empty if none failed.
std::string last_fault();

/// Resets the state: all devices are usable, with no pending error and no capture.  Memory stays allocated.
void recover();

/// Sets the memory of each device in bytes; cudaMalloc fails if it is exceeded.
void set_device_memory(std::size_t bytes);

/// Makes the next `count` calls of the runtime's function of this name fail with the status.
void fail_next(const std::string& function, cudaError_t status, int count = 1);

/// Makes the next `count` calls of a library's function with this algorithm return the status.
void fail_next_algorithm(const std::string& function, int algorithm, int status, int count = 1);

/// For libraries: what one does when it first uses a kernel, such as loading it and allocating memory.  Not allowed in
/// a capture, unless the thread is in relaxed mode.  `kernel` is any number that tells kernels apart.
cudaError_t first_use(const std::string& function, std::uint64_t kernel);

/// For libraries: counts the call and returns the status with which it must fail, or 0.
int library_status(const std::string& function, int algorithm);

/// For libraries: the number of MINNOW_EMULATOR_CHOICES, by which they choose; 0 if it is not set.
std::uint64_t choices_seed();

/// For libraries: whether they sum in the other order (MINNOW_EMULATOR_BACKWARDS).
bool sums_backwards();

/// For kernels: MINNOW_EMULATOR_NARROW, the first number that they compute in 64 bits.
std::int64_t narrow_limit();

/// The number of pending pieces of work in all streams.
std::size_t waiting_work();

/// The number of calls, since the start of the process, of the function of this name: of the runtime, or one that runs
/// an algorithm of a library.
std::size_t calls_of(const std::string& function);

}  // namespace emulator
