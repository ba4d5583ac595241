#include <minnow/nn/layers/layer_norm.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

const Shape& checked(const char* name, const Shape& sizes, double eps, SourceLocation where) {
  const CallSite site(name, where);
  if (sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size <= 0; }))
    throw ValueError(fmt::format(
        "{}: the sizes must be positive\n  normalized_shape  {}\ngive the last sizes of the input", name, sizes.str()));
  if (!(eps >= 0))
    throw ValueError(fmt::format("{}: eps must not be negative, got {}\nit is added to the variance", name, eps));
  return sizes;
}

}  // namespace

LayerNorm::LayerNorm(const Shape& normalized_shape, LayerNormOptions options, SourceLocation where)
    : weight(options.elementwise_affine
                 ? parameter("weight", ones(checked("LayerNorm", normalized_shape, options.eps, where)))
                 : Parameter()),
      bias(options.elementwise_affine && options.bias ? parameter("bias", zeros(normalized_shape)) : Parameter()),
      normalized_shape_(checked("LayerNorm", normalized_shape, options.eps, where)),
      eps_(options.eps) {}

Tensor LayerNorm::forward(const Tensor& x) {
  const CallSite site = called();
  return layer_norm(x, normalized_shape_, weight, bias, eps_);
}

std::string LayerNorm::describe() const {
  const char* parts = !weight.defined() ? ", no weight" : !bias.defined() ? ", no bias" : "";
  return fmt::format("LayerNorm({}, eps {}{})", normalized_shape_.str(), eps_, parts);
}

RMSNorm::RMSNorm(const Shape& normalized_shape, RMSNormOptions options, SourceLocation where)
    : weight(options.elementwise_affine
                 ? parameter("weight", ones(checked("RMSNorm", normalized_shape, options.eps.value_or(0), where)))
                 : Parameter()),
      normalized_shape_(checked("RMSNorm", normalized_shape, options.eps.value_or(0), where)),
      eps_(options.eps) {}

Tensor RMSNorm::forward(const Tensor& x) {
  const CallSite site = called();
  return rms_norm(x, normalized_shape_, weight, eps_);
}

std::string RMSNorm::describe() const {
  return fmt::format("RMSNorm({}{}{})", normalized_shape_.str(), eps_ ? fmt::format(", eps {}", *eps_) : "",
                     weight.defined() ? "" : ", no weight");
}

}  // namespace minnow::nn
