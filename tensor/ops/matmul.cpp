#include <minnow/tensor/ops/matmul.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/view.h>

namespace minnow::raw {
namespace {

void require_same_dtype(Operands operands) {
  const DType dtype = operands.begin()->tensor.dtype();
  for (const Operand& o : operands)
    if (o.tensor.dtype() != dtype)
      throw DTypeError(message("operands have different dtypes", operands, dtype_hint(operands)));
}

/// Contiguous elements in another shape.
View seen(const Tensor& x, const Shape& shape) {
  return View(x.storage(), x.dtype(), shape, contiguous_strides(shape), x.storage_offset());
}

/// The leading dimensions as one, by stride where that works, else by a copy.
Tensor as_batch(const Tensor& x, const Shape& lead) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  if (x.dim() == 2) {
    const std::int64_t batch = lead.numel();
    return Tensor(x.storage(), x.dtype(), {batch, m, n}, {0, x.strides()[-2], x.strides()[-1]}, x.storage_offset());
  }
  Shape full = lead;
  full.push_back(m);
  full.push_back(n);
  const Tensor wide = expand(x, full);
  if (lead.rank() == 1) return wide;
  return reshape(wide, {lead.numel(), m, n});
}

Shape lead_of(const Tensor& x) { return Shape(x.shape().span().first(static_cast<std::size_t>(x.dim() - 2))); }

/// x, weight and, where there is one, bias.
void check_linear(Operands operands) {
  require_same_dtype(operands);
  const Shape &x = operands.begin()->tensor.shape(), &w = operands.begin()[1].tensor.shape();
  const bool biased = operands.size() == 3;
  if (x.rank() == 0 || w.rank() != 2 || x[-1] != w[1] || (biased && operands.begin()[2].tensor.shape() != Shape{w[0]}))
    throw ShapeError(message("the sizes do not match", operands,
                             x.rank() > 2
                                 ? "x: [..., in]  weight: [out, in]  bias: [out]; is x to be flattened, .flatten(1)?"
                                 : "x: [..., in]  weight: [out, in]  bias: [out]"));
}

}  // namespace

Tensor matmul(const In& a, const In& b) {
  const CallSite site("matmul", a.where);
  Backend& backend = dispatch({{"a", *a}, {"b", *b}});
  require_same_dtype({{"a", *a}, {"b", *b}});
  const bool a_vector = a->dim() == 1, b_vector = b->dim() == 1;
  if (a->dim() == 0 || b->dim() == 0 || a->shape()[-1] != b->shape()[b_vector ? 0 : -2])
    throw ShapeError(
        message("the inner sizes do not match", {{"a", *a}, {"b", *b}},
                "the last dimension of a must equal the last but one of b; is one to be transposed, .mT()?"));
  const Tensor left = a_vector ? unsqueeze(a, 0) : *a, right = b_vector ? unsqueeze(b, 1) : *b;
  const std::int64_t m = left.shape()[-2], n = right.shape()[-1], k = left.shape()[-1];
  Shape lead;
  Tensor x, y;
  if (right.dim() == 2 && left.dim() > 2 && left.is_contiguous()) {  // rows of all batches at once
    lead = lead_of(left);
    x = reshape(left, {1, lead.numel() * m, k});
    y = unsqueeze(right, 0);
  } else {
    const Tensor shape_a(left.storage(), left.dtype(), lead_of(left), lead_of(left));
    const Tensor shape_b(right.storage(), right.dtype(), lead_of(right), lead_of(right));
    try {
      lead = broadcast_shape(shape_a, shape_b);
    } catch (const ShapeError&) {  // of the leading dimensions alone: the user knows the whole operands
      throw ShapeError(message("the leading dimensions cannot be broadcast together", {{"a", *a}, {"b", *b}},
                               "all but the last two must be equal or 1, counted from the last"));
    }
    x = as_batch(left, lead);
    y = as_batch(right, lead);
  }
  Shape shape = lead;
  if (!a_vector) shape.push_back(m);
  if (!b_vector) shape.push_back(n);
  const Tensor out = new_result(shape, a->dtype(), a->device());
  if (out.numel()) backend.run(calls::Matmul{x, y, View(), seen(out, {x.size(0), x.size(1), n})});
  return out;
}

Tensor linear(const In& x, const In& w, const Tensor& bias, Activation activation) {
  const CallSite site("linear", x.where);
  Backend& backend =
      bias.defined() ? dispatch({{"x", *x}, {"weight", *w}, {"bias", bias}}) : dispatch({{"x", *x}, {"weight", *w}});
  if (bias.defined()) check_linear({{"x", *x}, {"weight", *w}, {"bias", bias}});
  else check_linear({{"x", *x}, {"weight", *w}});
  Shape shape = x->shape();
  const std::int64_t in = w->shape()[1], outs = w->shape()[0];
  shape[-1] = outs;
  const Tensor out = new_result(shape, x->dtype(), x->device());
  if (!out.numel()) return out;
  const std::int64_t rows = out.numel() / outs;
  const View wt(w->storage(), w->dtype(), {1, in, outs}, {0, w->strides()[1], w->strides()[0]}, w->storage_offset());
  backend.run(calls::Matmul{
      seen(contiguous(x), {1, rows, in}), wt, bias, seen(out, {1, rows, outs}), {.activation = activation}});
  return out;
}

LinearGradients linear_backward_weight(const In& grad, const In& x) {
  const CallSite site("linear_backward", grad.where);
  Backend& backend = dispatch({{"grad", *grad}, {"x", *x}});
  const std::int64_t outs = grad->shape()[1];
  LinearGradients out{new_result({outs, x->shape()[1]}, grad->dtype(), grad->device()),
                      new_result({outs}, grad->dtype(), grad->device())};
  backend.run(calls::LinearBackwardWeight{*grad, *x, out.weight, out.bias});
  return out;
}

}  // namespace minnow::raw
