#include <minnow/optim/clip.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>

namespace minnow::optim {
namespace {

std::vector<Tensor> gradients(const char* op, const std::vector<Tensor>& params, SourceLocation where) {
  std::vector<Tensor> grads;
  for (const Tensor& p : params) {
    if (!p.defined())
      throw ValueError(
          fmt::format("{}: a parameter is undefined\nit was default-made, or is a bias that a layer does not have", op),
          where);
    if (const Tensor g = p.grad(); g.defined()) grads.push_back(g.detach());
  }
  return grads;
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& params, double max_norm, ClipOptions options, SourceLocation where) {
  if (!(max_norm >= 0))
    throw ValueError(fmt::format("clip_grad_norm_: max_norm = {} is no length\nit is 0 or more", max_norm), where);
  if (!(options.norm_type > 0))
    throw ValueError(
        fmt::format("clip_grad_norm_: norm_type = {} is not positive\n2 is the usual one, infinity the largest element",
                    options.norm_type),
        where);
  const Composed scope("clip_grad_norm_");
  const NoGradGuard guard;
  const auto grads = gradients("clip_grad_norm_", params, where);
  if (grads.empty()) return zeros({}, {}, where);
  const DType dtype = grads[0].dtype() == DType::float64 ? DType::float64 : DType::float32;
  std::vector<Tensor> norms;
  for (const Tensor& g : grads)
    if (g.numel()) norms.push_back(norm({g, where}, options.norm_type).to(grads[0].device(), dtype, {}, where));
  if (norms.empty()) return zeros({}, {dtype, grads[0].device()}, where);
  Tensor total = norm({stack(norms, 0, where), where}, options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(total.item<double>(where)))
    throw ValueError(fmt::format("clip_grad_norm_: the norm of the gradients is {}\nlook for the operation that made "
                                 "it, or lower the learning rate",
                                 total.item<double>(where)),
                     where);
  const Tensor factor = clamp(div(max_norm, {add(total, 1e-6), where}), -kInfinity, 1);
  for (const Tensor& g : grads) mul_({g, where}, factor.to(g.device(), {}, where));
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& params, double limit, SourceLocation where) {
  if (!(limit >= 0))
    throw ValueError(fmt::format("clip_grad_value_: the limit {} is no distance from 0\nit is 0 or more", limit),
                     where);
  const Composed scope("clip_grad_value_");
  const NoGradGuard guard;
  for (const Tensor& g : gradients("clip_grad_value_", params, where)) clamp_({g, where}, -limit, limit);
}

}  // namespace minnow::optim
