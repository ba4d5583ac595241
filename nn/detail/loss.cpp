#include <minnow/nn/detail/loss.h>

#include <fmt/format.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/warning.h>

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

namespace {

void require_one_floating_point(Operands both) {
  const Tensor &x = both[0].tensor, &y = both[1].tensor;
  if (!x.is_floating_point() && !y.is_floating_point())
    throw DTypeError(message("neither operand is floating-point", both, "convert one of them: .to(float32)"));
}

}  // namespace

void require_same_shape(Operands both) {
  if (!(both[0].tensor.shape() == both[1].tensor.shape()))
    throw ShapeError(message("the shapes differ", both, "reshape or expand one of them first"));
  require_one_floating_point(both);
}

void require_broadcast_shapes(Operands both) {
  const Tensor &x = both[0].tensor, &y = both[1].tensor;
  if (!(x.shape() == y.shape())) {
    const Shape shape = raw::broadcast_shape(x, y, both[0].name, both[1].name);
    warn_once(fmt::format("{}: {} {} and {} {} are broadcast to {}: reshape one of them if it is not meant",
                          CallSite::op(), both[0].name, x.shape().str(), both[1].name, y.shape().str(), shape.str()),
              CallSite::where(), std::string(CallSite::op()));
  }
  require_one_floating_point(both);
}

}  // namespace minnow::nn::detail
