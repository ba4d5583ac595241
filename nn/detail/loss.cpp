#include <minnow/nn/detail/loss.h>

#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow::nn::detail {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return losses;
    case Reduction::sum: return sum(losses);
    case Reduction::mean: return mean(losses);
    case Reduction::batchmean: break;
  }
  throw ValueError(message("the reduction must be none, mean or sum", {}, "batchmean is for kl_div only"));
}

void require_same_shape(Operands both) {
  const Tensor &x = both[0].tensor, &y = both[1].tensor;
  if (!(x.shape() == y.shape()))
    throw ShapeError(message("the shapes differ", both, "reshape or expand one of them first"));
  if (!x.is_floating_point() && !y.is_floating_point())
    throw DTypeError(message("neither operand is floating-point", both, "convert one of them: .to(float32)"));
}

}  // namespace minnow::nn::detail
