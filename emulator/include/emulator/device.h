#pragma once

// What nvcc defines in device code, for g++: included before each .cu file.  It has only what CUDA has, with the same
// types. `__shared__` and `__launch_bounds__` are defined on the command line.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <emulator/block.h>
#include <type_traits>
#include <vector_functions.h>

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace emulator {

/// The barrier of a block with a vote on `predicate`.
struct Vote {
  int predicate;
  int votes;
};
inline int vote(Place place, int predicate) {
  Vote mine{predicate != 0, 0};
  meet_block(place, &mine, [](void* const* slots, int count) {
    int votes = 0;
    for (int i = 0; i < count; ++i) votes += static_cast<Vote*>(slots[i])->predicate;
    for (int i = 0; i < count; ++i) static_cast<Vote*>(slots[i])->votes = votes;
    count_barrier();
  });
  return mine.votes;
}

/// The lanes of the mask whose predicate is true.
inline unsigned ballot(Place place, unsigned mask, int predicate) {
  Vote mine{predicate != 0, 0};
  meet_warp(place, mask, &mine, [](void* const* slots, int count) {
    unsigned votes = 0;
    for (int i = 0; i < count; ++i)
      if (slots[i] && static_cast<Vote*>(slots[i])->predicate) votes |= 1u << i;
    for (int i = 0; i < count; ++i)
      if (slots[i]) static_cast<Vote*>(slots[i])->votes = static_cast<int>(votes);
  });
  return static_cast<unsigned>(mine.votes);
}

/// The value of lane `from` of the warp.
template <class T> struct Shuffle {
  T value, result;
  int from;
  bool missing;
};
template <class T> T shuffle(Place place, unsigned mask, T value, int from) {
  Shuffle<T> mine{value, value, from, false};
  meet_warp(place, mask, &mine, [](void* const* slots, int count) {
    for (int i = 0; i < count; ++i) {
      if (!slots[i]) continue;
      auto& lane = *static_cast<Shuffle<T>*>(slots[i]);
      lane.missing = !slots[lane.from];
      if (!lane.missing) lane.result = static_cast<Shuffle<T>*>(slots[lane.from])->value;
    }
  });
  if (mine.missing) fault(place, "a shuffle reads lane " + std::to_string(from) + ", which takes no part");
  return mine.result;
}
inline int lane() { return thread_index() % 32; }

/// The types that shuffles take.
template <class T>
concept Shuffled = (std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) && !std::is_same_v<T, bool>);

}  // namespace emulator

// Barriers and votes of a block.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::vote({file, line}, 0);
}
inline int __syncthreads_count(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulator::vote({file, line}, predicate);
}
inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulator::vote({file, line}, predicate) != 0;
}
inline int __syncthreads_and(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulator::vote({file, line}, predicate) == emulator::block_size();
}
inline void __threadfence() { emulator::pause_thread(); }
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// Warps.
inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::ballot({file, line}, mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  return emulator::ballot({file, line}, mask, predicate);
}
inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulator::ballot({file, line}, mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulator::ballot({file, line}, mask, !predicate) == 0;
}
template <emulator::Shuffled T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const int base = emulator::lane() / width * width;
  return emulator::shuffle({file, line}, mask, value, base + (from & (width - 1)));
}
template <emulator::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  const int lane = emulator::lane(), from = lane - static_cast<int>(delta);
  return emulator::shuffle({file, line}, mask, value, from < lane / width * width ? lane : from);
}
template <emulator::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const int lane = emulator::lane(), from = lane + static_cast<int>(delta);
  return emulator::shuffle({file, line}, mask, value, from >= (lane / width + 1) * width ? lane : from);
}
template <emulator::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const int lane = emulator::lane(), from = lane ^ bits;
  return emulator::shuffle({file, line}, mask, value, from >= (lane / width + 1) * width ? lane : from);
}

#include <emulator/intrinsics.h>
