#include <minnow/optim/clip.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/row_gradient.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::optim {
namespace {

std::vector<Tensor> gradients(const std::vector<Tensor>& params) {
  std::vector<Tensor> grads;
  for (const Tensor& p : params) {
    if (!p.defined())
      throw ValueError(message("a parameter is undefined", {},
                               "it was default-constructed, or is the bias of a layer without bias"));
    if (const RowGradient sparse = row_grad(p); sparse.defined()) grads.push_back(sparse.values);
    else if (const Tensor g = p.grad(); g.defined()) grads.push_back(g.detach());
  }
  return grads;
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& params, double max_norm, ClipGradNormOptions options,
                       SourceLocation where) {
  const CallSite site("clip_grad_norm_", where);
  if (!(max_norm >= 0))
    throw ValueError(message(fmt::format("max_norm must be at least 0, got {}", max_norm), {}, "a common value is 1"));
  if (!(options.norm_type > 0))
    throw ValueError(message(fmt::format("norm_type must be positive, got {}", options.norm_type), {},
                             "the default is 2; infinity gives the largest element"));
  const NoGradGuard guard;
  const auto grads = gradients(params);
  if (grads.empty()) return zeros({});
  const DType dtype = grads[0].dtype() == DType::float64 ? DType::float64 : DType::float32;
  std::vector<Tensor> norms;
  for (const Tensor& g : grads)
    if (g.numel()) norms.push_back(norm(g, options.norm_type).to(grads[0].device(), dtype));
  if (norms.empty()) return zeros({}, {dtype, grads[0].device()});
  Tensor total = norm(stack(norms), options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(total.item()))
    throw ValueError(message(fmt::format("the norm of the gradients is {}", total.item()), {},
                             "find the operation that computed it, or lower the learning rate"));
  const Tensor factor = clamp(max_norm / (total + 1e-6), -kInfinity, 1);
  for (const Tensor& g : grads) mul_(g, factor.to(g.device()));
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& params, double clip_value, SourceLocation where) {
  const CallSite site("clip_grad_value_", where);
  if (!(clip_value >= 0))
    throw ValueError(
        message(fmt::format("clip_value must be at least 0, got {}", clip_value), {}, "0 sets all gradients to 0"));
  const NoGradGuard guard;
  for (const Tensor& g : gradients(params)) clamp_(g, -clip_value, clip_value);
}

}  // namespace minnow::optim
