#pragma once

#include <minnow/ops/pool.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

struct MaxPooled {
  Tensor values;
  Tensor indices;  ///< int32: h * W + w of the largest element of each window
};

/// x: [N, C, H, W] -> [N, C, OH, OW].
MaxPooled max_pool2d(const In& x, const Pool2dParams& params);
Tensor max_pool2d_backward(const In& grad, const In& indices, const Tensor& x_like, const Pool2dParams& params);
Tensor avg_pool2d(const In& x, const Pool2dParams& params);
Tensor avg_pool2d_backward(const In& grad, const Tensor& x_like, const Pool2dParams& params);

}  // namespace minnow::detail::raw
