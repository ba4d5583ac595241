#pragma once

#include <cuda_runtime_api.h>
#include <optional>
#include <minnow/tensor/cuda/memory/memory_pool.h>

namespace minnow::cuda {

/// During a capture, allows calls of this thread that do not concern the captured stream, for a scope.
class Uncaptured {
 public:
  Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The scope of calls of a library.  At the first use of an algorithm it may allocate or copy, also if that is during a
/// capture of this thread; what it submits to the captured stream is captured as well.
class LibraryScope {
 public:
  LibraryScope() {
    if (capturing()) uncaptured_.emplace();
  }

 private:
  std::optional<Uncaptured> uncaptured_;
};

}  // namespace minnow::cuda
