#pragma once

#include <cstdint>
#include <cstring>
#include <emulator/device.h>
#include <type_traits>
#include <vector>

/// The implementation of CUB's collectives of a block.
namespace emulator {

/// The shared memory of a collective.  It can be reused only after a __syncthreads(), as CUB's documentation says.
/// Trivial, because it may be a member of a union.
struct Storage {
  std::uint64_t run, barriers;
  int users;

  /// Called by each thread when it uses the storage.
  void use(Place place) {
    if (run != block_run() || barriers != block_barriers()) users = 0;
    else if (users == block_size()) fault(place, "TempStorage is used again without a __syncthreads() between");
    run = block_run();
    barriers = block_barriers();
    ++users;
  }
};

/// A value that a program must not use.
template <class T> T undefined() {
  T value{};
  if constexpr (std::is_trivially_copyable_v<T>) std::memset(static_cast<void*>(&value), 0xff, sizeof value);
  return value;
}

/// Calls `work` once with the items of all threads of a block, in the order of the threads.
template <class T> struct Items {
  T* items;
  int count;
};

template <class T, class F> void collect(Place place, T* items, int count, F work) {
  struct Slot {
    Items<T> items;
    F* work;
  };
  Slot mine{{items, count}, &work};
  meet_block(place, &mine, [](void* const* slots, int threads) {
    std::vector<Items<T>> all;
    for (int i = 0; i < threads; ++i) all.push_back(static_cast<Slot*>(slots[i])->items);
    (*static_cast<Slot*>(slots[0])->work)(all);
  });
}

}  // namespace emulator
