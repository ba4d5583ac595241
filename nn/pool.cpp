#include <minnow/nn/pool.h>

#include <fmt/format.h>
#include <minnow/nn/detail/pair.h>
#include <minnow/ops/pool.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

template <class Options> void check(const char* op, Pair kernel, const Options& options, SourceLocation where) {
  if (!detail::at_least(kernel, 1))
    throw ValueError(
        fmt::format("{}: the kernel size {} is not positive\ngive sizes of 1 or more", op, detail::text(kernel)),
        where);
  if (!detail::at_least(options.stride, 0))
    throw ValueError(
        fmt::format("{}: the stride {} is negative\n0 means the size of the kernel", op, detail::text(options.stride)),
        where);
  if (!detail::at_least(options.padding, 0) || 2 * options.padding.height > kernel.height ||
      2 * options.padding.width > kernel.width)
    throw ValueError(fmt::format("{}: the padding {} is not between 0 and half of the kernel {}\npad less, or give "
                                 "a larger kernel",
                                 op, detail::text(options.padding), detail::text(kernel)),
                     where);
}

template <class Options> std::string text(const char* name, Pair kernel, const Options& o) {
  std::string shown = fmt::format("{}({}", name, detail::text(kernel));
  if (!detail::is(o.stride, 0)) shown += ", stride " + detail::text(o.stride);
  if (!detail::is(o.padding, 0)) shown += ", padding " + detail::text(o.padding);
  return shown + ")";
}

}  // namespace

MaxPool2d::MaxPool2d(Pair kernel, MaxPool2dOptions options, SourceLocation where) : kernel_(kernel), options_(options) {
  check("MaxPool2d", kernel, options, where);
  if (!detail::at_least(options.dilation, 1))
    throw ValueError(
        fmt::format("MaxPool2d: the dilation {} is not positive\n1 means none", detail::text(options.dilation)), where);
}
Tensor MaxPool2d::forward(const Tensor& x) {
  const CallSite site = called();
  return max_pool2d(x, kernel_, options_);
}
std::string MaxPool2d::describe() const { return text("MaxPool2d", kernel_, options_); }

AvgPool2d::AvgPool2d(Pair kernel, AvgPool2dOptions options, SourceLocation where) : kernel_(kernel), options_(options) {
  check("AvgPool2d", kernel, options, where);
}
Tensor AvgPool2d::forward(const Tensor& x) {
  const CallSite site = called();
  return avg_pool2d(x, kernel_, options_);
}
std::string AvgPool2d::describe() const { return text("AvgPool2d", kernel_, options_); }

}  // namespace minnow::nn
