#include <minnow/vision/annotated.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/data/transform.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/vision/image_transform.h>

namespace minnow::vision {
namespace {

/// The image's height and width.
std::pair<std::int64_t, std::int64_t> size_of(const Annotated& sample, SourceLocation where) {
  const auto& [image, masks, boxes, labels] = sample;
  if (!image.defined() || image.dim() != 3)
    throw ShapeError("Annotated: the image must be [C, H, W]\n  image  " + describe(image), where);
  const std::int64_t height = image.size(1), width = image.size(2);
  if (masks.defined() && (masks.dim() < 2 || masks.dim() > 3 || masks.size(-2) != height || masks.size(-1) != width))
    throw ShapeError("Annotated: masks must be [N, H, W] or [H, W] of the image's size\n  image  " + describe(image) +
                         "\n  masks  " + describe(masks) + "\nleave them undefined if there are none",
                     where);
  if (boxes.defined() && (boxes.dim() != 2 || boxes.size(1) != 4))
    throw ShapeError("Annotated: boxes must be [N, 4], x1, y1, x2, y2 of each\n  boxes  " + describe(boxes), where);
  if (boxes.defined() && !boxes.is_floating_point())
    throw DTypeError("Annotated: boxes must be floating-point\n  boxes  " + describe(boxes) + "\nboxes.to(float32)",
                     where);
  return {height, width};
}

/// {x, y, x, y}, for the columns of boxes.
Tensor columns(double x, double y, const Tensor& boxes) {
  return tensor({x, y, x, y}, {.dtype = boxes.dtype(), .device = boxes.device()});
}

/// The elements of a dimension of `size` that nearest of another size reads, with PyTorch's rounding.
Tensor nearest(std::int64_t from, std::int64_t to, Device device) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<std::int64_t> index(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i)
    index[static_cast<std::size_t>(i)] =
        std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(i) * scale)), from - 1);
  return tensor(index, {.device = device});
}

}  // namespace

Annotated horizontal_flip(const Annotated& sample, SourceLocation where) {
  const auto width = static_cast<double>(size_of(sample, where).second);
  const CallSite site("horizontal_flip", where);
  data::Random unused(0);
  Annotated out = sample;
  out.image = data::RandomHorizontalFlip{.p = 1}(sample.image, unused, where);
  if (sample.masks.defined()) out.masks = sample.masks.flip(-1);
  if (sample.boxes.defined())
    out.boxes = columns(width, 0, sample.boxes) +
                sample.boxes.index_select(1, tensor({2, 1, 0, 3}, {.device = sample.boxes.device()})) *
                    columns(-1, 1, sample.boxes);
  return out;
}

Annotated crop(const Annotated& sample, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
               SourceLocation where) {
  size_of(sample, where);
  const CallSite site("crop", where);
  Annotated out = sample;
  out.image = crop(sample.image, top, left, height, width, where);
  if (sample.masks.defined()) out.masks = sample.masks.narrow(-2, top, height).narrow(-1, left, width).contiguous();
  if (sample.boxes.defined()) {
    const auto x = static_cast<double>(left), y = static_cast<double>(top);
    const Tensor moved = maximum(sample.boxes - columns(x, y, sample.boxes), columns(0, 0, sample.boxes));
    out.boxes = minimum(moved, columns(static_cast<double>(width), static_cast<double>(height), sample.boxes));
  }
  return out;
}

Annotated resize(const Annotated& sample, std::int64_t height, std::int64_t width, bool antialias,
                 SourceLocation where) {
  const auto [from_height, from_width] = size_of(sample, where);
  const CallSite site("resize", where);
  Annotated out = sample;
  out.image = resize(sample.image, height, width, antialias, where);
  if (sample.masks.defined())
    out.masks = sample.masks.index_select(-2, nearest(from_height, height, sample.masks.device()))
                    .index_select(-1, nearest(from_width, width, sample.masks.device()));
  if (sample.boxes.defined())
    out.boxes = sample.boxes * columns(static_cast<double>(width) / static_cast<double>(from_width),
                                       static_cast<double>(height) / static_cast<double>(from_height), sample.boxes);
  return out;
}

Annotated RandomAnnotatedFlip::operator()(const Annotated& sample, data::Random& random, SourceLocation where) const {
  if (!(p >= 0 && p <= 1)) throw ValueError(fmt::format("RandomAnnotatedFlip: p must be in [0, 1], got {}", p), where);
  return random.uniform() < p ? horizontal_flip(sample, where) : sample;
}

Annotated RandomResizedCrop::operator()(const Annotated& sample, data::Random& random, SourceLocation where) const {
  const auto [from_height, from_width] = size_of(sample, where);
  const auto [top, left, h, w] = window(from_height, from_width, random, where);
  return resize(crop(sample, top, left, h, w, where), height, width, antialias, where);
}

}  // namespace minnow::vision
