#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <minnow/tensor/cpu/runtime/isa.h>

namespace minnow::cpu {

/// Copies n elements, `stride` bytes apart, to a dense buffer.
template <class T> void gather_row(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  if (stride == sizeof(T)) {
    std::memcpy(out, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < n; ++i) out[i] = value;
  } else if (stride == 2 * static_cast<std::int64_t>(sizeof(T))) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = reinterpret_cast<const T*>(from)[2 * i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(from + i * stride);
  }
}

/// n elements `stride` apart as a dense row of the compute type: `from` itself if it is one, otherwise gathered and
/// converted to `buffer` (n times 8 bytes).  n is at most kReduceBlock.
const void* dense_row(const char* from, std::int64_t stride, DType dtype, Compute compute, char* buffer,
                      std::int64_t n);

}  // namespace minnow::cpu
