#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace minnow::detail {

/// Classes of block sizes in bytes: eight between two powers of two, so that at most 1/8 of a block is wasted.
struct SizeClass {
  static constexpr std::size_t kSmallest = 512;
  static constexpr std::size_t kSteps = 8;  ///< between two powers of two

  /// The size of the block for a request.
  static constexpr std::size_t rounded(std::size_t bytes) {
    bytes = std::max(bytes, kSmallest);
    const std::size_t step = std::bit_floor(bytes) / kSteps;
    return (bytes + step - 1) / step * step;
  }
  /// The class of a rounded size, from 0 for the smallest on.
  static constexpr std::size_t index(std::size_t size) {
    const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
    const std::size_t step = size / (std::bit_floor(size) / kSteps) - kSteps;
    return (power - kSmallestPower) * kSteps + step;
  }
  static constexpr std::size_t size(std::size_t index) {
    const std::size_t power = std::size_t{1} << (index / kSteps + kSmallestPower);
    return power + index % kSteps * (power / kSteps);
  }

 private:
  static constexpr std::size_t kSmallestPower = 9;
  static_assert(std::size_t{1} << kSmallestPower == kSmallest);
};

/// Free blocks by size class; the one freed last is taken first.  Sizes are rounded.  Not thread-safe.
template <class Block> class FreeLists {
 public:
  /// nullptr if there is none.
  Block* take(std::size_t size) {
    const std::size_t index = SizeClass::index(size);
    if (index >= lists_.size() || lists_[index].empty()) return nullptr;
    Block* block = lists_[index].back();
    lists_[index].pop_back();
    return block;
  }
  void put(Block* block, std::size_t size) {
    const std::size_t index = SizeClass::index(size);
    if (index >= lists_.size()) lists_.resize(index + 1);
    lists_[index].push_back(block);
  }
  /// Forgets the blocks for which goes(block, size) is true.
  template <class Goes> void erase_if(const Goes& goes) {
    for (std::size_t index = 0; index < lists_.size(); ++index)
      std::erase_if(lists_[index], [&](Block* block) { return goes(block, SizeClass::size(index)); });
  }

 private:
  std::vector<std::vector<Block*>> lists_;
};

}  // namespace minnow::detail
