#pragma once

#include <minnow/nn/module/module.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/shape/rearrange.h>

namespace minnow::nn {

template <class Size> struct ConvOptions {
  Size stride = 1;
  ConvPadding<Size> padding = 0;  ///< elements on each side, or Padding::same
  Size dilation = 1;              ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  ///< what the padding is: zeros, or as minnow::pad
  Activation activation = Activation::none;  ///< as in minnow::conv2d
};
using Conv1dOptions = ConvOptions<std::int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

/// Cross-correlation of sequences, images or volumes.   x: [N, in_channels, H, W]  ->  [N, out_channels, OH, OW], sizes
/// as minnow::conv2d.  weight: [out_channels, in_channels / groups, KH, KW]  bias: [out_channels].  Both are
/// initialized uniformly in ±1 / √(in_channels / groups · KH · KW), as in PyTorch.  The same with one or three spatial
/// dimensions.
template <class Size> class Conv : public Module {
 public:
  /// ValueError for sizes that are not positive, negative padding, and groups that do not divide both channel numbers.
  Conv(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size, ConvOptions<Size> options = {},
       SourceLocation where = SourceLocation::current());
  /// The options in PyTorch's order: Conv2d(3, 16, 3, 2, 1).
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      Conv(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size, Stride stride,
           ConvPadding<Size> padding = 0, Size dilation = 1, std::int64_t groups = 1, bool with_bias = true,
           SourceLocation where = SourceLocation::current())
      : Conv(in_channels, out_channels, kernel_size,
             ConvOptions<Size>{Size(std::int64_t{stride}), padding, dilation, groups, with_bias}, where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Conv(const Shape& weight, const ConvOptions<Size>& options, SourceLocation where);

  ConvOptions<Size> options_;
};
using Conv1d = Conv<std::int64_t>;
using Conv2d = Conv<Pair>;
using Conv3d = Conv<Triple>;

template <class Size> struct ConvTransposeOptions {
  Size stride = 1;
  Size padding = 0;         ///< elements of the result that are left out on each side
  Size output_padding = 0;  ///< more elements at the end; less than stride or dilation
  std::int64_t groups = 1;
  bool bias = true;
  Size dilation = 1;
};
using ConvTranspose1dOptions = ConvTransposeOptions<std::int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

/// The transposed map of a convolution: minnow::conv_transpose2d.   x: [N, in_channels, H, W]  ->
/// [N, out_channels, OH, OW].  weight: [in_channels, out_channels / groups, KH, KW]  bias: [out_channels].  Both are
/// initialized uniformly in ±1 / √(out_channels / groups · KH · KW), as in PyTorch.
template <class Size> class ConvTranspose : public Module {
 public:
  /// ValueError for sizes that are not positive, negative padding, an output_padding that is neither less than stride
  /// nor than dilation, and groups that do not divide both channel numbers.
  ConvTranspose(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size,
                ConvTransposeOptions<Size> options = {}, SourceLocation where = SourceLocation::current());
  /// The options in PyTorch's order: ConvTranspose2d(16, 3, 4, 2, 1).
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      ConvTranspose(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size, Stride stride,
                    Size padding = 0, Size output_padding = 0, std::int64_t groups = 1, bool with_bias = true,
                    Size dilation = 1, SourceLocation where = SourceLocation::current())
      : ConvTranspose(in_channels, out_channels, kernel_size,
                      ConvTransposeOptions<Size>{Size(std::int64_t{stride}), padding, output_padding, groups, with_bias,
                                                 dilation},
                      where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  ConvTranspose(const Shape& weight, const ConvTransposeOptions<Size>& options, SourceLocation where);

  ConvTransposeOptions<Size> options_;
};
using ConvTranspose1d = ConvTranspose<std::int64_t>;
using ConvTranspose2d = ConvTranspose<Pair>;
using ConvTranspose3d = ConvTranspose<Triple>;

extern template class Conv<std::int64_t>;
extern template class Conv<Pair>;
extern template class Conv<Triple>;
extern template class ConvTranspose<std::int64_t>;
extern template class ConvTranspose<Pair>;
extern template class ConvTranspose<Triple>;

}  // namespace minnow::nn
