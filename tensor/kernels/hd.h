#pragma once

/// Marks a function for host and device.  Always inlined: the same functor is compiled for several
/// instruction sets, and an out-of-line copy of one would be merged by the linker with that of another.
#if defined(__CUDACC__)
#define MINNOW_HD __host__ __device__ __forceinline__
#else
#define MINNOW_HD inline __attribute__((always_inline))
#endif
