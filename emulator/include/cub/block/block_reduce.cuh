#pragma once

#include <emulator/collective.h>

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};

/// CUB's reduction over the threads of a block.  Thread 0 gets the result; that of the others is undefined.
template <class T, int kX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int kY = 1, int kZ = 1>
class BlockReduce {
 public:
  struct TempStorage : emulator::Storage {
    alignas(T) char room[sizeof(T) * (kX * kY * kZ / 32 + 1)];
  };

  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Op>
  T Reduce(T input, Op op, int valid = kX * kY * kZ, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const emulator::Place place{file, line};
    if (emulator::block_size() != kX * kY * kZ) emulator::fault(place, "BlockReduce is for another block size");
    storage_.use(place);
    emulator::collect(place, &input, 1, [&op, valid](std::vector<emulator::Items<T>>& all) {
      *all[0].items = total(all, op, valid);
      for (std::size_t i = 1; i < all.size(); ++i) *all[i].items = emulator::undefined<T>();
    });
    return input;
  }
  template <int kItems, class Op>
  T Reduce(T (&inputs)[kItems], Op op, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    T partial = inputs[0];
    for (int i = 1; i < kItems; ++i) partial = op(partial, inputs[i]);
    return Reduce(partial, op, kX * kY * kZ, file, line);
  }
  T Sum(T input, int valid = kX * kY * kZ, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Reduce(
        input, [](T a, T b) { return static_cast<T>(a + b); }, valid, file, line);
  }
  template <int kItems> T Sum(T (&inputs)[kItems], const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Reduce(
        inputs, [](T a, T b) { return static_cast<T>(a + b); }, file, line);
  }

 private:
  /// In CUB's order: a tree over the lanes of each warp, then the warps in sequence.
  template <class Op> static T total(const std::vector<emulator::Items<T>>& all, Op& op, int valid) {
    T result{};
    for (int first = 0; first < valid; first += 32) {
      const int lanes = valid - first < 32 ? valid - first : 32;
      std::vector<T> warp;
      for (int i = 0; i < lanes; ++i) warp.push_back(*all[static_cast<std::size_t>(first + i)].items);
      for (int step = 1; step < lanes; step *= 2)
        for (int i = 0; i + step < lanes; ++i)
          warp[static_cast<std::size_t>(i)] =
              op(warp[static_cast<std::size_t>(i)], warp[static_cast<std::size_t>(i + step)]);
      result = first == 0 ? warp[0] : op(result, warp[0]);
    }
    return result;
  }

  TempStorage& storage_;
};

}  // namespace cub
