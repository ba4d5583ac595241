#include <minnow/nn/conv.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/pair.h>
#include <minnow/nn/init.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

/// The weight's shape, from checked options.
Shape weight_shape(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size, const Conv2dOptions& o,
                   SourceLocation where) {
  const auto refuse = [&](const std::string& why) {
    throw ValueError(
        fmt::format(
            "Conv2d: {}\n  in_channels  {}, out_channels  {}, kernel_size  {}, stride  {}, padding  {}, "
            "dilation  {}, groups  {}\nsizes are 1 or more, padding is 0 or more, groups divides both numbers of "
            "channels",
            why, in_channels, out_channels, detail::text(kernel_size), detail::text(o.stride), detail::text(o.padding),
            detail::text(o.dilation), o.groups),
        where);
  };
  if (in_channels <= 0 || out_channels <= 0) refuse("in_channels and out_channels must be positive");
  if (!detail::at_least(kernel_size, 1)) refuse("kernel_size must be positive");
  if (!detail::at_least(o.stride, 1)) refuse("stride must be positive");
  if (!detail::at_least(o.dilation, 1)) refuse("dilation must be positive");
  if (!detail::at_least(o.padding, 0)) refuse("padding must be at least 0");
  if (o.groups <= 0 || in_channels % o.groups != 0 || out_channels % o.groups != 0)
    refuse("groups must divide in_channels and out_channels");
  return {out_channels, in_channels / o.groups, kernel_size.height, kernel_size.width};
}

Tensor initial_value(const Shape& shape, const Shape& weight, SourceLocation where) {
  const auto fan_in = static_cast<double>(weight[1]) * static_cast<double>(weight[2]) * static_cast<double>(weight[3]);
  const double bound = 1 / std::sqrt(fan_in);
  const CallSite site("Conv2d", where);
  return init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size, Conv2dOptions options,
               SourceLocation where)
    : Conv2d(weight_shape(in_channels, out_channels, kernel_size, options, where), options, where) {}

Conv2d::Conv2d(const Shape& shape, const Conv2dOptions& options, SourceLocation where)
    : weight(parameter("weight", initial_value(shape, shape, where))),
      bias(options.bias ? parameter("bias", initial_value({shape[0]}, shape, where)) : Parameter()),
      options_(options) {}

Tensor Conv2d::forward(const Tensor& x) {
  const CallSite site = called();
  return conv2d(x, weight, bias,
                {options_.stride, options_.padding, options_.dilation, options_.groups, options_.activation});
}

std::string Conv2d::describe() const {
  const Conv2dOptions& o = options_;
  std::string text = fmt::format("Conv2d({}, {}, kernel {}", weight.size(1) * o.groups, weight.size(0),
                                 detail::text({weight.size(2), weight.size(3)}));
  if (!detail::both_equal(o.stride, 1)) text += ", stride " + detail::text(o.stride);
  if (!detail::both_equal(o.padding, 0)) text += ", padding " + detail::text(o.padding);
  if (!detail::both_equal(o.dilation, 1)) text += ", dilation " + detail::text(o.dilation);
  if (o.groups != 1) text += fmt::format(", groups {}", o.groups);
  if (!bias.defined()) text += ", no bias";
  if (o.activation == Activation::relu) text += ", relu";
  if (o.activation == Activation::gelu_tanh) text += ", gelu_tanh";
  return text + ")";
}

}  // namespace minnow::nn
