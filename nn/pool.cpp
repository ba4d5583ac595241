#include <minnow/nn/pool.h>

#include <fmt/format.h>
#include <typeinfo>
#include <minnow/nn/detail/extents.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

using detail::Extents;
using detail::text;

/// "MaxPool2d"
std::string name(const char* base, const Extents& e) { return fmt::format("{}{}d", base, e.dims); }

void check_kernel(const char* base, const Extents& kernel, const Extents& stride, SourceLocation where) {
  if (!kernel.at_least(1))
    throw ValueError(fmt::format("{}: kernel_size must be positive, got {}\n1 or more in each dimension",
                                 name(base, kernel), text(kernel)),
                     where);
  if (!stride.at_least(0))
    throw ValueError(
        fmt::format("{}: stride must be at least 0, got {}\n0 means kernel_size", name(base, kernel), text(stride)),
        where);
}

void check_padding(const char* base, const Extents& k, const Extents& p, SourceLocation where) {
  for (int d = 0; d < k.dims; ++d)
    if (p[d] < 0 || p[d] > k[d] / 2)
      throw ValueError(fmt::format("{}: padding must be between 0 and half of kernel_size, got {} for kernel_size {}\n"
                                   "pad less, or give a larger kernel",
                                   name(base, k), text(p), text(k)),
                       where);
}

void check_output(const char* base, const Extents& size, SourceLocation where) {
  if (!size.at_least(1))
    throw ValueError(fmt::format("{}: output_size must be positive, got {}\n1 or more in each dimension",
                                 name(base, size), text(size)),
                     where);
}
template <class Size> Size checked_output(const char* base, Size size, SourceLocation where) {
  check_output(base, size, where);
  return size;
}

/// "MaxPool2d(2, stride 3", without the end.
std::string opened(const char* base, const Extents& kernel, const Extents& stride) {
  std::string shown = fmt::format("{}({}", name(base, kernel), text(kernel));
  if (!stride.all_equal(0)) shown += ", stride " + text(stride);
  return shown;
}
std::string padding_text(const Extents& padding) { return padding.all_equal(0) ? "" : ", padding " + text(padding); }
std::string ceil_text(bool ceil_mode) { return ceil_mode ? ", ceil_mode" : ""; }

}  // namespace

template <class Size>
MaxPool<Size>::MaxPool(Size kernel_size, MaxPoolOptions<Size> options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check_kernel("MaxPool", kernel_size, options.stride, where);
  check_padding("MaxPool", kernel_size, options.padding, where);
  if (!Extents(options.dilation).at_least(1))
    throw ValueError(fmt::format("{}: dilation must be positive, got {}\n1 means none", name("MaxPool", kernel_size),
                                 text(options.dilation)),
                     where);
}
template <class Size> Tensor MaxPool<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return max_pool2d(x, kernel_size_, options_);
  else if constexpr (std::same_as<Size, Triple>) return max_pool3d(x, kernel_size_, options_);
  else return max_pool1d(x, kernel_size_, options_);
}
template <class Size> detail::ReluBeside MaxPool<Size>::joins_relu() const {
  return std::same_as<Size, Pair> && typeid(*this) == typeid(MaxPool) ? detail::ReluBeside::before
                                                                      : detail::ReluBeside::none;
}
template <class Size> Tensor MaxPool<Size>::forward_with_relu(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return minnow::detail::relu_max_pool2d(x, kernel_size_, options_);
  else return this->forward(relu(x));
}
template <class Size> std::string MaxPool<Size>::describe() const {
  const auto& o = options_;
  const std::string dilation = Extents(o.dilation).all_equal(1) ? "" : ", dilation " + text(o.dilation);
  return opened("MaxPool", kernel_size_, o.stride) + padding_text(o.padding) + dilation + ceil_text(o.ceil_mode) + ")";
}

template <class Size>
AvgPool<Size>::AvgPool(Size kernel_size, AvgPoolOptions<Size> options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check_kernel("AvgPool", kernel_size, options.stride, where);
  check_padding("AvgPool", kernel_size, options.padding, where);
  if (options.divisor_override < 0)
    throw ValueError(fmt::format("{}: divisor_override must be positive, got {}\n0 means the size of a window",
                                 name("AvgPool", kernel_size), options.divisor_override),
                     where);
}
template <class Size> Tensor AvgPool<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return avg_pool2d(x, kernel_size_, options_);
  else if constexpr (std::same_as<Size, Triple>) return avg_pool3d(x, kernel_size_, options_);
  else return avg_pool1d(x, kernel_size_, options_);
}
template <class Size> std::string AvgPool<Size>::describe() const {
  const auto& o = options_;
  return opened("AvgPool", kernel_size_, o.stride) + padding_text(o.padding) + ceil_text(o.ceil_mode) + ")";
}

