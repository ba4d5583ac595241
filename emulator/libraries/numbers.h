#pragma once

#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <emulator/launch.h>
#include <initializer_list>
#include <library_types.h>
#include <limits>
#include <utility>
#include <vector>

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

/// A hash of some numbers.
inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}
inline std::uint64_t mixed(std::uint64_t hash, std::initializer_list<std::uint64_t> values) {
  for (const std::uint64_t value : values) hash = mixed(hash, value);
  return hash;
}

/// A number in [-1, 1] that looks like chance.
inline double noise(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(mixed(mixed(mixed(1, a), b), 2) >> 11) * 0x1p-52 - 1;
}

/// Brings a list into an order that depends on the configuration, if MINNOW_EMULATOR_CHOICES is set.
template <class T> void shuffle(std::vector<T>& list, std::uint64_t configuration) {
  const std::uint64_t seed = choices_seed();
  if (seed == 0) return;
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(mixed(seed, {configuration, i}) >> 32) % i]);
}

/// Whether a library refuses to run what it has named itself: one in three if MINNOW_EMULATOR_CHOICES is set.
inline bool refuses(std::uint64_t configuration, int algorithm) {
  const std::uint64_t seed = choices_seed();
  return seed != 0 && (mixed(seed, {configuration, static_cast<std::uint64_t>(algorithm), 3}) >> 32) % 3 == 0;
}

/// Index i of `count`, from the other end if libraries sum backwards.
inline std::int64_t in_order(std::int64_t i, std::int64_t count) { return sums_backwards() ? count - 1 - i : i; }

}  // namespace emulator
