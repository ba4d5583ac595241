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
};

/// Cross-correlation of images.   x: [N, in, H, W]  ->  [N, out, OH, OW], sizes as minnow::conv2d.
/// weight: [out, in / groups, KH, KW]  bias: [out]; both start uniform in ±1 / sqrt(in / groups KH KW), as in PyTorch.
class Conv2d : public Module {
 public:
  /// ValueError for sizes that are not positive, negative padding, and groups that do not divide in and out.
  Conv2d(std::int64_t in, std::int64_t out, Pair kernel, Conv2dOptions options = {},
         SourceLocation where = SourceLocation::current());
  /// The options in PyTorch's order: Conv2d(3, 16, 3, 2, 1).
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      Conv2d(std::int64_t in, std::int64_t out, Pair kernel, Stride stride, Pair padding = 0, Pair dilation = 1,
             std::int64_t groups = 1, bool with_bias = true, SourceLocation where = SourceLocation::current())
      : Conv2d(in, out, kernel, Conv2dOptions{Pair(std::int64_t{stride}), padding, dilation, groups, with_bias},
               where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Conv2d(const Shape& weight, const Conv2dOptions& options, SourceLocation where);

  Conv2dOptions options_;
};

}  // namespace minnow::nn
