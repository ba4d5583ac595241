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
Shape weight_shape(std::int64_t in, std::int64_t out, Pair kernel, const Conv2dOptions& o, SourceLocation where) {
  const auto refuse = [&](const std::string& why) {
    throw ValueError(
        fmt::format("Conv2d: {}\n  in  {}, out  {}, kernel  {}, stride  {}, padding  {}, dilation  {}, "
                    "groups  {}\ngive sizes of 1 or more, padding of 0 or more, groups that divide in and out",
                    why, in, out, detail::text(kernel), detail::text(o.stride), detail::text(o.padding),
                    detail::text(o.dilation), o.groups),
        where);
  };
  if (in <= 0 || out <= 0) refuse("the numbers of channels are not positive");
  if (!detail::at_least(kernel, 1)) refuse("the kernel size is not positive");
  if (!detail::at_least(o.stride, 1)) refuse("the stride is not positive");
  if (!detail::at_least(o.dilation, 1)) refuse("the dilation is not positive");
  if (!detail::at_least(o.padding, 0)) refuse("the padding is negative");
  if (o.groups <= 0 || in % o.groups != 0 || out % o.groups != 0) refuse("groups must divide both numbers of channels");
  return {out, in / o.groups, kernel.height, kernel.width};
}

Tensor start(const Shape& shape, const Shape& weight, SourceLocation where) {
  const auto fan_in = static_cast<double>(weight[1]) * static_cast<double>(weight[2]) * static_cast<double>(weight[3]);
  const double bound = 1 / std::sqrt(fan_in);
  const CallSite site("Conv2d", where);
  return init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Pair kernel, Conv2dOptions options, SourceLocation where)
    : Conv2d(weight_shape(in, out, kernel, options, where), options, where) {}

Conv2d::Conv2d(const Shape& shape, const Conv2dOptions& options, SourceLocation where)
    : weight(parameter("weight", start(shape, shape, where))),
      bias(options.bias ? parameter("bias", start({shape[0]}, shape, where)) : Parameter()),
      options_(options) {}

Tensor Conv2d::forward(const Tensor& x) {
  const CallSite site = called();
  return conv2d(x, weight, bias, {options_.stride, options_.padding, options_.dilation, options_.groups});
}

std::string Conv2d::describe() const {
  const Conv2dOptions& o = options_;
  std::string text = fmt::format("Conv2d({}, {}, kernel {}", weight.size(1) * o.groups, weight.size(0),
                                 detail::text({weight.size(2), weight.size(3)}));
  if (!detail::is(o.stride, 1)) text += ", stride " + detail::text(o.stride);
  if (!detail::is(o.padding, 0)) text += ", padding " + detail::text(o.padding);
  if (!detail::is(o.dilation, 1)) text += ", dilation " + detail::text(o.dilation);
  if (o.groups != 1) text += fmt::format(", groups {}", o.groups);
  return text + (bias.defined() ? ")" : ", no bias)");
}

}  // namespace minnow::nn
