#include <minnow/nn/layer_norm.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/ops/layer_norm.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

const Shape& checked(const Shape& sizes, double eps, SourceLocation where) {
  const CallSite site("LayerNorm", where);
  if (sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size <= 0; }))
    throw ValueError(
        fmt::format("LayerNorm: the sizes must be positive\n  normalized_shape  {}\ngive the last sizes of the input",
                    sizes.str()));
  if (!(eps >= 0))
    throw ValueError(fmt::format("LayerNorm: eps must be 0 or more, got {}\nit is added to the variance", eps));
  return sizes;
}

}  // namespace

LayerNorm::LayerNorm(const Shape& normalized_shape, LayerNormOptions options, SourceLocation where)
    : weight(options.elementwise_affine ? parameter("weight", ones(checked(normalized_shape, options.eps, where)))
                                        : Parameter()),
      bias(options.elementwise_affine && options.bias ? parameter("bias", zeros(normalized_shape)) : Parameter()),
      normalized_shape_(checked(normalized_shape, options.eps, where)),
      eps_(options.eps) {}

Tensor LayerNorm::forward(const Tensor& x) {
  const CallSite site = called();
  return layer_norm(x, normalized_shape_, weight, bias, eps_);
}

std::string LayerNorm::describe() const {
  const char* parts = !weight.defined() ? ", no weight" : !bias.defined() ? ", no bias" : "";
  return fmt::format("LayerNorm({}, eps {}{})", normalized_shape_.str(), eps_, parts);
}

}  // namespace minnow::nn
