#pragma once

#include <minnow/nn/module.h>
#include <minnow/ops/conv.h>
#include <minnow/ops/pool.h>

namespace minnow::nn {

/// The largest element of each window: minnow::max_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
class MaxPool2d : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride at least 0 and padding at most half of kernel_size.
  explicit MaxPool2d(Pair kernel_size, MaxPool2dOptions options = {}, SourceLocation where = SourceLocation::current());
  /// MaxPool2d(2, 2)
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      MaxPool2d(Pair kernel_size, Stride stride, Pair padding = 0, SourceLocation where = SourceLocation::current())
      : MaxPool2d(kernel_size, MaxPool2dOptions{.stride = std::int64_t{stride}, .padding = padding}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Pair kernel_size_;
  MaxPool2dOptions options_;
};

/// The mean of each window: minnow::avg_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
class AvgPool2d : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride at least 0 and padding at most half of kernel_size.
  explicit AvgPool2d(Pair kernel_size, AvgPool2dOptions options = {}, SourceLocation where = SourceLocation::current());
  /// AvgPool2d(2, 2)
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      AvgPool2d(Pair kernel_size, Stride stride, Pair padding = 0, SourceLocation where = SourceLocation::current())
      : AvgPool2d(kernel_size, AvgPool2dOptions{.stride = std::int64_t{stride}, .padding = padding}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Pair kernel_size_;
  AvgPool2dOptions options_;
};

/// The means of windows that cover x evenly: minnow::adaptive_avg_pool2d.   x: [N, C, H, W]  ->  [N, C, *output_size].
class AdaptiveAvgPool2d : public Module {
 public:
  /// ValueError unless output_size is positive.
  explicit AdaptiveAvgPool2d(Pair output_size, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Pair output_size_;
};

/// The same for sequences: minnow::adaptive_avg_pool1d.   x: [N, C, L]  ->  [N, C, output_size].
class AdaptiveAvgPool1d : public Module {
 public:
  /// ValueError unless output_size is positive.
  explicit AdaptiveAvgPool1d(std::int64_t output_size, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t output_size_;
};

}  // namespace minnow::nn
