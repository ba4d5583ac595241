#pragma once

#include <vector>
#include <minnow/ops/pair.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/in.h>

// Pools of sequences [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W], floating-point: x has one to three
// spatial dimensions behind those of the batch and the channels.  One alone, [C, H, W], gives one without N.
namespace minnow {

template <class Size> struct MaxPoolOptions {
  Size stride = 0;  ///< 0: the kernel size
  Size padding = 0;
  Size dilation = 1;
  bool ceil_mode = false;  ///< the last window may reach beyond the padding
};
using MaxPool1dOptions = MaxPoolOptions<std::int64_t>;
using MaxPool2dOptions = MaxPoolOptions<Pair>;
using MaxPool3dOptions = MaxPoolOptions<Triple>;

/// The largest element of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].  Padding is at most half
/// the kernel, and never the largest.  The gradient goes to the first of equal elements.  Integers are
/// compared in float64: of int64 beyond 2^53, near ones count as equal.  DTypeError for bool.
[[nodiscard]] Tensor max_pool2d(const In& x, Pair kernel, const MaxPool2dOptions& options = {});
/// The largest element of each window, of sequences.   x: [N, C, L].
[[nodiscard]] Tensor max_pool1d(const In& x, std::int64_t kernel, const MaxPool1dOptions& options = {});
/// The largest element of each window, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor max_pool3d(const In& x, Triple kernel, const MaxPool3dOptions& options = {});

/// The largest elements and their positions in their images, row by row (h W + w): int64, for max_unpool2d.
[[nodiscard]] MinMax max_pool2d_with_indices(const In& x, Pair kernel, const MaxPool2dOptions& options = {});
/// The largest element of each window and their positions, of sequences.   x: [N, C, L].
[[nodiscard]] MinMax max_pool1d_with_indices(const In& x, std::int64_t kernel, const MaxPool1dOptions& options = {});
/// The largest element of each window and their positions, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] MinMax max_pool3d_with_indices(const In& x, Triple kernel, const MaxPool3dOptions& options = {});

template <class Size> struct MaxUnpoolOptions {
  Size stride = 0;  ///< 0: the kernel size
  Size padding = 0;
  Size output_size = 0;  ///< 0: (size - 1) stride - 2 padding + kernel
};
using MaxUnpool1dOptions = MaxUnpoolOptions<std::int64_t>;
using MaxUnpool2dOptions = MaxUnpoolOptions<Pair>;
using MaxUnpool3dOptions = MaxUnpoolOptions<Triple>;

/// Writes the elements of x to the positions that max_pool2d_with_indices gave, the last one of equal positions; the
/// others are 0.   x, indices (int64): [N, C, H, W]  ->  [N, C, OH, OW].  IndexError for a position out of range.
[[nodiscard]] Tensor max_unpool2d(const In& x, const In& indices, Pair kernel, const MaxUnpool2dOptions& options = {});
/// Writes elements to the positions that a pool gave, of sequences.   x: [N, C, L].
[[nodiscard]] Tensor max_unpool1d(const In& x, const In& indices, std::int64_t kernel,
                                  const MaxUnpool1dOptions& options = {});
/// Writes elements to the positions that a pool gave, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor max_unpool3d(const In& x, const In& indices, Triple kernel,
                                  const MaxUnpool3dOptions& options = {});

template <class Size> struct AvgPoolOptions {
  Size stride = 0;  ///< 0: the kernel size
  Size padding = 0;
  bool ceil_mode = false;             ///< the last window may reach beyond the padding, whose part is not counted
  bool count_include_pad = true;      ///< divide by the size of the window also where it reaches into the padding
  std::int64_t divisor_override = 0;  ///< divide by this, if it is not 0; ValueError below 0
};
using AvgPool1dOptions = AvgPoolOptions<std::int64_t>;
using AvgPool2dOptions = AvgPoolOptions<Pair>;
using AvgPool3dOptions = AvgPoolOptions<Triple>;

/// The mean of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].
[[nodiscard]] Tensor avg_pool2d(const In& x, Pair kernel, const AvgPool2dOptions& options = {});
/// The mean of each window, of sequences.   x: [N, C, L].
[[nodiscard]] Tensor avg_pool1d(const In& x, std::int64_t kernel, const AvgPool1dOptions& options = {});
/// The mean of each window, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor avg_pool3d(const In& x, Triple kernel, const AvgPool3dOptions& options = {});

