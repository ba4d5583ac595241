#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <minnow/tensor/cpu/runtime/isa.h>

namespace minnow::cpu {

/// Copies Bytes to 2 Bytes bytes as two moves of a fixed size, which may overlap: a call of memcpy takes longer.
template <std::size_t Bytes> inline void copy_twice(const char* from, char* to, std::size_t bytes) {
  char first[Bytes], last[Bytes];
  std::memcpy(first, from, Bytes);
  std::memcpy(last, from + (bytes - Bytes), Bytes);
  std::memcpy(to, first, Bytes);
  std::memcpy(to + (bytes - Bytes), last, Bytes);
}

/// Copies n elements, `stride` bytes apart, to a dense buffer.
template <class T> void gather_row(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  if (stride == sizeof(T)) {
    if (bytes < 8 || bytes > 128) std::memcpy(out, from, bytes);
    else if (bytes <= 16) copy_twice<8>(from, to, bytes);
    else if (bytes <= 32) copy_twice<16>(from, to, bytes);
    else if (bytes <= 64) copy_twice<32>(from, to, bytes);
    else copy_twice<64>(from, to, bytes);
  } else if (stride == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    constexpr std::int64_t kVector = 16 / sizeof(T);
    std::int64_t i = 0;
    for (; n >= kVector && i < n; i += kVector) {  // the last vector again where fewer elements are left
      T* const at = out + (i + kVector <= n ? i : n - kVector);
      for (std::int64_t l = 0; l < kVector; ++l) at[l] = value;
    }
    for (; i < n; ++i) out[i] = value;
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
