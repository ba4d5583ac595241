#include <minnow/tensor/cuda/indexing/sort.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>
#include <minnow/tensor/cuda/runtime/status.h>

namespace minnow::cuda {

Pairs sort_pairs(const Call& call, Pairs pairs, Pairs scratch, std::int64_t n, int bits) {
  const LibraryScope scope;
  cub::DoubleBuffer<std::uint32_t> keys(pairs.keys, scratch.keys), values(pairs.values, scratch.values);
  const auto sort = [&](void* space, std::size_t& bytes) {
    check(cub::DeviceRadixSort::SortPairs(space, bytes, keys, values, static_cast<std::uint32_t>(n), 0, bits,
                                          call.stream()),
          "cub::DeviceRadixSort::SortPairs");
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);  // asks for the size of the scratch memory
  const Scratch space(call, std::max<std::size_t>(bytes, 1));
  sort(space.as<void>(), bytes);
  call.launched();
  return {keys.Current(), values.Current()};
}

}  // namespace minnow::cuda
