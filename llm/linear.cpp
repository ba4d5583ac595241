#include <minnow/llm/linear.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::llm {
namespace {

Tensor initial(const Shape& shape, std::int64_t in_features, SourceLocation where) {
  const CallSite site("Linear", where);
  if (in_features <= 0 || shape[0] <= 0)
    throw ValueError(
        fmt::format("Linear: in_features and out_features must be positive, got {} and {}", in_features, shape[0]),
        where);
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  return nn::init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool with_bias, SourceLocation where)
    : weight(parameter("weight", initial({out_features, in_features}, in_features, where))),
      bias(with_bias ? parameter("bias", initial({out_features}, in_features, where)) : nn::Parameter()),
      in_(in_features),
      out_(out_features) {}

Tensor Linear::forward(const Tensor& x) {
  const auto site = called();
  return linear(x, weight, bias);
}

std::string Linear::describe() const {
  return fmt::format("Linear({}, {}{})", weight.size(1), weight.size(0), bias.defined() ? "" : ", no bias");
}

}  // namespace minnow::llm
