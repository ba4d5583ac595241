#pragma once

#include <algorithm>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <emulator/launch.h>
#include <string>
#include <utility>
#include <vector>

namespace cub {

/// Two arrays, one of which has the data.
template <class T> struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;

  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

/// CUB's device-wide sort, as work of a stream.  As in CUB, the result may be in either array, and the content of the
/// other one and of the scratch memory is undefined.
struct DeviceRadixSort {
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* space, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,
                               Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = nullptr) {
    constexpr std::size_t kSpace = 4096;
    if (space == nullptr) {
      bytes = kSpace;
      return cudaSuccess;
    }
    const auto n = static_cast<std::size_t>(count);
    if (bytes < kSpace || !emulator::is_device_memory(space, kSpace)) return cudaErrorInvalidValue;
    for (int k = 0; k < 2; ++k)
      if (!emulator::is_device_memory(keys.d_buffers[k], n * sizeof(Key)) ||
          !emulator::is_device_memory(values.d_buffers[k], n * sizeof(Value)))
        return cudaErrorInvalidValue;
    const int bits = end_bit - begin_bit;
    if (begin_bit < 0 || bits < 0 || end_bit > static_cast<int>(sizeof(Key) * 8)) return cudaErrorInvalidValue;
    const bool turned = (bits + 7) / 8 % 2 == 1;  // as after that many passes
    const Key mask = bits == static_cast<int>(sizeof(Key) * 8) ? static_cast<Key>(-1)
                                                               : static_cast<Key>(((Key{1} << bits) - 1) << begin_bit);
    const cudaError_t status =
        emulator::submit(stream, [=, k = keys, v = values]() mutable { return sort(k, v, n, mask, turned); });
    if (turned) keys.selector ^= 1, values.selector ^= 1;
    return status;
  }

 private:
  template <class Key, class Value>
  static std::string sort(DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, std::size_t n, Key mask, bool turned) {
    std::vector<std::pair<Key, Value>> pairs(n);
    for (std::size_t i = 0; i < n; ++i) pairs[i] = {keys.Current()[i], values.Current()[i]};
    std::stable_sort(pairs.begin(), pairs.end(),
                     [mask](const auto& a, const auto& b) { return (a.first & mask) < (b.first & mask); });
    Key* const to_keys = turned ? keys.Alternate() : keys.Current();
    Value* const to_values = turned ? values.Alternate() : values.Current();
    std::fill_n(turned ? keys.Current() : keys.Alternate(), n, static_cast<Key>(-1));
    std::fill_n(turned ? values.Current() : values.Alternate(), n, static_cast<Value>(-1));
    for (std::size_t i = 0; i < n; ++i) to_keys[i] = pairs[i].first, to_values[i] = pairs[i].second;
    return {};
  }
};

}  // namespace cub
