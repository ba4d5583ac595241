#include <minnow/nn/pool.h>

#include <fmt/format.h>
#include <minnow/nn/detail/pair.h>
#include <minnow/ops/pool.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

template <class Options> void check(const char* op, Pair kernel_size, const Options& options, SourceLocation where) {
  if (!detail::at_least(kernel_size, 1))
    throw ValueError(fmt::format("{}: kernel_size must be positive, got {}\n1 or more in each dimension", op,
                                 detail::text(kernel_size)),
                     where);
  if (!detail::at_least(options.stride, 0))
    throw ValueError(
        fmt::format("{}: stride must be at least 0, got {}\n0 means kernel_size", op, detail::text(options.stride)),
        where);
  if (!detail::at_least(options.padding, 0) || 2 * options.padding.height > kernel_size.height ||
      2 * options.padding.width > kernel_size.width)
    throw ValueError(fmt::format("{}: padding must be between 0 and half of kernel_size, got {} for kernel_size {}\n"
                                 "pad less, or give a larger kernel",
                                 op, detail::text(options.padding), detail::text(kernel_size)),
                     where);
}

template <class Options> std::string text(const char* name, Pair kernel_size, const Options& o) {
  std::string shown = fmt::format("{}({}", name, detail::text(kernel_size));
  if (!detail::both_equal(o.stride, 0)) shown += ", stride " + detail::text(o.stride);
  if (!detail::both_equal(o.padding, 0)) shown += ", padding " + detail::text(o.padding);
  return shown + ")";
}

Pair checked_output(const char* name, Pair size, SourceLocation where) {
  if (!detail::at_least(size, 1))
    throw ValueError(
        fmt::format("{}: output_size must be positive, got {}\n1 or more in each dimension", name, detail::text(size)),
        where);
  return size;
}

}  // namespace

MaxPool2d::MaxPool2d(Pair kernel_size, MaxPool2dOptions options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check("MaxPool2d", kernel_size, options, where);
  if (!detail::at_least(options.dilation, 1))
    throw ValueError(
        fmt::format("MaxPool2d: dilation must be positive, got {}\n1 means none", detail::text(options.dilation)),
        where);
}
Tensor MaxPool2d::forward(const Tensor& x) {
  const CallSite site = called();
  return max_pool2d(x, kernel_size_, options_);
}
std::string MaxPool2d::describe() const { return text("MaxPool2d", kernel_size_, options_); }

AvgPool2d::AvgPool2d(Pair kernel_size, AvgPool2dOptions options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check("AvgPool2d", kernel_size, options, where);
}
Tensor AvgPool2d::forward(const Tensor& x) {
  const CallSite site = called();
  return avg_pool2d(x, kernel_size_, options_);
}
std::string AvgPool2d::describe() const { return text("AvgPool2d", kernel_size_, options_); }

AdaptiveAvgPool2d::AdaptiveAvgPool2d(Pair output_size, SourceLocation where)
    : output_size_(checked_output("AdaptiveAvgPool2d", output_size, where)) {}
Tensor AdaptiveAvgPool2d::forward(const Tensor& x) {
  const CallSite site = called();
  return adaptive_avg_pool2d(x, output_size_);
}
std::string AdaptiveAvgPool2d::describe() const {
  return fmt::format("AdaptiveAvgPool2d({})", detail::text(output_size_));
}

AdaptiveAvgPool1d::AdaptiveAvgPool1d(std::int64_t output_size, SourceLocation where)
    : output_size_(checked_output("AdaptiveAvgPool1d", output_size, where).height) {}
Tensor AdaptiveAvgPool1d::forward(const Tensor& x) {
  const CallSite site = called();
  return adaptive_avg_pool1d(x, output_size_);
}
std::string AdaptiveAvgPool1d::describe() const { return fmt::format("AdaptiveAvgPool1d({})", output_size_); }

}  // namespace minnow::nn
