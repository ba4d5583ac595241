#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

inline constexpr int kConvRows = 6;

/// A part of the depth of a tile: `depth` elements of each row, `step` elements apart, and as many rows of b.
struct ConvRun {
  const float* rows[kConvRows];
  std::int64_t b, depth;  ///< b: from ConvTile::b on
};

/// out[r][j] = start[j] + the sum of rows[r][k] b[k][j] over all runs, or more.  Each row of `out` is somewhere else.
struct ConvTile {
  const ConvRun* runs;
  std::int64_t count, step, from;  ///< from: where all rows begin
  const float* b;                  ///< rows of ConvLoops::cols elements
  std::int64_t b_column;           ///< between columns of b in dots(), whose rows are beside each other
  float* const* out;               ///< `height` addresses
  const float* start;              ///< nullptr: none
  bool more;                       ///< add the sum to `out`
};

struct ConvLoops {
  int cols;
  /// Of kConvRows rows, which all exist in the runs; only `height` of them, and `width` columns, are stored.
  void (*tile)(const ConvTile& tile, int height, int width);
  /// The same with at most dot_cols columns, as products of vectors, for deep runs with step 1.
  int dot_cols;
  void (*dots)(const ConvTile& tile, int height, int width);
  /// The same, of n columns, where b has one row of n for each run, whose element j is a factor of rows[r][j]: of
  /// convolutions with a group for each channel.
  void (*channels)(const ConvTile& tile, int height, std::int64_t n);
  /// sums[j] += the sum of x[p * x_step + j] * grad[p * n + j] over `count` positions p, for n columns.
  void (*channel_sums)(const float* x, std::int64_t x_step, const float* grad, std::int64_t count, float* sums,
                       std::int64_t n);
};

/// Those of the current instruction set.
const ConvLoops& conv_loops();

}  // namespace minnow::cpu
