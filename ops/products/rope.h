#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow {

struct RopeOptions {
  double theta = 10000;  ///< the longest wave has about 2π theta positions
  /// How many times as long waves become that are longer than original_max_position_embeddings / low_freq_factor
  /// positions; those below original_max_position_embeddings / high_freq_factor stay, and between both it is
  /// interpolated (Llama 3.1; "rope_type": "llama3").  1: none.
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

/// Cosines and sines for rope(): of angle i = position / theta^(2 i / dim).
/// positions: integers or floating-point [...]  ->  float32 [..., dim]: dim / 2 cosines, and then the sines.  Computed
/// in float64, without a gradient.
/// ValueError unless dim is positive, even and at most 65536, theta and the factors are positive, and high_freq_factor
/// is above low_freq_factor.
[[nodiscard]] Tensor rope_table(const In& positions, std::int64_t dim, const RopeOptions& options = {});

/// Rotary position embedding (Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding"): turns
/// pairs (a, b) of a row by angles,  y_a = a cos - b sin,  y_b = b cos + a sin.  The pairs are elements i and i + E/2,
/// as Hugging Face has them, or, interleaved, 2 i and 2 i + 1, as the paper has.
/// x: floating-point [..., L, E]  table: that of rope_table(), floating-point and broadcast to x  ->  as x.  Halves are
/// computed in the table's dtype.
/// Gradient: dx is dy turned back; any order.  The table gets none.
/// ShapeError for an odd E and for a table that does not broadcast to x, DTypeError for other dtypes, AutogradError for
/// a table that requires a gradient.
[[nodiscard]] Tensor rope(const In& x, const Tensor& table, bool interleaved = false);

}  // namespace minnow
