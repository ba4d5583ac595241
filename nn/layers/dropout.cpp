#include <minnow/nn/layers/dropout.h>

#include <fmt/format.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

DropoutLayer::DropoutLayer(const char* name, Function function, double p, SourceLocation where)
    : name_(name), function_(function), p_(p) {
  if (!(p >= 0 && p <= 1))
    throw ValueError(fmt::format("{}: p must be in [0, 1], got {}\nit is the probability of a zero", name, p), where);
}

Tensor DropoutLayer::forward(const Tensor& x) {
  const CallSite site = called();
  return function_(x, {p_, is_training()});
}

std::string DropoutLayer::describe() const { return fmt::format("{}({})", name_, p_); }

}  // namespace minnow::nn
