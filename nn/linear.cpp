#include <minnow/nn/linear.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/init.h>
#include <minnow/ops/matmul.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

Tensor start(const Shape& shape, std::int64_t in, std::int64_t out, SourceLocation where) {
  const CallSite site("Linear", where);
  if (in <= 0 || out <= 0)
    throw ValueError(
        fmt::format("Linear: the sizes are not positive\n  in   {}\n  out  {}\ngive two numbers above 0", in, out));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  return init::uniform_(empty(shape), -bound, bound);
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options, SourceLocation where)
    : weight(parameter("weight", start({out, in}, in, out, where))),
      bias(options.bias ? parameter("bias", start({out}, in, out, where)) : Parameter()),
      activation_(options.activation) {}

Tensor Linear::forward(const Tensor& x) {
  const CallSite site = called();
  return linear(x, weight, bias, activation_);
}

std::string Linear::describe() const {
  const char* bent = activation_ == minnow::Activation::relu        ? ", relu"
                     : activation_ == minnow::Activation::gelu_tanh ? ", gelu_tanh"
                                                                    : "";
  return fmt::format("Linear({}, {}{}{})", weight.size(1), weight.size(0), bias.defined() ? "" : ", no bias", bent);
}

}  // namespace minnow::nn
