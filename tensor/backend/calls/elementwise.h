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

/// A step of a recurrent layer, of n sequences.  gates, [n, G size] with G = 4 for lstm, 3 for gru and 1 for others:
/// the maps of x and, but for gru, of h; lstm and gru leave the values of the gates there.  before, next: h before and
/// after the step.  Of lstm alone: cell, next_cell.  Of gru alone: maps, those of h, [n, 3 size]; kept, which gets
/// their last third for backward, or is undefined.  active: bool, [n], or undefined: where it is false the state stays.
/// All but active of one floating-point dtype, contiguous, and [n, size] where nothing else is said; no size 0.
struct RecurrentStep {
  static constexpr const char* kName = "recurrent_step";
  Recurrence kind;
  const View &gates, &before, &next, &cell, &next_cell, &maps, &kept, &active;
};

/// gates: the values that the step has left; of others than lstm and gru its `next`.  before: gru's h before the step,
/// lstm's cell.  saved: gru's kept, lstm's next_cell.  The gradient of `next` is dh, from the step after it, and grad,
/// or dh alone; dh becomes the part of that of h before the step that does not go through maps.  dc, of lstm alone: of
/// next_cell, becomes that of cell.  Written are of_gates, the gradients of gates as they were before the step, and
/// of_maps, of gru alone.
struct RecurrentStepBackward {
  static constexpr const char* kName = "recurrent_step_backward";
  Recurrence kind;
  const View &gates, &before, &saved, &grad, &dh, &dc, &of_gates, &of_maps, &active;
};

}  // namespace minnow::detail::calls
