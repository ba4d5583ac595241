#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <minnow/tensor/in.h>

// Images of another size.
namespace minnow {

/// Channels become pixels (Shi et al. 2016).   x: [..., C r², H, W]  ->  [..., C, H r, W r], r: upscale_factor.
/// ShapeError for less than three dimensions or a number of channels that r² does not divide, ValueError unless r is
/// positive.
[[nodiscard]] Tensor pixel_shuffle(const In& x, std::int64_t upscale_factor);
/// Pixels become channels: the inverse.   x: [..., C, H r, W r]  ->  [..., C r², H, W], r: downscale_factor.
[[nodiscard]] Tensor pixel_unshuffle(const In& x, std::int64_t downscale_factor);

/// How a value between pixels is found: the pixel of a scaled index (nearest, in PyTorch's rounding) or the nearest one
/// (nearest_exact), in straight lines between neighbours, by cubic convolution (Keys 1981, a = -0.75), or as the mean
/// of the pixels that an output pixel covers (area).
enum class Interpolation : std::uint8_t { nearest, nearest_exact, linear, bilinear, bicubic, trilinear, area };

/// One number for all spatial dimensions, or one for each: 2, or {2, 1.5}.
template <class T> struct EachDimension {
  T values[3] = {};
  int count = 0;

  constexpr EachDimension() = default;
  template <class N>
  requires std::is_arithmetic_v<N>
  constexpr EachDimension(N n) : values{static_cast<T>(n)}, count(1) {}
  constexpr EachDimension(std::initializer_list<T> each) {
    for (const T n : each) {
      if (count < 3) values[count] = n;
      ++count;
    }
  }
};

/// Either `size` or `scale_factor`.
struct InterpolateOptions {
  EachDimension<std::int64_t> size = {};    ///< of the result
  EachDimension<double> scale_factor = {};  ///< the sizes are ⌊size · factor⌋
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  ///< the centers of the corner pixels stay; of linear, bilinear, bicubic and trilinear
  /// Of bilinear and bicubic, where x becomes smaller: averages over the pixels that an output pixel covers (cubic with
  /// a = -0.5), as a product with a matrix for each dimension.
  bool antialias = false;
};
/// x in another size.   x: [N, C, L], [N, C, H, W] or [N, C, D, H, W]; linear, bilinear and bicubic, and trilinear are
/// for one, two and three spatial dimensions.  Floating-point; nearest of any dtype.  Halves are computed in float32.
/// ShapeError for another number of dimensions and no pixels, ValueError for other options.  Any order of gradient.
[[nodiscard]] Tensor interpolate(const In& x, const InterpolateOptions& options);

/// What grid_sample() reads outside of x: zeros, the nearest pixel of the border, or x mirrored at its border.
enum class GridPadding : std::uint8_t { zeros, border, reflection };
struct GridSampleOptions {
  Interpolation mode = Interpolation::bilinear;  ///< bilinear, nearest or bicubic; of volumes bilinear means trilinear
  GridPadding padding_mode = GridPadding::zeros;
  bool align_corners = false;  ///< -1 and 1 are the centers of the corner pixels, else their outer edges
};
/// x at the places of a grid (Jaderberg et al. 2015).   x: [N, C, H, W]  grid: [N, OH, OW, 2], the last dimension (x,
/// y) in [-1, 1]  ->  [N, C, OH, OW]; or x: [N, C, D, H, W]  grid: [N, OD, OH, OW, 3].  One floating-point dtype;
/// ShapeError, DTypeError, ValueError.  Gradients of x and grid of any order.
[[nodiscard]] Tensor grid_sample(const In& x, const In& grid, const GridSampleOptions& options = {});
/// The grid of an affine map of images, or volumes, of a size.   theta: [N, 2, 3]  size: {N, C, H, W}  ->  [N, H, W,
/// 2]; theta: [N, 3, 4]  size: {N, C, D, H, W}  ->  [N, D, H, W, 3].
[[nodiscard]] Tensor affine_grid(const In& theta, const Shape& size, bool align_corners = false);

/// Channel c of g groups: channels are written as a matrix of g rows and read by columns (Zhang et al. 2017).   x:
/// [N, C, ...].  ShapeError unless groups divides C.
[[nodiscard]] Tensor channel_shuffle(const In& x, std::int64_t groups);

}  // namespace minnow
