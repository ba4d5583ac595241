#pragma once

#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

/// Elements of the types that the libraries take.  Conversions are those of CUDA's own headers.
namespace emulator {

inline std::size_t size_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    default: return 0;
  }
}

inline double load(const void* data, cudaDataType_t type, std::int64_t index) {
  switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(data)[index];
    case CUDA_R_32F: return static_cast<double>(static_cast<const float*>(data)[index]);
    case CUDA_R_16F: return static_cast<double>(__half2float(static_cast<const __half*>(data)[index]));
    default: return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]));
  }
}

inline void store(void* data, cudaDataType_t type, std::int64_t index, double value) {
  switch (type) {
    case CUDA_R_64F: static_cast<double*>(data)[index] = value; break;
    case CUDA_R_32F: static_cast<float*>(data)[index] = static_cast<float>(value); break;
    case CUDA_R_16F: static_cast<__half*>(data)[index] = __double2half(value); break;
    default: static_cast<__nv_bfloat16*>(data)[index] = __double2bfloat16(value); break;
  }
}

/// A number rounded to TF32: 10 bits of the fraction, to nearest.
inline double to_tf32(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  bits = (bits + 0x0fffu + (bits >> 13 & 1u)) & ~0x1fffu;
  float rounded = 0;
  std::memcpy(&rounded, &bits, sizeof rounded);
  return static_cast<double>(rounded);
}

}  // namespace emulator
