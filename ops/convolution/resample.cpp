#include <minnow/ops/convolution/resample.h>

#include <fmt/format.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

void require_image(const BoundOperands<1>& op, const char* factor, std::int64_t r) {
  if (op[0].dim() < 3) throw ShapeError(message("x needs three dimensions or more", op, "x: [..., C, H, W]"));
  if (r < 1) throw ValueError(message(fmt::format("{} must be positive, got {}", factor, r), op, "e.g. 2"));
}

/// The leading sizes of x, then these.
Shape joined(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
  Shape shape;
  for (int d = 0; d < x.dim() - 3; ++d) shape.push_back(x.size(d));
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

std::int64_t leading(const Tensor& x) { return joined(x, {}).numel(); }

}  // namespace

Tensor pixel_shuffle(const In& x, std::int64_t r) {
  const Operation op("pixel_shuffle", x.where, {{"x", *x}});
  require_image(op, "upscale_factor", r);
  const std::int64_t channels = x->size(-3), h = x->size(-2), w = x->size(-1);
  const std::int64_t factor = saturating_mul(r, r);
  if (channels % factor != 0)
    throw ShapeError(message("upscale_factor² does not divide the number of channels", {{"x", *x}},
                             fmt::format("{} channels, upscale_factor {}", channels, r)));
  const std::int64_t c = channels / factor, height = saturating_mul(h, r), width = saturating_mul(w, r);
  const Tensor parts = x->reshape({leading(*x), c, r, r, h, w});
  if (x->is_contiguous(MemoryFormat::channels_last) && !x->is_contiguous())
    return parts.permute({0, 4, 2, 5, 3, 1}).reshape({x->size(0), height, width, c}).permute({0, 3, 1, 2});
  return parts.permute({0, 1, 4, 2, 5, 3}).reshape(joined(*x, {c, height, width}));
}

Tensor pixel_unshuffle(const In& x, std::int64_t r) {
  const Operation op("pixel_unshuffle", x.where, {{"x", *x}});
  require_image(op, "downscale_factor", r);
  const std::int64_t c = x->size(-3), h = x->size(-2), w = x->size(-1);
  if (h % r != 0 || w % r != 0)
    throw ShapeError(message("downscale_factor does not divide height and width", {{"x", *x}},
                             fmt::format("{} by {}, downscale_factor {}", h, w, r)));
  return x->reshape({leading(*x), c, h / r, r, w / r, r})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape(joined(*x, {c * r * r, h / r, w / r}));
}

Tensor channel_shuffle(const In& x, std::int64_t groups) {
  const Operation op("channel_shuffle", x.where, {{"x", *x}});
  if (x->dim() < 3) throw ShapeError(message("x needs three dimensions or more", op, "x: [N, C, ...]"));
  if (groups < 1) throw ValueError(message(fmt::format("groups must be positive, got {}", groups), op, "e.g. 2"));
  if (x->size(1) % groups != 0)
    throw ShapeError(message("groups does not divide the number of channels", op,
                             fmt::format("{} channels, groups {}", x->size(1), groups)));
  return x->unflatten(1, {groups, x->size(1) / groups}).transpose(1, 2).reshape(x->shape());
}

}  // namespace minnow
