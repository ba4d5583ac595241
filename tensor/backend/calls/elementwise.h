#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

/// to = from, converted.  Any strides and dtypes, on one device.
struct Copy {
  static constexpr const char* kName = "copy";
  const View& from;
  const View& to;
};

/// y = x scale + shift, rounded after each step: the same bits on every device.  x: uint8  y: float32, both contiguous.
struct ScaleBytes {
  static constexpr const char* kName = "scale_bytes";
  const View& x;
  const View& y;
  float scale, shift;
};

/// out = value.
struct Fill {
  static constexpr const char* kName = "fill";
  const View& out;
  Scalar value;
};

/// out[i] = start + (first + i) * step, contiguous.
struct Arange {
  static constexpr const char* kName = "arange";
  const View& out;
  double start, step;
  std::int64_t first = 0;
};

// Elementwise.  Outputs have the inputs' common shape.

/// Computes in `compute` (float32, float64 or int64), as the others; operands and output convert at load and store.
struct Unary {
  static constexpr const char* kName = "unary";
  int op;
  DType compute;
  const View& x;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// out = grad * slope(saved); kernels/unary_traits.h says what an operation saves.
struct UnarySlope {
  static constexpr const char* kName = "unary_slope";
  int op;
  const View& grad;
  const View& saved;
  const View& out;
  double p0 = 0, p1 = 0;
};

struct Binary {
  static constexpr const char* kName = "binary";
  using Result = Outcome;
  int op;
  DType compute;
  const View& a;
  const View& b;
  const View& out;
};

struct Ternary {
  static constexpr const char* kName = "ternary";
  int op;
  DType compute;
  const View& a;
  const View& b;
  const View& c;
  const View& out;
  double p = 0;
};

/// A step of an LSTM: gates [n, 4 size], the maps of x and h, become i, f, g and o (sigmoid, and tanh for g);
/// next_cell = f cell + i g;  next_hidden = o tanh(next_cell).   cell, next_cell, next_hidden: [n, size].  All of one
/// floating-point dtype and contiguous, no size 0.
struct LstmStep {
  static constexpr const char* kName = "lstm_step";
  const View& gates;
  const View& cell;
  const View& next_cell;
  const View& next_hidden;
};

}  // namespace minnow::detail::calls
