#include <minnow/ops/detail/pool.h>

#include <minnow/ops/detail/operation.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::detail {

std::int64_t pooled_size(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                         std::int64_t dilation, bool ceil_mode) {
  std::int64_t span = 0;  // if it overflows, it is wider than any image
  if (__builtin_mul_overflow(dilation, kernel - 1, &span)) return 0;
  const std::int64_t reach = in - 1 - (span - 2 * padding);
  if (!ceil_mode) return reach < 0 ? 0 : reach / stride + 1;
  if (reach <= -stride) return 0;
  const std::int64_t more = reach < 0 ? 0 : reach / stride + (reach % stride != 0);
  // The last window begins before the padding at the end.
  std::int64_t start = 0;
  const bool beyond = __builtin_mul_overflow(more, stride, &start) || start >= in + padding;
  return beyond ? more : more + 1;
}

namespace raw {
namespace {

/// The pooled shape of x, which the windows fit into.
Shape pooled_shape(const In& x, const Pool2dParams& p, bool ceil_mode) {
  Shape shape = x->shape();
  for (int d = 0; d < 2; ++d)
    if (p.adaptive) shape[2 + d] = p.kernel[d] > 0 ? p.kernel[d] : shape[2 + d];
    else shape[2 + d] = pooled_size(shape[2 + d], p.kernel[d], p.stride[d], p.padding[d], p.dilation[d], ceil_mode);
  return shape;
}

}  // namespace

MaxPooled max_pool2d(const In& x, const Pool2dParams& params, bool ceil_mode) {
  const Operation op("max_pool2d", x.where, {{"x", *x}});
  const Shape shape = pooled_shape(x, params, ceil_mode);
  const MaxPooled out{new_result(shape, x->strides(), x->dtype(), x->device()),
                      new_result(shape, x->strides(), DType::int32, x->device())};
  if (out.values.numel()) op.run(calls::MaxPool2d{*x, out.values, out.indices, params});
  return out;
}

Tensor max_pool2d_backward(const In& grad, const In& indices, const Layout& x, const Pool2dParams& params) {
  const Operation op("max_pool2d_backward", grad.where, {{"grad", *grad}, {"indices", *indices}});
  const Tensor out = new_result(x.shape, x.strides, x.dtype, grad->device());
  if (!out.numel()) return out;
  if (grad->numel()) op.run(calls::MaxPool2dBackward{*grad, *indices, out, params});
  else raw::fill_(out, 0);
  return out;
}

Tensor avg_pool2d(const In& x, const Pool2dParams& params, bool ceil_mode) {
  const Operation op("avg_pool2d", x.where, {{"x", *x}});
  const Shape shape = pooled_shape(x, params, ceil_mode);
  const Tensor out = new_result(shape, x->strides(), x->dtype(), x->device());
  if (out.numel()) op.run(calls::AvgPool2d{*x, out, params});
  return out;
}

Tensor avg_pool2d_backward(const In& grad, const Layout& x, const Pool2dParams& params) {
  const Operation op("avg_pool2d_backward", grad.where, {{"grad", *grad}});
  const Tensor out = new_result(x.shape, x.strides, x.dtype, grad->device());
  if (!out.numel()) return out;
  if (grad->numel()) op.run(calls::AvgPool2dBackward{*grad, out, params});
  else raw::fill_(out, 0);
  return out;
}

}  // namespace raw

namespace {

Tensor max_gradient(const In& g, const Tensor& indices, const Layout& x, const Pool2dParams& p) {
  Tensor out = raw::max_pool2d_backward(g, indices, x, p);
  return record("max_pool2d_backward", std::move(out), {g}, [indices](const Tensor& gg) {
    const Tensor positions = raw::cast(indices, DType::int64).flatten(2);
    return gather(gg.flatten(2), 2, positions).reshape(indices.shape());
  });
}

Tensor avg_gradient(const In& g, const Layout& x, const Pool2dParams& p, bool ceil_mode) {
  Tensor out = raw::avg_pool2d_backward(g, x, p);
  return record("avg_pool2d_backward", std::move(out), {g},
                [p, ceil_mode](const Tensor& gg) { return avg_pool(gg, p, ceil_mode); });
}

}  // namespace

raw::MaxPooled max_pool(const In& x, const Pool2dParams& p, bool ceil_mode) {
  auto [y, indices] = raw::max_pool2d(x, p, ceil_mode);
  if (records(*x))
    y = record("max_pool2d", std::move(y), {x},
               [x = Layout(*x), positions = indices, p](const Tensor& g) { return max_gradient(g, positions, x, p); });
  return {y, indices};
}

Tensor avg_pool(const In& x, const Pool2dParams& p, bool ceil_mode) {
  Tensor y = raw::avg_pool2d(x, p, ceil_mode);
  if (!records(*x)) return y;
  return record("avg_pool2d", std::move(y), {x},
                [x = Layout(*x), p, ceil_mode](const Tensor& g) { return avg_gradient(g, x, p, ceil_mode); });
}

}  // namespace minnow::detail
