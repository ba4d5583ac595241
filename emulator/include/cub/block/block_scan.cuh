#pragma once

#include <emulator/collective.h>

namespace cub {

/// CUB's scan over the threads of a block.
template <class T, int kX> class BlockScan {
 public:
  struct TempStorage : emulator::Storage {
    alignas(T) char room[sizeof(T) * (kX / 32 + 1)];
  };

  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  /// output: this thread's input combined with those of the threads before it, in their order.  total: all of them.
  template <class Op>
  void InclusiveScan(T input, T& output, Op op, T& total, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
    const emulator::Place place{file, line};
    if (emulator::block_size() != kX) emulator::fault(place, "BlockScan is for another block size");
    storage_.use(place);
    T items[2] = {input, input};
    emulator::collect(place, items, 2, [op](std::vector<emulator::Items<T>>& all) {
      for (std::size_t i = 1; i < all.size(); ++i) all[i].items[0] = op(all[i - 1].items[0], all[i].items[0]);
      const T last = all.back().items[0];
      for (auto& thread : all) thread.items[1] = last;
    });
    output = items[0];
    total = items[1];
  }

  /// output: the sum of this thread's input and those of the threads before it.  total: the sum of all, for each
  /// thread.
  void InclusiveSum(T input, T& output, T& total, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const emulator::Place place{file, line};
    if (emulator::block_size() != kX) emulator::fault(place, "BlockScan is for another block size");
    storage_.use(place);
    T items[2] = {input, input};
    emulator::collect(place, items, 2, [](std::vector<emulator::Items<T>>& all) {
      T sum{};
      for (auto& thread : all) thread.items[0] = sum = static_cast<T>(sum + thread.items[0]);
      for (auto& thread : all) thread.items[1] = sum;
    });
    output = items[0];
    total = items[1];
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
