#include <minnow/autograd/ops/conv.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/pool.h>

namespace minnow {
namespace {

/// Geometry of a tensor whose values nobody reads: an alias that holds no history.
Tensor geometry(const Tensor& x) { return x.detach(); }

Tensor max_gradient(const In& g, const Tensor& indices, const Tensor& x_like, const Pool2dParams& p) {
  Tensor out = raw::max_pool2d_backward(g, indices, x_like, p);
  return record("max_pool2d_backward", std::move(out), {g}, [indices](const Tensor& gg) {
    const Tensor at = raw::cast(indices, DType::int64).flatten(2);
    return gather(gg.flatten(2), 2, at).reshape(indices.shape());
  });
}

Tensor avg_pool(const In& x, const Pool2dParams& p);

Tensor avg_gradient(const In& g, const Tensor& x_like, const Pool2dParams& p) {
  Tensor out = raw::avg_pool2d_backward(g, x_like, p);
  return record("avg_pool2d_backward", std::move(out), {g}, [p](const Tensor& gg) { return avg_pool(gg, p); });
}

Tensor avg_pool(const In& x, const Pool2dParams& p) {
  Tensor y = raw::avg_pool2d(x, p);
  if (!records(*x)) return y;
  return record("avg_pool2d", std::move(y), {x},
                [x = geometry(*x), p](const Tensor& g) { return avg_gradient(g, x, p); });
}

std::int64_t or_kernel(std::int64_t stride, std::int64_t kernel) { return stride ? stride : kernel; }

}  // namespace

Tensor max_pool2d(const In& x, Pair k, const MaxPool2dOptions& o) {
  const CallSite site("max_pool2d", x.where);
  const Pool2dParams p{{k.height, k.width},
                       {or_kernel(o.stride.height, k.height), or_kernel(o.stride.width, k.width)},
                       {o.padding.height, o.padding.width},
                       {o.dilation.height, o.dilation.width},
                       true};
  auto [y, indices] = raw::max_pool2d(x, p);
  if (!records(*x)) return y;
  return record("max_pool2d", std::move(y), {x},
                [x = geometry(*x), at = indices, p](const Tensor& g) { return max_gradient(g, at, x, p); });
}

Tensor avg_pool2d(const In& x, Pair k, const AvgPool2dOptions& o) {
  const CallSite site("avg_pool2d", x.where);
  return avg_pool(x, {{k.height, k.width},
                      {or_kernel(o.stride.height, k.height), or_kernel(o.stride.width, k.width)},
                      {o.padding.height, o.padding.width},
                      {1, 1},
                      o.count_include_pad});
}

}  // namespace minnow
