#include <minnow/ops/prelu.h>

#include <fmt/format.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {

Tensor prelu(const In& x, const In& weight) {
  const CallSite site("prelu", x.where);
  if (const auto cast = autocast(site, *x, *weight)) return prelu({cast[0], x.where}, {cast[1], weight.where});
  const Operands operands{{"x", *x}, {"weight", *weight}};
  dispatch(operands);
  if (!x->is_floating_point() || x->dtype() != weight->dtype())
    throw DTypeError(message("x and weight must have one floating-point dtype", operands, dtype_hint(operands)));
  const int dim = x->dim() > 1 ? 1 : 0;
  if (weight->dim() == 1 && weight->size(0) == 1) return where(*x > 0, *x, *x * weight->reshape({}));
  if (weight->dim() != 1 || x->dim() == 0 || weight->size(0) != x->size(dim))
    throw ShapeError(
        message("weight must have one number, or one for each channel", operands,
                x->dim() == 0 ? "its shape is [1] here" : fmt::format("its shape is [1] or [{}] here", x->size(dim))));
  Shape shape = Shape::filled(x->dim(), 1);
  shape[dim] = x->size(dim);
  return where(*x > 0, *x, *x * weight->reshape(shape));
}

}  // namespace minnow
