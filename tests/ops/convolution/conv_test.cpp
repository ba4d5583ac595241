#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/unary.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

OpCase conv(const std::string& name, const Conv2dFuncOptions& options, const Shape& x, const Shape& w,
            bool bias = true) {
  Inputs inputs{values(x, -0.5, 0.5), values(w, -0.5, 0.5)}, none = inputs;
  if (bias) inputs.push_back(values({w[0]}));
  none[0].shape = {0, x[1], x[2], x[3]};
  return {.function = "conv2d",
          .variant = name,
          .call = one([=](const Tensors& t) { return conv2d(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options); }),
          .inputs = {inputs, none},
          .golden = {"conv: " + name},
          // cuDNN may choose Winograd's or Fourier's transforms: 16 times the tolerance of float32.
          .tolerance_on_cuda = name == "float64" ? Tolerance{} : Tolerance{16 * 1.3e-6, 16 * 1e-5},
          .optional_from = 2};
}

/// Convolutions with an activation of their own.
OpCase activated(Activation activation, const Shape& x, const Shape& w, bool bias) {
  const bool relus = activation == Activation::relu;
  OpCase c = conv(std::string(relus ? "relu" : "gelu_tanh") + (bias ? "" : ", no bias"), {}, x, w, bias);
  const auto call = [](const Tensors& t, const Conv2dFuncOptions& options) {
    return conv2d(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options);
  };
  c.call = one([=](const Tensors& t) { return call(t, {.activation = activation}); });
  c.same_as = one([=](const Tensors& t) {
    const Tensor y = call(t, {});
    return relus ? relu(y) : gelu_tanh(y);
  });
  c.golden.clear();
  return c;
}

OpCases image_convolutions() {
  return {conv("plain", {}, {2, 2, 4, 5}, {3, 2, 3, 2}),
          conv("no bias", {}, {1, 2, 4, 4}, {2, 2, 2, 2}, false),
          conv("stride 2,1", {.stride = {2, 1}}, {1, 2, 5, 4}, {2, 2, 2, 2}),
          conv("padding 1,2", {.padding = {1, 2}}, {1, 2, 3, 3}, {2, 2, 2, 2}),
          conv("dilation 2,1", {.dilation = {2, 1}}, {1, 2, 5, 4}, {2, 2, 2, 2}),
          conv("groups 2", {.groups = 2}, {1, 4, 3, 3}, {4, 2, 2, 2}),
          conv("depthwise", {.padding = 1, .groups = 4}, {1, 4, 3, 3}, {4, 1, 3, 3}, false),
          conv("all", {.stride = 2, .padding = 2, .dilation = {1, 2}, .groups = 2}, {1, 4, 4, 4}, {4, 2, 2, 2}),
          conv("1x1", {}, {2, 3, 2, 3}, {2, 3, 1, 1}),
          conv("kernel 5x1", {.padding = {2, 0}}, {1, 2, 5, 3}, {2, 2, 5, 1}),
          conv("whole image", {}, {2, 1, 3, 4}, {2, 1, 3, 4}),
          conv("float64", {}, {1, 2, 4, 4}, {2, 2, 3, 3}),
          activated(Activation::relu, {2, 2, 5, 6}, {3, 2, 3, 2}, true),
          activated(Activation::relu, {2, 2, 5, 6}, {3, 2, 3, 2}, false),
          activated(Activation::gelu_tanh, {1, 2, 5, 6}, {5, 2, 2, 2}, true)};
}

OpCase image_pool(const std::string& name, const std::string& golden, const Function& call, const Shape& image) {
  OpCase c{.function = name, .variant = golden, .call = call};
  c.inputs = {{values(image)}, {values({0, image[1], image[2], image[3]})}};
  c.golden = {"pool: " + golden};
  if (name == "max_pool2d") c.dtypes = numbers();
  return c;
}

OpCases pooling() {
  const auto largest = [](Pair kernel, const MaxPool2dOptions& options = {}) {
    return one([=](const Tensors& x) { return max_pool2d(x[0], kernel, options); });
  };
  const auto mean = [](Pair kernel, const AvgPool2dOptions& options = {}) {
    return one([=](const Tensors& x) { return avg_pool2d(x[0], kernel, options); });
  };
  return {image_pool("max_pool2d", "max/2", largest(2), {2, 2, 4, 6}),
          image_pool("max_pool2d", "max/ties", largest(2), {1, 1, 4, 4}),
          image_pool("max_pool2d", "max/nan", largest(2), {1, 1, 4, 4}),
          image_pool("max_pool2d", "max/3,stride 2,padding 1", largest(3, {.stride = 2, .padding = 1}), {1, 2, 5, 5}),
          image_pool("max_pool2d", "max/3x2,stride 1x2", largest({3, 2}, {.stride = {1, 2}}), {1, 2, 5, 4}),
          image_pool("max_pool2d", "max/2,dilation 2", largest(2, {.dilation = 2}), {1, 2, 6, 6}),
          image_pool("avg_pool2d", "avg/2", mean(2), {2, 2, 4, 6}),
          image_pool("avg_pool2d", "avg/3,stride 2,padding 1", mean(3, {.stride = 2, .padding = 1}), {1, 2, 5, 5}),
          image_pool("avg_pool2d", "avg/3x2,stride 1x2", mean({3, 2}, {.stride = {1, 2}}), {1, 2, 5, 4}),
          image_pool("avg_pool2d", "avg/3,stride 2,padding 1,without pad",
                     mean(3, {.stride = 2, .padding = 1, .count_include_pad = false}), {1, 2, 5, 5})};
}

const Register kConvTables[] = {Register(image_convolutions), Register(pooling)};

}  // namespace
}  // namespace minnow::test