template <class Size> struct LPPoolOptions {
  Size stride = 0;  ///< 0: the kernel size
  bool ceil_mode = false;
};
using LPPool1dOptions = LPPoolOptions<std::int64_t>;
using LPPool2dOptions = LPPoolOptions<Pair>;
using LPPool3dOptions = LPPoolOptions<Triple>;

/// (Σ x^p)^(1/p) of each window, of its mean times the kernel's size as in PyTorch.  ValueError unless p is positive.
[[nodiscard]] Tensor lp_pool2d(const In& x, double p, Pair kernel, const LPPool2dOptions& options = {});
/// (Σ x^p)^(1/p) of each window, of sequences.   x: [N, C, L].
[[nodiscard]] Tensor lp_pool1d(const In& x, double p, std::int64_t kernel, const LPPool1dOptions& options = {});
/// (Σ x^p)^(1/p) of each window, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor lp_pool3d(const In& x, double p, Triple kernel, const LPPool3dOptions& options = {});

template <class Size> struct FractionalMaxPoolOptions {
  Size output_size = 0;                ///< the numbers of windows
  std::vector<double> output_ratio{};  ///< or their parts of x's sizes, in (0, 1): one, or one a dimension
  Tensor random_samples{};             ///< [N, C, 2], of volumes [N, C, 3], in [0, 1); by default drawn
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<Pair>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<Triple>;

/// The largest element of each window, where windows begin at random distances that are much the same (Graham 2014,
/// "Fractional Max-Pooling"), others in each channel.   x: floating-point [N, C, H, W]  ->  [N, C, *output_size].
/// ValueError unless there is either a size or a ratio, and the windows fit.
[[nodiscard]] Tensor fractional_max_pool2d(const In& x, Pair kernel, const FractionalMaxPool2dOptions& options);
/// The same of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor fractional_max_pool3d(const In& x, Triple kernel, const FractionalMaxPool3dOptions& options);
/// The largest elements of windows at random distances, and their positions: int64, for max_unpool2d.
[[nodiscard]] MinMax fractional_max_pool2d_with_indices(const In& x, Pair kernel,
                                                        const FractionalMaxPool2dOptions& options);
/// The same of volumes.   x: [N, C, D, H, W].
[[nodiscard]] MinMax fractional_max_pool3d_with_indices(const In& x, Triple kernel,
                                                        const FractionalMaxPool3dOptions& options);

/// The means of windows that cover x evenly: the i-th of n goes from ⌊i H / n⌋ to ⌈(i + 1) H / n⌉.   x: floating-point
/// [N, C, H, W]  ->  [N, C, *output_size].  ShapeError
/// for other shapes and for no pixels, ValueError unless output_size is positive.
[[nodiscard]] Tensor adaptive_avg_pool2d(const In& x, Pair output_size);
/// The means of windows that cover x evenly, of sequences.   x: [N, C, L]  ->  [N, C, output_size].
[[nodiscard]] Tensor adaptive_avg_pool1d(const In& x, std::int64_t output_size);
/// The means of windows that cover x evenly, of volumes.   x: [N, C, D, H, W]  ->  [N, C, *output_size].
[[nodiscard]] Tensor adaptive_avg_pool3d(const In& x, Triple output_size);

/// The largest elements of the same windows.  The gradient goes to the first of equal elements.
[[nodiscard]] Tensor adaptive_max_pool2d(const In& x, Pair output_size);
/// The largest elements of windows that cover x evenly, of sequences.   x: [N, C, L].
[[nodiscard]] Tensor adaptive_max_pool1d(const In& x, std::int64_t output_size);
/// The largest elements of windows that cover x evenly, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] Tensor adaptive_max_pool3d(const In& x, Triple output_size);
/// The largest elements of windows that cover x evenly, and their positions: int64.
[[nodiscard]] MinMax adaptive_max_pool2d_with_indices(const In& x, Pair output_size);
/// The largest elements of windows that cover x evenly and their positions, of sequences.   x: [N, C, L].
[[nodiscard]] MinMax adaptive_max_pool1d_with_indices(const In& x, std::int64_t output_size);
/// The largest elements of windows that cover x evenly and their positions, of volumes.   x: [N, C, D, H, W].
[[nodiscard]] MinMax adaptive_max_pool3d_with_indices(const In& x, Triple output_size);

}  // namespace minnow
