#pragma once

#include <concepts>
#include <cstdint>
#include <minnow/ops/pair.h>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>

namespace minnow {

/// Padding by its effect: none, or as much as gives an output of the input's size (for stride 1; the odd zero is at the
/// end).
enum class Padding : std::uint8_t { valid, same };

/// The zeros on each side of a dimension, or Padding::same.
template <class Size> struct ConvPadding {
  Size size = 0;
  bool same = false;

  ConvPadding(const char*) = delete;  // Padding::same
  constexpr ConvPadding(Padding p) : same(p == Padding::same) {}
  constexpr ConvPadding(const Size& s) : size(s) {}
  template <std::integral... I>
  requires(sizeof...(I) > 0 && sizeof...(I) <= 3) constexpr ConvPadding(I... sizes)
      : size(static_cast<std::int64_t>(sizes)...) {}
};

/// Of the functions; the layers' are nn::Conv2dOptions and the like.
template <class Size> struct ConvFuncOptions {
  Size stride = 1;
  ConvPadding<Size> padding = 0;
  Size dilation = 1;  ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
  Activation activation = Activation::none;  ///< applied last; relu and the bias are one kernel on CUDA
};
using Conv1dFuncOptions = ConvFuncOptions<std::int64_t>;
using Conv2dFuncOptions = ConvFuncOptions<Pair>;
using Conv3dFuncOptions = ConvFuncOptions<Triple>;

// All take a batch, or one sequence, image or volume alone, whose result has no N either.

/// Cross-correlation, and an activation of its result.   x: [N, C, H, W]  w: [O, C / groups, KH, KW]  b: [O] or
/// undefined  ->  [N, O, OH, OW], OH = ⌊(H + 2 padding - dilation (KH - 1) - 1) / stride⌋ + 1.  One floating-point
/// dtype; ShapeError, DTypeError, ValueError. Any order of gradient.
[[nodiscard]] Tensor conv2d(const In& x, const In& w, const Tensor& b = {}, const Conv2dFuncOptions& options = {});
/// Cross-correlation, of sequences.   x: [N, C, L]  w: [O, C / groups, K].  Images of height 1: nothing is copied.
[[nodiscard]] Tensor conv1d(const In& x, const In& w, const Tensor& b = {}, const Conv1dFuncOptions& options = {});
/// Cross-correlation of volumes.   x: [N, C, D, H, W]  w: [O, C / groups, KD, KH, KW].  One conv2d whose channels are
/// those of KD slices: memory for KD copies of x.
[[nodiscard]] Tensor conv3d(const In& x, const In& w, const Tensor& b = {}, const Conv3dFuncOptions& options = {});

template <class Size> struct ConvTransposeFuncOptions {
  Size stride = 1;
  Size padding = 0;         ///< elements of the result that are left out on each side
  Size output_padding = 0;  ///< more elements at the end; less than stride or dilation
  std::int64_t groups = 1;
  Size dilation = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<std::int64_t>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<Pair>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<Triple>;

/// The transposed map of conv2d: its gradient, also called fractionally strided convolution.   x: [N, C, H, W]  w:
/// [C, O / groups, KH, KW]  b: [O] or undefined  ->  [N, O, OH, OW], OH = (H - 1) stride - 2 padding + dilation (KH -
/// 1) + output_padding + 1.  One floating-point dtype; ShapeError, DTypeError, ValueError.  Any order of gradient.
[[nodiscard]] Tensor conv_transpose2d(const In& x, const In& w, const Tensor& b = {},
                                      const ConvTranspose2dFuncOptions& options = {});
/// The transposed map of convolution, of sequences.   x: [N, C, L]  w: [C, O / groups, K].
[[nodiscard]] Tensor conv_transpose1d(const In& x, const In& w, const Tensor& b = {},
                                      const ConvTranspose1dFuncOptions& options = {});
/// The transposed map of convolution, of volumes.   x: [N, C, D, H, W]  w: [C, O / groups, KD, KH, KW].
[[nodiscard]] Tensor conv_transpose3d(const In& x, const In& w, const Tensor& b = {},
                                      const ConvTranspose3dFuncOptions& options = {});

}  // namespace minnow
