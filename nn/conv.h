#pragma once

#include <minnow/nn/module.h>
#include <minnow/ops/conv.h>

namespace minnow::nn {

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;   ///< zeros on each side
  Pair dilation = 1;  ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = Activation::none;  ///< as in minnow::conv2d
};

/// Cross-correlation of images.   x: [N, in_channels, H, W]  ->  [N, out_channels, OH, OW], sizes as
/// minnow::conv2d.  weight: [out_channels, in_channels / groups, KH, KW]  bias: [out_channels].  Both are initialized
/// uniformly in ±1 / √(in_channels / groups · KH · KW), as in PyTorch.
class Conv2d : public Module {
 public:
  /// ValueError for sizes that are not positive, negative padding, and groups that do not divide both channel numbers.
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size, Conv2dOptions options = {},
         SourceLocation where = SourceLocation::current());
  /// The options in PyTorch's order: Conv2d(3, 16, 3, 2, 1).
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size, Stride stride, Pair padding = 0,
             Pair dilation = 1, std::int64_t groups = 1, bool with_bias = true,
             SourceLocation where = SourceLocation::current())
      : Conv2d(in_channels, out_channels, kernel_size,
               Conv2dOptions{Pair(std::int64_t{stride}), padding, dilation, groups, with_bias}, where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Conv2d(const Shape& weight, const Conv2dOptions& options, SourceLocation where);

  Conv2dOptions options_;
};

}  // namespace minnow::nn
