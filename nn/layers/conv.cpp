#include <minnow/nn/layers/conv.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/extents.h>
#include <minnow/nn/module/init.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

using detail::Extents;
using detail::text;

constexpr const char* kConv[] = {"Conv1d", "Conv2d", "Conv3d"};
constexpr const char* kConvTranspose[] = {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"};
template <class Size> constexpr int kDims = Extents(Size(1)).dims;

/// The options of both kinds of layers, for checks and descriptions.
struct Layer {
  const char* name;
  std::int64_t in, out;
  Extents kernel, stride, padding, dilation, output_padding;
  std::int64_t groups;
  bool same = false;

  std::string padding_text() const { return same ? "same" : text(padding); }

  void check(SourceLocation where) const {
    const auto refuse = [&](const char* why) {
      throw ValueError(
          fmt::format("{}: {}\n  in_channels  {}, out_channels  {}, kernel_size  {}, stride  {}, padding  "
                      "{}, dilation  {}, groups  {}\nsizes are 1 or more, padding is 0 or more, groups "
                      "divides both numbers of channels",
                      name, why, in, out, text(kernel), text(stride), padding_text(), text(dilation), groups),
          where);
    };
    if (in <= 0 || out <= 0) refuse("in_channels and out_channels must be positive");
    if (!kernel.at_least(1)) refuse("kernel_size must be positive");
    if (!stride.at_least(1)) refuse("stride must be positive");
    if (!dilation.at_least(1)) refuse("dilation must be positive");
    if (!padding.at_least(0)) refuse("padding must be at least 0");
    if (same && !stride.all_equal(1)) refuse("padding \"same\" needs a stride of 1");
    if (groups <= 0 || in % groups != 0 || out % groups != 0) refuse("groups must divide in_channels and out_channels");
    for (int d = 0; d < stride.dims; ++d)
      if (output_padding[d] < 0 || (output_padding[d] > 0 && output_padding[d] >= std::max(stride[d], dilation[d])))
        refuse("output_padding must be 0 or more and less than stride or dilation");
  }

  /// [first, second, *kernel]
  Shape weight_shape(std::int64_t first, std::int64_t second) const {
    Shape shape{first, second};
    for (const std::int64_t k : kernel) shape.push_back(k);
    return shape;
  }

  std::string describe(bool bias, const std::string& more) const {
    std::string shown = fmt::format("{}({}, {}, kernel {}", name, in, out, text(kernel));
    if (!stride.all_equal(1)) shown += ", stride " + text(stride);
    if (same || !padding.all_equal(0)) shown += ", padding " + padding_text();
    if (!output_padding.all_equal(0)) shown += ", output_padding " + text(output_padding);
    if (!dilation.all_equal(1)) shown += ", dilation " + text(dilation);
    if (groups != 1) shown += fmt::format(", groups {}", groups);
    if (!bias) shown += ", no bias";
    return shown + more + ")";
  }
};

template <class Size>
Layer layer(std::int64_t in, std::int64_t out, const Extents& kernel, const ConvOptions<Size>& o) {
  return {kConv[kDims<Size> - 1],  in,       out,           kernel, o.stride, o.padding.size, o.dilation,
          Extents(kernel.dims, 0), o.groups, o.padding.same};
}
template <class Size>
Layer layer(std::int64_t in, std::int64_t out, const Extents& kernel, const ConvTransposeOptions<Size>& o) {
  return {
      kConvTranspose[kDims<Size> - 1], in, out, kernel, o.stride, o.padding, o.dilation, o.output_padding, o.groups};
}

Extents kernel_of(const Tensor& weight) {
  Extents kernel(weight.dim() - 2, 1);
  for (int d = 0; d < kernel.dims; ++d) kernel[d] = weight.size(d + 2);
  return kernel;
}

template <class Size>
Shape checked_weight(std::int64_t in, std::int64_t out, Size kernel, const ConvOptions<Size>& o, SourceLocation where) {
  const Layer checked = layer(in, out, kernel, o);
  checked.check(where);
  return checked.weight_shape(out, in / o.groups);
}
template <class Size>
Shape checked_weight(std::int64_t in, std::int64_t out, Size kernel, const ConvTransposeOptions<Size>& o,
                     SourceLocation where) {
  const Layer checked = layer(in, out, kernel, o);
  checked.check(where);
  return checked.weight_shape(in, out / o.groups);
}

Tensor initial_value(const char* name, const Shape& shape, const Shape& weight, SourceLocation where) {
  double fan_in = 1;
  for (int d = 1; d < weight.rank(); ++d) fan_in *= static_cast<double>(weight[d]);
  const double bound = 1 / std::sqrt(fan_in);
  const CallSite site(name, where);
  return init::uniform_(empty(shape), -bound, bound);
}

/// x with the padding of a layer, of x or of zeros; the convolution has none then.
template <class Size> Tensor padded(const Tensor& x, const Tensor& weight, const ConvOptions<Size>& o) {
  const Extents kernel = kernel_of(weight), dilation = o.dilation, padding = o.padding.size;
  std::vector<std::int64_t> each;
  for (int d = kernel.dims - 1; d >= 0; --d) {
    const std::int64_t both = o.padding.same ? dilation[d] * (kernel[d] - 1) : 2 * padding[d];
    each.push_back(both / 2), each.push_back(both - both / 2);
  }
  return pad(x, each, o.padding_mode);
}

}  // namespace

