#include <minnow/ops/detail/windows.h>

#include <fmt/format.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail {
namespace {

Tensor view_of_windows(const Tensor& x, const Windowing& w) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  const std::int64_t stride = strides[w.dim];
  shape[w.dim] = (shape[w.dim] - w.span()) / w.step + 1;
  strides[w.dim] = wrapping_mul(stride, w.step);  // of a single window it does not count
  shape.push_back(w.size);
  strides.push_back(stride * w.dilation);
  return raw::alias(x, shape, strides, x.storage_offset());
}

/// Adds the elements of windows: those of each tap, or of each window, in order.
Tensor added(const Tensor& parts, const Windowing& w, std::int64_t length) {
  Shape shape = parts.shape();
  shape.erase(shape.rank() - 1);
  const std::int64_t count = shape[w.dim];
  shape[w.dim] = length;
  Strides order = parts.strides();
  order.erase(order.rank() - 1);
  const Tensor out = raw::new_result(shape, order, parts.dtype(), parts.device());
  raw::fill_(out, 0);
  if (!parts.numel()) return out;
  const Tensor at = view_of_windows(out, w);
  if (w.step >= w.span()) {  // they share no element
    raw::copy_to(parts, at);
    return out;
  }
  const int along = count < w.size ? w.dim : at.dim() - 1;
  Slices one{Shape::filled(at.dim(), 0), at.shape(), Shape::filled(at.dim(), 1)};
  one.size[along] = 1;
  for (; one.start[along] < at.shape()[along]; ++one.start[along])
    raw::binary_(raw::kBinary<kernels::Add>, raw::slice(at, one), raw::slice(parts, one));
  return out;
}

}  // namespace

Tensor windows(const Tensor& x, const Windowing& w) {
  Tensor y = view_of_windows(x, w);
  if (!records(x)) return y;
  return record("unfold", std::move(y), {x},
                [w, length = x.shape()[w.dim]](const Tensor& g) { return overlap_add(g, w, length); });
}

Tensor overlap_add(const Tensor& parts, const Windowing& w, std::int64_t length) {
  const bool half = parts.dtype() == DType::float16 || parts.dtype() == DType::bfloat16;
  Tensor out =
      half ? raw::cast(added(raw::cast(parts, DType::float32), w, length), parts.dtype()) : added(parts, w, length);
  return record("unfold_backward", std::move(out), {parts}, [w](const Tensor& g) { return windows(g, w); });
}

}  // namespace minnow::detail

namespace minnow {
namespace {

using detail::Extents;
using detail::Windowing;

/// The windows of both dimensions, from checked options.
struct ImageWindows {
  Windowing rows, columns;
  std::int64_t height, width;  // of the padded image
  Shape count;                 // of windows: [OH, OW]
};

ImageWindows image_windows(Operands operands, Pair image, Pair kernel, const UnfoldOptions& o) {
  const Extents k = kernel, stride = o.stride, padding = o.padding, dilation = o.dilation, size = image;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
  for (const Extents& e : {k, stride, dilation})
    if (!e.at_least(1) || !padding.at_least(0))
      throw ValueError(message("kernel, stride and dilation must be 1 or more, padding 0 or more", operands,
                               fmt::format("kernel {}, stride {}, padding {}, dilation {} were given", k.str(),
                                           stride.str(), padding.str(), dilation.str())));
  ImageWindows w{{2, k[0], stride[0], dilation[0]}, {3, k[1], stride[1], dilation[1]}, 0, 0, {1, 1}};
  for (int d = 0; d < 2; ++d) {
    std::int64_t span = 0;
    const bool fits =
        padding[d] <= kMost && !__builtin_mul_overflow(dilation[d], k[d] - 1, &span) && size[d] + 2 * padding[d] > span;
    if (!fits)
      throw ShapeError(message("the kernel does not fit into the padded image", operands,
                               fmt::format("kernel {}, padding {}, dilation {}; use a smaller kernel, or more padding",
                                           k.str(), padding.str(), dilation.str())));
    w.count[d] = (size[d] + 2 * padding[d] - span - 1) / stride[d] + 1;
  }
  w.height = image.height + 2 * padding[0];
  w.width = image.width + 2 * padding[1];
  return w;
}

}  // namespace

Tensor unfold(const In& x, int dim, std::int64_t size, std::int64_t step) {
  const CallSite site("unfold", x.where);
  x->require_defined("unfold", x.where);
  if (x->dim() == 0) return x->reshape({1}).unfold(dim, size, step).squeeze(0);
  dim = raw::wrap_dim(x, dim);
  raw::require_max_rank(x);
  if (size < 0 || step < 1)
    throw ValueError(message(fmt::format("size must be 0 or more and step 1 or more, got {} and {}", size, step),
                             {{"self", *x}}, "x.unfold(dim, size, step)"));
  if (size > x->shape()[dim])
    throw ShapeError(message(
        fmt::format("windows of {} elements do not fit into dimension {} of size {}", size, dim, x->shape()[dim]),
        {{"self", *x}}, "give a smaller size"));
  if (size > 0) return detail::windows(*x, {dim, size, step});
  Shape shape = x->shape();
  shape[dim] = shape[dim] / step + 1;
  shape.push_back(0);
  return zeros(shape, {x->dtype(), x->device()});
}

Tensor unflatten(const In& x, int dim, const Shape& sizes) {
  const CallSite site("unflatten", x.where);
  x->require_defined("unflatten", x.where);
  dim = raw::wrap_dim(x, dim);
  std::int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == -1 && unknown < 0) unknown = i;
    else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) known = -1, unknown = -1, i = kMaxRank;
  }
  const std::int64_t size = x->dim() ? x->shape()[dim] : 1;
  Shape parts = sizes;
  if (unknown >= 0 && known > 0 && size % known == 0) parts[unknown] = size / known;
  if (sizes.empty() || known < 0 || parts.numel() != size || (unknown >= 0 && parts[unknown] < 0))
    throw ShapeError(message(fmt::format("dimension {} of size {} cannot be divided into {}", dim, size, sizes.str()),
                             {{"self", *x}}, "the product of the sizes must be that size; one of them may be -1"));
  Shape shape;
  for (int d = 0; d < x->dim(); ++d) {
    if (d != dim) shape.push_back(x->shape()[d]);
    else
      for (const std::int64_t part : parts) shape.push_back(part);
  }
  return x->reshape(x->dim() ? shape : parts);
}

