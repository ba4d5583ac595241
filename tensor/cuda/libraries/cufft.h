#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <minnow/tensor/cuda/runtime/call.h>

namespace minnow::cuda::cufft {

using Plan = int;  // cufftHandle

/// The functions of cuFFT that are used.  Declared here, because cufft.h is not in all packages of the toolkit; the
/// numbers that they return are of cufftResult, 0 for success.
struct Functions {
  int (*create)(Plan* plan);
  int (*destroy)(Plan plan);
  int (*set_auto_allocation)(Plan plan, int on);
  int (*make_many)(Plan plan, int rank, long long* n, long long* input_sizes, long long input_step,
                   long long input_distance, long long* output_sizes, long long output_step, long long output_distance,
                   int type, long long count, std::size_t* workspace);
  int (*set_stream)(Plan plan, cudaStream_t stream);
  int (*set_work_area)(Plan plan, void* workspace);
  int (*exec)(Plan plan, void* input, void* output, int direction);  // of complex numbers of float64
};

constexpr int kComplexDouble = 0x69;  // CUFFT_Z2Z
constexpr int kForward = -1;          // CUFFT_FORWARD

/// Loads the library at the first call.  BackendError if it cannot be loaded.  Thread-safe.
const Functions& functions();

/// Transforms `count` lines of n complex numbers of float64, in place.
void transform(const Call& call, void* lines, std::int64_t n, std::int64_t count);

}  // namespace minnow::cuda::cufft
