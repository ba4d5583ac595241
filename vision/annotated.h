#pragma once

#include <cstdint>
#include <minnow/data/random.h>
#include <minnow/tensor/tensor.h>

namespace minnow::vision {

/// An image with what lies in it.  The functions here move image, masks and boxes alike, with torchvision's formulas;
/// so does RandomResizedCrop.  ShapeError, with what is expected, for masks and boxes of other shapes, DTypeError for
/// boxes of integers, ValueError and the other errors of the functions of images.
struct Annotated {
  Tensor image;     ///< [C, H, W], uint8 or float32
  Tensor masks{};   ///< [H, W] or [N, H, W], of any dtype; undefined if there are none
  Tensor boxes{};   ///< [N, 4], floating-point: x1, y1, x2, y2 in pixels; undefined if there are none
  Tensor labels{};  ///< stay as they are
};

/// Mirrored left and right.
Annotated horizontal_flip(const Annotated& sample, SourceLocation where = SourceLocation::current());
/// The window of this size at (top, left).  Boxes are cut at its sides; those outside of it have no area.
Annotated crop(const Annotated& sample, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
               SourceLocation where = SourceLocation::current());
/// Of this size: the image as resize() of an image, masks by the nearest pixel.
Annotated resize(const Annotated& sample, std::int64_t height, std::int64_t width, bool antialias = true,
                 SourceLocation where = SourceLocation::current());

/// Mirrors left and right with probability p.
struct RandomAnnotatedFlip {
  double p = 0.5;
  Annotated operator()(const Annotated& sample, data::Random& random,
                       SourceLocation where = SourceLocation::current()) const;
};

}  // namespace minnow::vision
