#include <minnow/nn/losses/linear_cross_entropy_loss.h>

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

/// [C, d..., more...]
Shape with_classes(std::int64_t classes, const Shape& further, std::initializer_list<std::int64_t> more) {
  Shape shape{classes};
  for (const std::int64_t size : further) shape.push_back(size);
  for (const std::int64_t size : more) shape.push_back(size);
  return shape;
}

/// The number of outputs.
std::int64_t outputs_of(std::int64_t classes, const Shape& further, SourceLocation where) {
  const Shape sizes = with_classes(classes, further, {});
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; }))
    throw ValueError(fmt::format("LinearCrossEntropyLoss: all sizes must be positive, got num_classes {} and "
                                 "out_features {}\nthe linear map has num_classes outputs for each of out_features",
                                 classes, further.str()),
                     where);
  return sizes.numel();
}

/// The outputs' shape.
Shape checked_outputs(const Tensor& x, const Tensor& weight, const Tensor& target, const Tensor& bias,
                      SourceLocation where) {
  const CallSite site("linear_cross_entropy", where);
  const Operand op[] = {{"x", x}, {"linear_weight", weight}, {"target", target}, {"linear_bias", bias, kOptional}};
  require_same_device(op);
  if (x.dim() < 1 || x.dim() > 2 || weight.dim() < 2 || (x.dim() == 1 && weight.dim() > 2))
    throw ShapeError(
        message("x must be [N, F] or [F]", op, "sequences: x.flatten(0, 1), and the same of target; weight: [C, F]"));
  Shape outputs = weight.shape();
  outputs.erase(weight.dim() - 1);
  if (bias.defined() && bias.shape() != outputs)
    throw ShapeError(message("linear_bias must have the outputs of linear_weight", op, outputs.str()));
  return outputs;
}

}  // namespace

Tensor linear_cross_entropy(const In& x_, const In& weight_, const In& target_, const Tensor& bias,
                            const CrossEntropyLossOptions& options) {
  const Tensor &x = *x_, &weight = *weight_;
  const Shape outputs = checked_outputs(x, weight, *target_, bias, x_.where);
  const CallSite site(x_.where);  // under an Autocast guard each of the two has its own precision
  Tensor logits =
      linear(x, weight.reshape({outputs.numel(), weight.size(-1)}), bias.defined() ? bias.reshape({-1}) : bias);
  if (x.dim() == 2 && weight.dim() > 2) {
    Shape shape = outputs;
    shape.insert(0, x.size(0));
    logits = logits.reshape(shape);
  }
  return cross_entropy(logits, target_, options);
}

LinearCrossEntropyLoss::LinearCrossEntropyLoss(std::int64_t in_features, std::int64_t num_classes,
                                               LinearCrossEntropyLossOptions options, SourceLocation where)
    : weight(options.loss.weight.defined() ? buffer("weight", options.loss.weight) : Buffer()),
      linear(child("linear",
                   Linear(in_features, outputs_of(num_classes, options.out_features, where), options.bias, where))),
      num_classes_(num_classes),
      options_(std::move(options)) {}

Tensor LinearCrossEntropyLoss::forward(const Tensor& x, const Tensor& target) {
  const CallSite site = called();
  const Tensor map = linear.weight.reshape(with_classes(num_classes_, options_.out_features, {-1}));
  const Tensor bias =
      linear.bias.defined() ? linear.bias.reshape(with_classes(num_classes_, options_.out_features, {})) : Tensor();
  CrossEntropyLossOptions loss = options_.loss;
  loss.weight = weight;
  return linear_cross_entropy(x, map, target, bias, loss);
}

std::string LinearCrossEntropyLoss::describe() const {
  return fmt::format("LinearCrossEntropyLoss({}, {} classes)", linear.weight.size(-1), num_classes_);
}

}  // namespace minnow::nn
