#pragma once

#include <minnow/ops/pair.h>
#include <minnow/tensor/in.h>

// Images of another size.
namespace minnow {

/// Channels become pixels (Shi et al. 2016).   x: [..., C r², H, W]  ->  [..., C, H r, W r], r: upscale_factor.
/// ShapeError for less than three dimensions or a number of channels that r² does not divide, ValueError unless r is
/// positive.
[[nodiscard]] Tensor pixel_shuffle(const In& x, std::int64_t upscale_factor);
/// Pixels become channels: the inverse.   x: [..., C, H r, W r]  ->  [..., C r², H, W], r: downscale_factor.
[[nodiscard]] Tensor pixel_unshuffle(const In& x, std::int64_t downscale_factor);

/// How interpolate() finds a value; only `nearest` is there.
enum class Interpolation { nearest };

struct InterpolateOptions {
  double scale_factor = 0;  ///< of every spatial dimension, a whole number of 1 or more
  Interpolation mode = Interpolation::nearest;
};
/// Repeats every element scale_factor times along each spatial dimension.   x: [N, C, L], [N, C, H, W] or
/// [N, C, D, H, W].  ShapeError for another number of dimensions, ValueError for another scale_factor: fractions are
/// not supported.
[[nodiscard]] Tensor interpolate(const In& x, const InterpolateOptions& options);

}  // namespace minnow
