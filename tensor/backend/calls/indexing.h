#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

/// What `pick` takes of each row in ascending (or descending, of the first k) order, and where it was.  Equal elements
/// keep their order; NaN is the largest.  x: [rows, n]  values, indices (int64): [rows, k], or of one element [rows,
/// 1]; k from 1 to n. Contiguous.
struct Sort {
  static constexpr const char* kName = "sort";
  const View& x;
  const View& values;
  const View& indices;
  std::int64_t k;
  bool descending;
  SortPick pick;
};

/// indices = how many elements of its row of `sorted` are less than each value (`right`: less or equal); for NaN all.
/// sorted: [rows, n], or [1, n] for all rows  values, indices (int64): [rows, m]; all contiguous, sorted and values of
/// one dtype: float32, float64 or int64.
struct SearchSorted {
  static constexpr const char* kName = "searchsorted";
  const View& sorted;
  const View& values;
  const View& indices;
  bool right;
};

/// out[b] = the sum of the rows of weight at index[b].  weight: [rows, d]  index: int64 [B, L], L at
/// least 1  out: [B, d]; contiguous, float32 or float64.
struct EmbeddingBag {
  static constexpr const char* kName = "embedding_bag";
  static constexpr const char* kHostOnly = "bags in one call";
  using Result = Outcome;
  const View &weight, &index, &out;
};

// Indexing along dim.  index: int64.

/// out[..., i, ...] = x[..., index[..., i, ...], ...]; index has out's shape.
struct Gather {
  static constexpr const char* kName = "gather";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// out[..., index[..., i, ...], ...] += x[..., i, ...], or another `op` than adding, in the order of i.
struct ScatterAdd {
  static constexpr const char* kName = "scatter_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
  ScatterOp op = ScatterOp::add;
};

/// out = the slices of x along dim at the indices of index [n].  Negative indices are out of range.
struct IndexSelect {
  static constexpr const char* kName = "index_select";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// Adds the slices of x to those of out at the indices of index, in a fixed order, or combines them by another `op`.
struct IndexAdd {
  static constexpr const char* kName = "index_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
  ScatterOp op = ScatterOp::add;
};

/// out[i0, i1, ...] = x[sources[0][i0], sources[1][i1], ...]: x with other elements of it around it, which begins at
/// `before` in out, where sources[d][before[d] + i] = i; or with `value`, one element, where a source is -1.  out is
/// dense.
struct PadEdges {
  static constexpr const char* kName = "pad";
  static constexpr const char* kHostOnly = "padding in one call";
  const View &x, &out;
  const Shape& before;
  const std::int64_t* const* sources;
  const View& value = kUndefined;
};

}  // namespace minnow::detail::calls
