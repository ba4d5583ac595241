#pragma once

#include <cuda_runtime_api.h>

/// For libraries whose work waits for other processes.
namespace emulator {

/// Does some of the pending work, as a GPU does without being waited for.
void advance();

/// Whether the calling thread captures, and the stream is not in a capture.
bool leaves_capture(cudaStream_t stream);

}  // namespace emulator
