#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

// Convolution and pooling.  x: [N, C, H, W]  w: [O, C / groups, KH, KW]  bias: [O] or undefined.  The caller asks
// the backend for the memory format of the outputs (conv2d_format).

struct Conv2d {
  static constexpr const char* kName = "conv2d";
  const View& x;
  const View& w;
  const View& bias;
  const View& y;
  Conv2dParams params = {};
  Activation activation = Activation::none;  ///< applied last
};

struct Conv2dBackwardInput {
  static constexpr const char* kName = "conv2d_backward_input";
  const View& grad;
  const View& w;
  const View& grad_x;
  Conv2dParams params = {};
};

/// grad_bias may be undefined.
struct Conv2dBackwardWeight {
  static constexpr const char* kName = "conv2d_backward_weight";
  const View& grad;
  const View& x;
  const View& grad_w;
  const View& grad_bias;
  Conv2dParams params = {};
};

/// indices: int32 [N, C, OH, OW], h * W + w of the largest element of each window; y and indices have the same layout.
struct MaxPool2d {
  static constexpr const char* kName = "max_pool2d";
  const View& x;
  const View& y;
  const View& indices;
  Pool2dParams params = {};
};

struct MaxPool2dBackward {
  static constexpr const char* kName = "max_pool2d_backward";
  const View& grad;
  const View& indices;
  const View& grad_x;
  Pool2dParams params = {};
};

struct AvgPool2d {
  static constexpr const char* kName = "avg_pool2d";
  const View& x;
  const View& y;
  Pool2dParams params = {};
};

struct AvgPool2dBackward {
  static constexpr const char* kName = "avg_pool2d_backward";
  const View& grad;
  const View& grad_x;
  Pool2dParams params = {};
};

/// y = x at the places of grid; or, if one of the gradients is defined, that, of y's gradient y.
/// x: [N, C, sizes], offsets within a channel in 31 bits  grid: [N, places, dims]  y: [N, C, places]; grid and y
/// contiguous, all float32 or float64.  grad_x begins as zeros, grad_grid does not.
struct GridSample {
  static constexpr const char* kName = "grid_sample";
  static constexpr const char* kHostOnly = "samples in one call";
  const View &x, &grid, &y;
  const View &grad_x = kUndefined, &grad_grid = kUndefined;
  GridSampleParams params = {};
};

}  // namespace minnow::detail::calls