template <class Size>
LPPool<Size>::LPPool(double norm_type, Size kernel_size, LPPoolOptions<Size> options, SourceLocation where)
    : norm_type_(norm_type), kernel_size_(kernel_size), options_(options) {
  check_kernel("LPPool", kernel_size, options.stride, where);
  if (!(norm_type > 0))
    throw ValueError(
        fmt::format("{}: norm_type must be positive, got {}\ne.g. 2", name("LPPool", kernel_size), norm_type), where);
}
template <class Size> Tensor LPPool<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return lp_pool2d(x, norm_type_, kernel_size_, options_);
  else if constexpr (std::same_as<Size, Triple>) return lp_pool3d(x, norm_type_, kernel_size_, options_);
  else return lp_pool1d(x, norm_type_, kernel_size_, options_);
}
template <class Size> std::string LPPool<Size>::describe() const {
  return opened("LPPool", kernel_size_, options_.stride) + fmt::format(", norm_type {}", norm_type_) +
         ceil_text(options_.ceil_mode) + ")";
}

template <class Size>
MaxUnpool<Size>::MaxUnpool(Size kernel_size, MaxUnpoolOptions<Size> options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check_kernel("MaxUnpool", kernel_size, options.stride, where);
  if (!Extents(options.padding).at_least(0))
    throw ValueError(fmt::format("{}: padding must be at least 0, got {}\nit leaves out elements",
                                 name("MaxUnpool", kernel_size), text(options.padding)),
                     where);
}
template <class Size> Tensor MaxUnpool<Size>::forward(const Tensor& x, const Tensor& indices) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return max_unpool2d(x, indices, kernel_size_, options_);
  else if constexpr (std::same_as<Size, Triple>) return max_unpool3d(x, indices, kernel_size_, options_);
  else return max_unpool1d(x, indices, kernel_size_, options_);
}
template <class Size> std::string MaxUnpool<Size>::describe() const {
  return opened("MaxUnpool", kernel_size_, options_.stride) + padding_text(options_.padding) + ")";
}

template <class Size>
AdaptiveAvgPool<Size>::AdaptiveAvgPool(Size output_size, SourceLocation where)
    : output_size_(checked_output("AdaptiveAvgPool", output_size, where)) {}
template <class Size> Tensor AdaptiveAvgPool<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return adaptive_avg_pool2d(x, output_size_);
  else if constexpr (std::same_as<Size, Triple>) return adaptive_avg_pool3d(x, output_size_);
  else return adaptive_avg_pool1d(x, output_size_);
}
template <class Size> std::string AdaptiveAvgPool<Size>::describe() const {
  return fmt::format("{}({})", name("AdaptiveAvgPool", output_size_), text(output_size_));
}

template <class Size>
AdaptiveMaxPool<Size>::AdaptiveMaxPool(Size output_size, SourceLocation where)
    : output_size_(checked_output("AdaptiveMaxPool", output_size, where)) {}
template <class Size> Tensor AdaptiveMaxPool<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  if constexpr (std::same_as<Size, Pair>) return adaptive_max_pool2d(x, output_size_);
  else if constexpr (std::same_as<Size, Triple>) return adaptive_max_pool3d(x, output_size_);
  else return adaptive_max_pool1d(x, output_size_);
}
template <class Size> std::string AdaptiveMaxPool<Size>::describe() const {
  return fmt::format("{}({})", name("AdaptiveMaxPool", output_size_), text(output_size_));
}

template class MaxPool<std::int64_t>;
template class MaxPool<Pair>;
template class MaxPool<Triple>;
template class AvgPool<std::int64_t>;
template class AvgPool<Pair>;
template class AvgPool<Triple>;
template class LPPool<std::int64_t>;
template class LPPool<Pair>;
template class LPPool<Triple>;
template class MaxUnpool<std::int64_t>;
template class MaxUnpool<Pair>;
template class MaxUnpool<Triple>;
template class AdaptiveAvgPool<std::int64_t>;
template class AdaptiveAvgPool<Pair>;
template class AdaptiveAvgPool<Triple>;
template class AdaptiveMaxPool<std::int64_t>;
template class AdaptiveMaxPool<Pair>;
template class AdaptiveMaxPool<Triple>;

}  // namespace minnow::nn
