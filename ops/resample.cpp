#include <minnow/ops/resample.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

void require_image(const In& x, const char* factor, std::int64_t r) {
  dispatch({{"x", *x}});
  if (x->dim() < 3) throw ShapeError(message("x needs three dimensions or more", {{"x", *x}}, "x: [..., C, H, W]"));
  if (r < 1) throw ValueError(message(fmt::format("{} must be positive, got {}", factor, r), {{"x", *x}}, "e.g. 2"));
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
  const CallSite site("pixel_shuffle", x.where);
  require_image(x, "upscale_factor", r);
  const std::int64_t channels = x->size(-3), h = x->size(-2), w = x->size(-1);
  if (r > channels || channels % (r * r) != 0)
    throw ShapeError(message("upscale_factor² does not divide the number of channels", {{"x", *x}},
                             fmt::format("{} channels, upscale_factor {}", channels, r)));
  const std::int64_t c = channels / (r * r);
  return x->reshape({leading(*x), c, r, r, h, w}).permute({0, 1, 4, 2, 5, 3}).reshape(joined(*x, {c, h * r, w * r}));
}

Tensor pixel_unshuffle(const In& x, std::int64_t r) {
  const CallSite site("pixel_unshuffle", x.where);
  require_image(x, "downscale_factor", r);
  const std::int64_t c = x->size(-3), h = x->size(-2), w = x->size(-1);
  if (h % r != 0 || w % r != 0)
    throw ShapeError(message("downscale_factor does not divide height and width", {{"x", *x}},
                             fmt::format("{} by {}, downscale_factor {}", h, w, r)));
  return x->reshape({leading(*x), c, h / r, r, w / r, r})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape(joined(*x, {c * r * r, h / r, w / r}));
}

Tensor interpolate(const In& x, const InterpolateOptions& options) {
  const CallSite site("interpolate", x.where);
  dispatch({{"x", *x}});
  if (x->dim() < 3 || x->dim() > 5)
    throw ShapeError(
        message("x needs three to five dimensions", {{"x", *x}}, "x: [N, C, L], [N, C, H, W], [N, C, D, H, W]"));
  if (options.mode != Interpolation::nearest)
    throw ValueError(message("only the mode nearest is supported", {{"x", *x}}, "give Interpolation::nearest"));
  const double factor = options.scale_factor;
  if (!(factor >= 1 && factor <= 1e9 && factor == std::floor(factor)))
    throw ValueError(message(fmt::format("scale_factor must be a whole number of 1 or more, got {}", factor),
                             {{"x", *x}}, "fractions are not supported; to shrink use avg_pool2d"));
  const auto times = static_cast<std::int64_t>(factor);
  // One dimension after another of size 1 behind each spatial one, repeated.
  Shape split{x->size(0) * x->size(1)}, wide = split, whole{x->size(0), x->size(1)};
  for (int d = 2; d < x->dim(); ++d) {
    for (Shape* shape : {&split, &wide}) shape->push_back(x->size(d));
    split.push_back(1), wide.push_back(times), whole.push_back(x->size(d) * times);
  }
  return x->reshape(split).expand(wide).reshape(whole);
}

}  // namespace minnow
