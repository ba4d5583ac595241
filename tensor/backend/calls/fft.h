#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

/// Discrete Fourier transforms along dim, of float32 or float64.  A complex operand has a last dimension of 2.
///   complex x, complex y [.., n, .., 2]:   y[f] = scale sum_k x[k] w^(f k)
///   real x [.., n, ..], complex y:         the same, y has n / 2 + 1 numbers; those of a conjugate pair are times `middle`
///   complex x, real y [.., n, ..]:         y[f] = scale Re sum_k c[k] x[k] w^(f k), k to n / 2, c = middle for a
///                                          conjugate pair, else 1
/// w = e^(-2 pi i / n), or its inverse.
struct Fft {
  static constexpr const char* kName = "fft";
  const View& x;
  const View& y;
  int dim;
  bool inverse;
  double scale, middle;
};

}  // namespace minnow::detail::calls
