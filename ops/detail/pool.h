#pragma once

#include <minnow/ops/convolution/pool.h>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// Calls f with x as a batch, also where it is one sequence, image or volume; the result has N if x has.
template <class F> auto of_batch(const Tensor& x, int dims, const F& f) {
  if (!x.defined() || x.dim() != dims + 1) return f(x);
  auto y = f(x.unsqueeze(0));
  if constexpr (requires { y.indices; })
    return decltype(y){y.values.squeeze(0), y.indices.defined() ? y.indices.squeeze(0) : Tensor()};
  else return decltype(y)(y.squeeze(0));
}

/// The number of windows in a dimension; less than 1 if none fits.
std::int64_t pooled_size(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                         std::int64_t dilation, bool ceil_mode);

/// Of an input of which backward needs nothing else: its memory is not kept.
struct Layout {
  Layout(const Tensor& t) : shape(t.shape()), strides(t.strides()), dtype(t.dtype()) {}
  Shape shape;
  Strides strides;
  DType dtype;
};

namespace raw {

struct MaxPooled {
  Tensor values;
  Tensor indices;  ///< int32: h * W + w of the largest element of each window
};

/// x: [N, C, H, W] -> [N, C, OH, OW].  Checked operands.
MaxPooled max_pool2d(const In& x, const Pool2dParams& params, bool ceil_mode = false);
Tensor max_pool2d_backward(const In& grad, const In& indices, const Layout& x, const Pool2dParams& params);
Tensor avg_pool2d(const In& x, const Pool2dParams& params, bool ceil_mode = false);
Tensor avg_pool2d_backward(const In& grad, const Layout& x, const Pool2dParams& params);

}  // namespace raw

struct Extents;
/// Recorded, of checked operands [N, C, ...]: pools of as many windows as `size` says, which cover x evenly.
Tensor adaptive_average(const Tensor& x, const Extents& size);
MinMax adaptive_largest(const Tensor& x, const Extents& size, bool indices);

/// Recorded, of checked operands.
raw::MaxPooled max_pool(const In& x, const Pool2dParams& params, bool ceil_mode);
Tensor avg_pool(const In& x, const Pool2dParams& params, bool ceil_mode);

}  // namespace minnow::detail
