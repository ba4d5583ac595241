#include <minnow/nn/layers/linear.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/quantized.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/quantized.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

Tensor initial_value(const Shape& shape, std::int64_t in_features, std::int64_t out_features, SourceLocation where) {
  const CallSite site("Linear", where);
  if (in_features <= 0 || out_features <= 0)
    throw ValueError(
        fmt::format("Linear: in_features and out_features must be positive, got {} and {}\ngive two sizes of 1 or more",
                    in_features, out_features));
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  return init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options, SourceLocation where)
    : weight(parameter("weight", initial_value({out_features, in_features}, in_features, out_features, where))),
      bias(options.bias ? parameter("bias", initial_value({out_features}, in_features, out_features, where))
                        : Parameter()),
      activation_(options.activation) {}

Tensor Linear::forward(const Tensor& x) {
  const CallSite site = called();
  if (weight.dtype() == DType::int8) {
    const minnow::detail::AutocastLayer cast(kWide, {&x});
    return minnow::detail::quantized_linear(cast(x), weight, detail::scale_of(*this, weight), bias, activation_);
  }
  return linear(x, weight, bias, activation_);
}

std::string Linear::describe() const {
  const char* bent = activation_ == Activation::relu        ? ", relu"
                     : activation_ == Activation::gelu_tanh ? ", gelu_tanh"
                                                            : "";
  return fmt::format("Linear({}, {}{}{}{})", weight.size(1), weight.size(0), bias.defined() ? "" : ", no bias", bent,
                     weight.dtype() == DType::int8 ? ", int8" : "");
}

}  // namespace minnow::nn
