#include <minnow/nn/layers/prelu.h>

#include <fmt/format.h>
#include <minnow/ops/elementwise/prelu.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

Tensor initial_weight(std::int64_t count, double init, SourceLocation where) {
  const CallSite site("PReLU", where);
  if (count < 1)
    throw ValueError(
        fmt::format("PReLU: num_parameters must be positive, got {}\ngive 1, or the number of channels", count));
  return full({count}, init, DType::float32);
}

}  // namespace

PReLU::PReLU(std::int64_t num_parameters, double init, SourceLocation where)
    : weight(parameter("weight", initial_weight(num_parameters, init, where))) {}

Tensor PReLU::forward(const Tensor& x) {
  const CallSite site = called();
  return prelu(x, weight);
}

std::string PReLU::describe() const { return fmt::format("PReLU({})", weight.size(0)); }

}  // namespace minnow::nn
