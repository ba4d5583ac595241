#pragma once

#include <minnow/nn/module.h>
#include <minnow/ops/pool.h>

// Each for sequences [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W].
namespace minnow::nn {

/// The largest element of each window: minnow::max_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class MaxPool : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride at least 0 and padding at most half of kernel_size.
  explicit MaxPool(Size kernel_size, MaxPoolOptions<Size> options = {},
                   SourceLocation where = SourceLocation::current());
  /// MaxPool3d({1, 2, 2}), which would otherwise also be three arguments.
  template <std::size_t N>
  requires minnow::detail::BracedSize<Size, N>
  explicit MaxPool(const std::int64_t (&kernel_size)[N], MaxPoolOptions<Size> options = {},
                   SourceLocation where = SourceLocation::current())
      : MaxPool(minnow::detail::braced_size<Size>(kernel_size), options, where) {}
  /// MaxPool2d(2, 2)
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      MaxPool(Size kernel_size, Stride stride, Size padding = 0, SourceLocation where = SourceLocation::current())
      : MaxPool(kernel_size, MaxPoolOptions<Size>{.stride = std::int64_t{stride}, .padding = padding}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  detail::ReluBeside joins_relu() const override;
  Tensor forward_with_relu(const Tensor& x) override;

  Size kernel_size_;
  MaxPoolOptions<Size> options_;
};
using MaxPool1d = MaxPool<std::int64_t>;
using MaxPool2d = MaxPool<Pair>;
using MaxPool3d = MaxPool<Triple>;

/// The mean of each window: minnow::avg_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class AvgPool : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride at least 0 and padding at most half of kernel_size.
  explicit AvgPool(Size kernel_size, AvgPoolOptions<Size> options = {},
                   SourceLocation where = SourceLocation::current());
  /// AvgPool3d({1, 2, 2}), which would otherwise also be three arguments.
  template <std::size_t N>
  requires minnow::detail::BracedSize<Size, N>
  explicit AvgPool(const std::int64_t (&kernel_size)[N], AvgPoolOptions<Size> options = {},
                   SourceLocation where = SourceLocation::current())
      : AvgPool(minnow::detail::braced_size<Size>(kernel_size), options, where) {}
  /// AvgPool2d(2, 2)
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      AvgPool(Size kernel_size, Stride stride, Size padding = 0, SourceLocation where = SourceLocation::current())
      : AvgPool(kernel_size, AvgPoolOptions<Size>{.stride = std::int64_t{stride}, .padding = padding}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Size kernel_size_;
  AvgPoolOptions<Size> options_;
};
using AvgPool1d = AvgPool<std::int64_t>;
using AvgPool2d = AvgPool<Pair>;
using AvgPool3d = AvgPool<Triple>;

/// (Σ x^p)^(1/p) of each window: minnow::lp_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class LPPool : public Module {
 public:
  /// ValueError unless norm_type and kernel_size are positive and stride at least 0.
  LPPool(double norm_type, Size kernel_size, LPPoolOptions<Size> options = {},
         SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  double norm_type_;
  Size kernel_size_;
  LPPoolOptions<Size> options_;
};
using LPPool1d = LPPool<std::int64_t>;
using LPPool2d = LPPool<Pair>;
using LPPool3d = LPPool<Triple>;

/// Writes elements to the positions of a pool's largest ones: minnow::max_unpool2d.   x, indices: [N, C, H, W]  ->
/// [N, C, OH, OW].
template <class Size> class MaxUnpool : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride and padding at least 0.
  explicit MaxUnpool(Size kernel_size, MaxUnpoolOptions<Size> options = {},
                     SourceLocation where = SourceLocation::current());
  /// MaxUnpool3d({1, 2, 2}), which would otherwise also be three arguments.
  template <std::size_t N>
  requires minnow::detail::BracedSize<Size, N>
  explicit MaxUnpool(const std::int64_t (&kernel_size)[N], MaxUnpoolOptions<Size> options = {},
                     SourceLocation where = SourceLocation::current())
      : MaxUnpool(minnow::detail::braced_size<Size>(kernel_size), options, where) {}
  /// MaxUnpool2d(2, 2)
  template <std::integral Stride>
  requires(!std::same_as<Stride, bool>)
      MaxUnpool(Size kernel_size, Stride stride, Size padding = 0, SourceLocation where = SourceLocation::current())
      : MaxUnpool(kernel_size, MaxUnpoolOptions<Size>{.stride = std::int64_t{stride}, .padding = padding}, where) {}
  Tensor forward(const Tensor& x, const Tensor& indices) override;
  std::string describe() const override;

 private:
  Size kernel_size_;
  MaxUnpoolOptions<Size> options_;
};
using MaxUnpool1d = MaxUnpool<std::int64_t>;
using MaxUnpool2d = MaxUnpool<Pair>;
using MaxUnpool3d = MaxUnpool<Triple>;

/// The means of windows that cover x evenly: minnow::adaptive_avg_pool2d.   x: [N, C, H, W]  ->  [N, C, *output_size].
template <class Size> class AdaptiveAvgPool : public Module {
 public:
  /// ValueError unless output_size is positive.
  explicit AdaptiveAvgPool(Size output_size, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Size output_size_;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<std::int64_t>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<Pair>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<Triple>;

/// The largest elements of such windows: minnow::adaptive_max_pool2d.   x: [N, C, H, W]  ->  [N, C, *output_size].
template <class Size> class AdaptiveMaxPool : public Module {
 public:
  /// ValueError unless output_size is positive.
  explicit AdaptiveMaxPool(Size output_size, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Size output_size_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<std::int64_t>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<Pair>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<Triple>;

extern template class MaxPool<std::int64_t>;
extern template class MaxPool<Pair>;
extern template class MaxPool<Triple>;
extern template class AvgPool<std::int64_t>;
extern template class AvgPool<Pair>;
extern template class AvgPool<Triple>;
extern template class LPPool<std::int64_t>;
extern template class LPPool<Pair>;
extern template class LPPool<Triple>;
extern template class MaxUnpool<std::int64_t>;
extern template class MaxUnpool<Pair>;
extern template class MaxUnpool<Triple>;
extern template class AdaptiveAvgPool<std::int64_t>;
extern template class AdaptiveAvgPool<Pair>;
extern template class AdaptiveAvgPool<Triple>;
extern template class AdaptiveMaxPool<std::int64_t>;
extern template class AdaptiveMaxPool<Pair>;
extern template class AdaptiveMaxPool<Triple>;

}  // namespace minnow::nn