namespace {

void tell_of(const char* name, const Tensor& y, const Tensor& x, const std::vector<std::int64_t>& size, Pair kernel,
             const UnfoldOptions& o) {
  const auto list = [](Pair p) { return std::vector<std::int64_t>{p.height, p.width}; };
  tell(name, {y}, {{"x", x}},
       {{"output_size", size},
        {"kernel", list(kernel)},
        {"stride", list(o.stride)},
        {"padding", list(o.padding)},
        {"dilation", list(o.dilation)}});
}

}  // namespace

Tensor unfold(const In& x, Pair kernel, const UnfoldOptions& o) {
  const Operation op("unfold", x.where, {{"x", *x}});
  if (x->dim() != 4 && x->dim() != 3)
    throw ShapeError(message("x needs four dimensions, or three without a batch", op, "x: [N, C, H, W]"));
  const ImageWindows w = image_windows(op, {x->size(-2), x->size(-1)}, kernel, o);
  Tensor images = x->dim() == 3 ? x->unsqueeze(0) : *x;
  const Pair p = o.padding;
  if (p.height || p.width) images = pad(images, {p.width, p.width, p.height, p.height});
  const Tensor parts = detail::windows(detail::windows(images, w.rows), w.columns);  // [N, C, OH, OW, KH, KW]
  const Shape& s = parts.shape();
  Tensor y = parts.permute({0, 1, 4, 5, 2, 3}).reshape({s[0], s[1] * s[4] * s[5], s[2] * s[3]});
  if (x->dim() == 3) y = y.squeeze(0);
  if (is_heard()) [[unlikely]]
    tell_of("unfold", y, *x, {}, kernel, o);
  return y;
}

Tensor fold(const In& x, Pair output_size, Pair kernel, const UnfoldOptions& o) {
  const Operation op("fold", x.where, {{"x", *x}});
  if (x->dim() != 3 && x->dim() != 2)
    throw ShapeError(message("x needs three dimensions, or two without a batch", op, "x: [N, C * KH * KW, L]"));
  if (output_size.height < 1 || output_size.width < 1)
    throw ValueError(message("output_size must be positive, got " + Extents(output_size).str(), op, "e.g. {8, 8}"));
  const ImageWindows w = image_windows(op, output_size, kernel, o);
  const std::int64_t rows = x->size(-2), taps = kernel.height * kernel.width;
  if (rows % taps || x->size(-1) != w.count.numel())
    throw ShapeError(message(fmt::format("x has {} blocks of {} elements", x->size(-1), rows), op,
                             fmt::format("images of {} by {} have {} blocks; their elements are channels times {}",
                                         output_size.height, output_size.width, w.count.numel(), taps)));
  const Tensor batch = x->dim() == 2 ? x->unsqueeze(0) : *x;
  const std::int64_t n = batch.size(0), c = rows / taps;
  const Tensor parts = batch.reshape({n, c, kernel.height, kernel.width, w.count[0], w.count[1]});
  Tensor y = detail::overlap_add(parts.permute({0, 1, 4, 5, 2, 3}), w.columns, w.width);  // [N, C, OH, W, KH]
  y = detail::overlap_add(y, w.rows, w.height);
  const Pair p = o.padding;
  if (p.height || p.width)
    y = y.narrow(2, p.height, output_size.height).narrow(3, p.width, output_size.width).contiguous();
  if (x->dim() == 2) y = y.squeeze(0);
  if (is_heard()) [[unlikely]]
    tell_of("fold", y, *x, {output_size.height, output_size.width}, kernel, o);
  return y;
}

}  // namespace minnow
