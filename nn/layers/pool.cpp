#include <minnow/nn/layers/pool.h>

#include <fmt/format.h>
#include <minnow/tensor/error.h>

namespace minnow::nn::detail {
namespace {

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

}  // namespace

void check_max_pool(const Extents& kernel, const Extents& stride, const Extents& padding, const Extents& dilation,
                    SourceLocation where) {
  check_kernel("MaxPool", kernel, stride, where);
  check_padding("MaxPool", kernel, padding, where);
  if (!dilation.at_least(1))
    throw ValueError(
        fmt::format("{}: dilation must be positive, got {}\n1 means none", name("MaxPool", kernel), text(dilation)),
        where);
}

void check_avg_pool(const Extents& kernel, const Extents& stride, const Extents& padding, std::int64_t divisor,
                    SourceLocation where) {
  check_kernel("AvgPool", kernel, stride, where);
  check_padding("AvgPool", kernel, padding, where);
  if (divisor < 0)
    throw ValueError(fmt::format("{}: divisor_override must be positive, got {}\n0 means the size of a window",
                                 name("AvgPool", kernel), divisor),
                     where);
}

void check_lp_pool(const Extents& kernel, const Extents& stride, double norm_type, SourceLocation where) {
  check_kernel("LPPool", kernel, stride, where);
  if (!(norm_type > 0))
    throw ValueError(fmt::format("{}: norm_type must be positive, got {}\ne.g. 2", name("LPPool", kernel), norm_type),
                     where);
}

void check_max_unpool(const Extents& kernel, const Extents& stride, const Extents& padding, SourceLocation where) {
  check_kernel("MaxUnpool", kernel, stride, where);
  if (!padding.at_least(0))
    throw ValueError(fmt::format("{}: padding must be at least 0, got {}\nit leaves out elements",
                                 name("MaxUnpool", kernel), text(padding)),
                     where);
}

void check_adaptive_pool(const char* base, const Extents& size, SourceLocation where) {
  if (!size.at_least(1))
    throw ValueError(fmt::format("{}: output_size must be positive, got {}\n1 or more in each dimension",
                                 name(base, size), text(size)),
                     where);
}

std::string norm_text(double norm_type) { return fmt::format(", norm_type {}", norm_type); }

std::string pool_text(const char* base, const Extents& kernel, const Extents& stride, const Extents& padding,
                      const std::string& more, bool ceil_mode) {
  std::string shown = fmt::format("{}({}", name(base, kernel), text(kernel));
  if (!stride.all_equal(0)) shown += ", stride " + text(stride);
  if (!padding.all_equal(0)) shown += ", padding " + text(padding);
  return shown + more + (ceil_mode ? ", ceil_mode)" : ")");
}

}  // namespace minnow::nn::detail
