#include <minnow/nn/module/parameter_vector.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

Tensor parameters_to_vector(const std::vector<Tensor>& params, SourceLocation where) {
  const CallSite site("parameters_to_vector", where);
  if (params.empty()) throw ValueError(message("the list of parameters is empty", {}, "give net.parameters()"));
  std::vector<Tensor> flat;
  for (const Tensor& p : params) {
    require_same_device({{"first", params[0]}, {"parameter", p}});
    if (p.dtype() != params[0].dtype())
      throw DTypeError(message("the parameters have different dtypes", {{"first", params[0]}, {"parameter", p}},
                               "convert the module: .to(float32)"));
    flat.push_back(p.flatten());
  }
  return cat(flat, 0);
}

void vector_to_parameters(const In& vector, const std::vector<Tensor>& params) {
  const Operation op("vector_to_parameters", vector.where, {{"vector", *vector}});
  std::int64_t count = 0;
  for (const Tensor& p : params) {
    require_same_device({{"parameter", p}});
    count += p.numel();
  }
  if (vector->dim() != 1 || vector->numel() != count)
    throw ShapeError(message("the vector must have " + std::to_string(count) + " elements, as the parameters", op,
                             "take it from parameters_to_vector()"));
  const NoGradGuard guard;
  std::int64_t at = 0;
  for (const Tensor& p : params) {
    p.copy_(vector->narrow(0, at, p.numel()).reshape(p.shape()));
    at += p.numel();
  }
}

}  // namespace minnow::nn
