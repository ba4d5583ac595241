#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

// Reductions.  x: [outer, n, inner] with any strides; out: [outer, inner], contiguous.

struct Reduce {
  static constexpr const char* kName = "reduce";
  int op;
  const View& x;
  const View& out;
  double p = 0;  ///< order of a norm
};

/// out[n, i, r] = Σ_m |a[n, i, m] - columns[n, m, r]|; or, if grad [n, i, r] is defined, their gradient out[n, i, m] =
/// Σ_r grad[n, i, r] sign(a[n, i, m] - columns[n, m, r]).  float32 or float64, contiguous, not empty.
struct ManhattanDistance {
  static constexpr const char* kName = "cdist";
  static constexpr const char* kHostOnly = "Manhattan distances in one call";
  const View &a, &columns, &grad, &out;
};

/// The index (int64) of the largest (or smallest) element: of the first of equal ones, or of the first NaN.  values may
/// be undefined.
struct ArgReduce {
  static constexpr const char* kName = "arg_reduce";
  const View& x;
  const View& values;
  const View& indices;
  bool largest;
};

/// y = the running results along dim, from the end if `reverse`.  All contiguous and of one shape; x, y, factor:
/// floating-point or int64 (logsumexp, recurrence: floating-point; max, min on the host: any).  indices: int64, where
/// the largest or smallest element is (the last of equal ones and of NaNs); undefined for other operations.  factor: of
/// a recurrence only.
struct Scan {
  static constexpr const char* kName = "scan";
  ScanOp op;
  const View& x;
  const View& factor;
  const View& y;
  const View& indices;
  int dim;
  bool reverse;
};

}  // namespace minnow::detail::calls
