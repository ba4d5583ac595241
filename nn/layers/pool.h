#pragma once

#include <utility>
#include <minnow/nn/detail/extents.h>
#include <minnow/nn/module/module.h>
#include <minnow/ops/convolution/pool.h>

// Each for sequences [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W].
namespace minnow::nn {

namespace detail {

// ValueError for what the layers' constructors refuse.
void check_max_pool(const Extents& kernel, const Extents& stride, const Extents& padding, const Extents& dilation,
                    SourceLocation where);
void check_avg_pool(const Extents& kernel, const Extents& stride, const Extents& padding, std::int64_t divisor,
                    SourceLocation where);
void check_lp_pool(const Extents& kernel, const Extents& stride, double norm_type, SourceLocation where);
void check_max_unpool(const Extents& kernel, const Extents& stride, const Extents& padding, SourceLocation where);
void check_adaptive_pool(const char* base, const Extents& output_size, SourceLocation where);
std::string norm_text(double norm_type);
/// "MaxPool2d(2, stride 3, ceil_mode)", without what is as by default; `more` stands before ceil_mode.
std::string pool_text(const char* base, const Extents& kernel, const Extents& stride = 0, const Extents& padding = 0,
                      const std::string& more = "", bool ceil_mode = false);

}  // namespace detail

/// The largest element of each window: minnow::max_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class MaxPool : public Module {
 public:
  /// ValueError unless kernel_size is positive, stride at least 0 and padding at most half of kernel_size.
  explicit MaxPool(Size kernel_size, MaxPoolOptions<Size> options = {},
                   SourceLocation where = SourceLocation::current())
      : kernel_size_(kernel_size), options_(options) {
    detail::check_max_pool(kernel_size, options.stride, options.padding, options.dilation, where);
  }
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
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(max_pool1d, max_pool2d, max_pool3d)(x, kernel_size_, options_);
  }
  std::string describe() const override {
    const detail::Extents dilation = options_.dilation;
    return detail::pool_text("MaxPool", kernel_size_, options_.stride, options_.padding,
                             dilation.all_equal(1) ? "" : ", dilation " + detail::text(dilation), options_.ceil_mode);
  }

 private:
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
                   SourceLocation where = SourceLocation::current())
      : kernel_size_(kernel_size), options_(options) {
    detail::check_avg_pool(kernel_size, options.stride, options.padding, options.divisor_override, where);
  }
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
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(avg_pool1d, avg_pool2d, avg_pool3d)(x, kernel_size_, options_);
  }
  std::string describe() const override {
    return detail::pool_text("AvgPool", kernel_size_, options_.stride, options_.padding, "", options_.ceil_mode);
  }

 private:
  Size kernel_size_;
  AvgPoolOptions<Size> options_;
};
using AvgPool1d = AvgPool<std::int64_t>;
using AvgPool2d = AvgPool<Pair>;
using AvgPool3d = AvgPool<Triple>;

/// The largest element of each window, where windows begin at random distances: minnow::fractional_max_pool2d.
/// x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class FractionalMaxPool : public Module {
 public:
  explicit FractionalMaxPool(Size kernel_size, FractionalMaxPoolOptions<Size> options)
      : kernel_size_(kernel_size), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(0, fractional_max_pool2d, fractional_max_pool3d)(x, kernel_size_, options_);
  }
  std::string describe() const override { return detail::pool_text("FractionalMaxPool", kernel_size_); }

 private:
  Size kernel_size_;
  FractionalMaxPoolOptions<Size> options_;
};
using FractionalMaxPool2d = FractionalMaxPool<Pair>;
using FractionalMaxPool3d = FractionalMaxPool<Triple>;

/// (Σ x^p)^(1/p) of each window: minnow::lp_pool2d.   x: [N, C, H, W]  ->  [N, C, OH, OW].
template <class Size> class LPPool : public Module {
 public:
  /// ValueError unless norm_type and kernel_size are positive and stride at least 0.
  LPPool(double norm_type, Size kernel_size, LPPoolOptions<Size> options = {},
         SourceLocation where = SourceLocation::current())
      : norm_type_(norm_type), kernel_size_(kernel_size), options_(options) {
    detail::check_lp_pool(kernel_size, options.stride, norm_type, where);
  }
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(lp_pool1d, lp_pool2d, lp_pool3d)(x, norm_type_, kernel_size_, options_);
  }
  std::string describe() const override {
    return detail::pool_text("LPPool", kernel_size_, options_.stride, 0, detail::norm_text(norm_type_),
                             options_.ceil_mode);
  }

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
                     SourceLocation where = SourceLocation::current())
      : kernel_size_(kernel_size), options_(options) {
    detail::check_max_unpool(kernel_size, options.stride, options.padding, where);
  }
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
  Tensor forward(const Tensor& x, const Tensor& indices) override {
    const auto site = called();
    return detail::for_size<Size>(max_unpool1d, max_unpool2d, max_unpool3d)(x, indices, kernel_size_, options_);
  }
  std::string describe() const override {
    return detail::pool_text("MaxUnpool", kernel_size_, options_.stride, options_.padding);
  }

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
  explicit AdaptiveAvgPool(Size output_size, SourceLocation where = SourceLocation::current())
      : output_size_(output_size) {
    detail::check_adaptive_pool("AdaptiveAvgPool", output_size, where);
  }
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)(x, output_size_);
  }
  std::string describe() const override { return detail::pool_text("AdaptiveAvgPool", output_size_); }

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
  explicit AdaptiveMaxPool(Size output_size, SourceLocation where = SourceLocation::current())
      : output_size_(output_size) {
    detail::check_adaptive_pool("AdaptiveMaxPool", output_size, where);
  }
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return detail::for_size<Size>(adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)(x, output_size_);
  }
  std::string describe() const override { return detail::pool_text("AdaptiveMaxPool", output_size_); }

 private:
  Size output_size_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<std::int64_t>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<Pair>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<Triple>;

}  // namespace minnow::nn
