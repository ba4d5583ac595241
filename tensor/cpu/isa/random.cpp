#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/kernels/philox.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// Sixteen counters at a time, side by side, for the sake of vectors.
void philox(std::uint64_t seed, std::uint64_t counter, std::uint32_t* out, std::int64_t counters) {
  constexpr int kWide = 16;
  std::int64_t at = 0;
  for (; at + kWide <= counters; at += kWide) {
    kernels::Philox4 r[kWide];
    std::uint32_t c0[kWide];
    std::uint32_t c1[kWide];
    std::uint32_t c2[kWide];
    std::uint32_t c3[kWide];
    for (int l = 0; l < kWide; ++l) {
      const std::uint64_t c = counter + static_cast<std::uint64_t>(at + l);
      c0[l] = static_cast<std::uint32_t>(c);
      c1[l] = static_cast<std::uint32_t>(c >> 32);
      c2[l] = 0;
      c3[l] = 0;
    }
    kernels::PhiloxKey key = kernels::philox_key(seed);
    for (int round = 0; round < 10; ++round) {
      for (int l = 0; l < kWide; ++l) kernels::philox_round(c0[l], c1[l], c2[l], c3[l], key);
      kernels::philox_next(key);
    }
    for (int l = 0; l < kWide; ++l) r[l] = {{c0[l], c1[l], c2[l], c3[l]}};
    __builtin_memcpy(out + 4 * at, r, sizeof(r));
  }
  for (; at < counters; ++at) {
    const kernels::Philox4 r = kernels::philox(counter + static_cast<std::uint64_t>(at), 0, seed);
    __builtin_memcpy(out + 4 * at, &r, sizeof(r));
  }
}

}  // namespace

void install_random(Kernels& k) { k.philox = philox; }

}  // namespace minnow::cpu::MINNOW_ISA
