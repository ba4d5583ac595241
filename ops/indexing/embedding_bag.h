#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

namespace minnow {

/// What embedding_bag() makes of the rows of a bag.
enum class BagMode : std::uint8_t { sum, mean, max };

/// Of the function; the layer's are nn::EmbeddingBagOptions.
struct EmbeddingBagFuncOptions {
  BagMode mode = BagMode::mean;
  Tensor per_sample_weights{};                ///< of mode sum: a factor for each index
  bool include_last_offset = false;           ///< the last offset is the end of the last bag
  std::optional<std::int64_t> padding_idx{};  ///< a row that is left out.  Negative: from the end
};

/// The sum, the mean or the largest elements of the rows of weight in each bag of indices, as
/// torch.nn.functional.embedding_bag.   weight: [n, d]  index: int64 or int32, bags of one size [B, L], or [L] with
/// offsets [B] (int64 or int32), the positions at which bags begin, from 0 on and not decreasing  ->  [B, d]; 0 for a
/// bag without rows.  Halves are summed in float32.  Offsets are checked on a CPU; the maximum of bags with offsets
/// waits for the device.  ShapeError, DTypeError, ValueError, IndexError for an index out of range.  Any order of
/// gradient.
[[nodiscard]] Tensor embedding_bag(const In& index, const In& weight, const Tensor& offsets = {},
                                   const EmbeddingBagFuncOptions& options = {});

}  // namespace minnow
