#pragma once

#include <cstdint>
#include <minnow/tensor/kernels/hd.h>

namespace minnow::detail::kernels {

/// Four 32-bit random numbers.
struct Philox4 {
  std::uint32_t lane[4];
};

struct PhiloxKey {
  std::uint32_t k0, k1;
};
MINNOW_HD PhiloxKey philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}
MINNOW_HD void philox_next(PhiloxKey& key) {
  key.k0 += 0x9E3779B9u;
  key.k1 += 0xBB67AE85u;
}
MINNOW_HD void philox_round(std::uint32_t& c0, std::uint32_t& c1, std::uint32_t& c2, std::uint32_t& c3, PhiloxKey key) {
  const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
  const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
  c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key.k0;
  c1 = static_cast<std::uint32_t>(p1);
  c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key.k1;
  c3 = static_cast<std::uint32_t>(p0);
}

/// Philox 4x32-10 (Salmon et al. 2011): four numbers for each 128-bit counter and 64-bit key.
MINNOW_HD Philox4 philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t seed) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high);
  std::uint32_t c3 = static_cast<std::uint32_t>(counter_high >> 32);
  PhiloxKey key = philox_key(seed);
  for (int round = 0; round < 10; ++round) {
    philox_round(c0, c1, c2, c3, key);
    philox_next(key);
  }
  return {{c0, c1, c2, c3}};
}

/// A number in [0, 1), a multiple of 2^-24, from the upper bits.
MINNOW_HD float uniform_float(std::uint32_t x) { return static_cast<float>(x >> 8) * 0x1p-24f; }
/// A number in [0, 1), a multiple of 2^-53.
MINNOW_HD double uniform_double(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t x = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

}  // namespace minnow::detail::kernels
