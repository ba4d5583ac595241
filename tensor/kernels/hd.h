#pragma once

/// Marks a function for host and device.  Always inlined: the same functor is compiled for several
/// instruction sets, and the linker would merge their out-of-line copies.
#if defined(__CUDACC__)
#define MINNOW_HD __host__ __device__ __forceinline__
#else
#define MINNOW_HD inline __attribute__((always_inline))
#endif
