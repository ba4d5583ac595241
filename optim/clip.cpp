#include <minnow/optim/clip.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_set>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/row_gradient.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/calls/training.h>
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

struct Norm {
  Tensor total, factor;  ///< of all gradients; min(1, max_norm / (total + 1e-6))
};

/// All at once, which is possible where they are of one device, of one dtype, dense and no two of one memory; a GPU,
/// which would be asked twice for each gradient, needs three launches.
bool are_alike(const std::vector<Tensor>& grads) {
  std::unordered_set<const void*> memory;
  return std::all_of(grads.begin(), grads.end(), [&](const Tensor& g) {
    return g.device() == grads[0].device() && g.dtype() == grads[0].dtype() && !is_half(g.dtype()) &&
           minnow::detail::is_dense(g.shape(), g.strides()) && memory.insert(g.storage().get()).second;
  });
}

std::vector<UpdateItem> items_of(const std::vector<Tensor>& grads) {
  std::vector<UpdateItem> items;
  for (const Tensor& g : grads) {
    g.storage()->wait_ready();
    items.push_back({&g.layout(), &g.layout(), {}});
  }
  return items;
}

Norm norm_of_all(const std::vector<Tensor>& grads, double norm_type, double max_norm) {
  const DType dtype = grads[0].dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Device device = grads[0].device();
  if (norm_type == 2 && are_alike(grads)) {
    const Norm norm{empty({}, {dtype, device}), empty({}, {dtype, device})};
    dispatch({{"gradient", grads[0]}}).run(calls::GradientNorm{items_of(grads), norm.total, norm.factor, max_norm});
    return norm;
  }
  std::vector<Tensor> norms;
  norms.reserve(grads.size());
  for (const Tensor& g : grads) norms.push_back(norm(g, norm_type).to(device, dtype));
  const Tensor total = norm(stack(norms), norm_type);
  return {total, clamp(max_norm / (total + 1e-6), -kInfinity, 1)};
}

void scale(const std::vector<Tensor>& grads, const Tensor& factor) {
  if (!are_alike(grads)) {
    for (const Tensor& g : grads) mul_(g, factor.to(g.device()));
    return;
  }
  dispatch({{"gradient", grads[0]}}).run(calls::ScaleGradients{items_of(grads), factor, Tensor(), false});
  for (const Tensor& g : grads) g.storage()->bump_version();
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
  std::vector<Tensor> grads = gradients(params);
  if (grads.empty()) return zeros({});
  const TensorOptions first{grads[0].dtype() == DType::float64 ? DType::float64 : DType::float32, grads[0].device()};
  std::erase_if(grads, [](const Tensor& g) { return g.numel() == 0; });
  if (grads.empty()) return zeros({}, first);
  const Norm norm = norm_of_all(grads, options.norm_type, max_norm);
  if (options.error_if_nonfinite && !std::isfinite(norm.total.item()))
    throw ValueError(message(fmt::format("the norm of the gradients is {}", norm.total.item()), {},
                             "find the operation that computed it, or lower the learning rate"));
  scale(grads, norm.factor);
  return norm.total;
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
