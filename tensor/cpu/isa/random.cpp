#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/kernels/draw.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

constexpr int kWide = 64;

/// The state of many counters, so that each round is a vectorized loop that is not unrolled.
struct Lanes {
  std::uint32_t c0[kWide], c1[kWide], c2[kWide], c3[kWide];
};

void round_all(Lanes& s, kernels::PhiloxKey key) {
  for (int l = 0; l < kWide; ++l) kernels::philox_round(s.c0[l], s.c1[l], s.c2[l], s.c3[l], key);
}

void philox(std::uint64_t seed, std::uint64_t counter, std::uint32_t* out, std::int64_t counters) {
  std::int64_t at = 0;
  for (; at + kWide <= counters; at += kWide) {
    Lanes s;
    for (int l = 0; l < kWide; ++l) {
      const std::uint64_t c = counter + static_cast<std::uint64_t>(at + l);
      s.c0[l] = static_cast<std::uint32_t>(c);
      s.c1[l] = static_cast<std::uint32_t>(c >> 32);
      s.c2[l] = 0;
      s.c3[l] = 0;
    }
    kernels::PhiloxKey key = kernels::philox_key(seed);
    for (int round = 0; round < 10; ++round) {
      round_all(s, key);
      kernels::philox_next(key);
    }
    std::uint32_t* to = out + 4 * at;
    for (int l = 0; l < kWide; ++l) {
      to[4 * l] = s.c0[l];
      to[4 * l + 1] = s.c1[l];
      to[4 * l + 2] = s.c2[l];
      to[4 * l + 3] = s.c3[l];
    }
  }
  for (; at < counters; ++at) {
    const kernels::Philox4 r = kernels::philox(counter + static_cast<std::uint64_t>(at), 0, seed);
    __builtin_memcpy(out + 4 * at, &r, sizeof(r));
  }
}

template <class Draw> void draw(const void* by, const std::uint32_t* numbers, void* values, std::int64_t counters) {
  constexpr int kElements = 4 / Draw::kPerElement;
  const Draw draw = *static_cast<const Draw*>(by);
  auto* const to = static_cast<typename Draw::Type*>(values);
  for (std::int64_t c = 0; c < counters; ++c) {
    std::uint32_t r[4];
    typename Draw::Type y[kElements];
    for (int k = 0; k < 4; ++k) r[k] = numbers[4 * c + k];
    draw(r, y);
    for (int k = 0; k < kElements; ++k) to[kElements * c + k] = y[k];
  }
}

}  // namespace

template <> void install_loops<family::Random>(Kernels& k) {
  k.philox = philox;
  kernels::for_each(kernels::Draws{}, [&]<class Draw, int I>() { k.draw[I] = draw<Draw>; });
}

}  // namespace minnow::cpu::MINNOW_ISA