template <class Size>
Conv<Size>::Conv(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size, ConvOptions<Size> options,
                 SourceLocation where)
    : Conv(checked_weight(in_channels, out_channels, kernel_size, options, where), options, where) {}

template <class Size>
Conv<Size>::Conv(const Shape& shape, const ConvOptions<Size>& options, SourceLocation where)
    : weight(parameter("weight", initial_value(kConv[kDims<Size> - 1], shape, shape, where))),
      bias(options.bias ? parameter("bias", initial_value(kConv[kDims<Size> - 1], {shape[0]}, shape, where))
                        : Parameter()),
      options_(options) {}

template <class Size> Tensor Conv<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  const ConvOptions<Size>& o = options_;
  const bool pads =
      o.padding_mode != PadMode::constant && x.defined() && (x.dim() == kDims<Size> + 2 || x.dim() == kDims<Size> + 1);
  const ConvFuncOptions<Size> options{o.stride, pads ? ConvPadding<Size>(0) : o.padding, o.dilation, o.groups,
                                      o.activation};
  const Tensor in = pads ? padded(x, weight, o) : x;
  return detail::for_size<Size>(conv1d, conv2d, conv3d)(in, weight, bias, options);
}

template <class Size> std::string Conv<Size>::describe() const {
  const ConvOptions<Size>& o = options_;
  std::string more;
  if (o.padding_mode == PadMode::reflect) more += ", reflect";
  if (o.padding_mode == PadMode::replicate) more += ", replicate";
  if (o.padding_mode == PadMode::circular) more += ", circular";
  if (o.activation == Activation::relu) more += ", relu";
  if (o.activation == Activation::gelu_tanh) more += ", gelu_tanh";
  return layer(weight.size(1) * o.groups, weight.size(0), kernel_of(weight), o).describe(bias.defined(), more);
}

template <class Size>
ConvTranspose<Size>::ConvTranspose(std::int64_t in_channels, std::int64_t out_channels, Size kernel_size,
                                   ConvTransposeOptions<Size> options, SourceLocation where)
    : ConvTranspose(checked_weight(in_channels, out_channels, kernel_size, options, where), options, where) {}

template <class Size>
ConvTranspose<Size>::ConvTranspose(const Shape& shape, const ConvTransposeOptions<Size>& options, SourceLocation where)
    : weight(parameter("weight", initial_value(kConvTranspose[kDims<Size> - 1], shape, shape, where))),
      bias(options.bias ? parameter("bias", initial_value(kConvTranspose[kDims<Size> - 1], {shape[1] * options.groups},
                                                          shape, where))
                        : Parameter()),
      options_(options) {}

template <class Size> Tensor ConvTranspose<Size>::forward(const Tensor& x) {
  const CallSite site = called();
  const ConvTransposeOptions<Size>& o = options_;
  const ConvTransposeFuncOptions<Size> options{o.stride, o.padding, o.output_padding, o.groups, o.dilation};
  return detail::for_size<Size>(conv_transpose1d, conv_transpose2d, conv_transpose3d)(x, weight, bias, options);
}

template <class Size> std::string ConvTranspose<Size>::describe() const {
  const auto& o = options_;
  return layer(weight.size(0), weight.size(1) * o.groups, kernel_of(weight), o).describe(bias.defined(), "");
}

template class Conv<std::int64_t>;
template class Conv<Pair>;
template class Conv<Triple>;
template class ConvTranspose<std::int64_t>;
template class ConvTranspose<Pair>;
template class ConvTranspose<Triple>;

}  // namespace minnow::nn
