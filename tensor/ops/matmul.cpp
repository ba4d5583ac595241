#include <minnow/tensor/ops/matmul.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/view.h>

namespace minnow::raw {
namespace {

void require_same_dtype(const char* op, Operands operands, SourceLocation where) {
  const DType dtype = operands.begin()->tensor.dtype();
  for (const Operand& o : operands)
    if (o.tensor.dtype() != dtype)
      throw DTypeError(message(op, "operands have different dtypes", operands, dtype_hint(operands)), where);
}

/// Contiguous elements in another shape.
View seen(const Tensor& x, const Shape& shape) {
  return View(x.storage(), x.dtype(), shape, contiguous_strides(shape), x.storage_offset());
}

/// The leading dimensions as one, by stride where that works, else by a copy.
Tensor as_batch(const Tensor& x, const Shape& lead, SourceLocation where) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  if (x.dim() == 2) {
    const std::int64_t batch = lead.numel();
    return Tensor(x.storage(), x.dtype(), {batch, m, n}, {0, x.strides()[-2], x.strides()[-1]}, x.storage_offset());
  }
  Shape full = lead;
  full.push_back(m);
  full.push_back(n);
  const Tensor wide = expand({x, where}, full);
  if (lead.rank() == 1) return wide;
  return reshape({wide, where}, {lead.numel(), m, n});
}

Shape lead_of(const Tensor& x) { return Shape(x.shape().span().first(static_cast<std::size_t>(x.dim() - 2))); }

/// x, weight and, where there is one, bias.
void check_linear(Operands operands, SourceLocation where) {
  require_same_dtype("linear", operands, where);
  const Shape &x = operands.begin()->tensor.shape(), &w = operands.begin()[1].tensor.shape();
  const bool biased = operands.size() == 3;
  if (x.rank() == 0 || w.rank() != 2 || x[-1] != w[1] || (biased && operands.begin()[2].tensor.shape() != Shape{w[0]}))
    throw ShapeError(
        message("linear", "the sizes do not match", operands,
                x.rank() > 2 ? "x: [..., in]  weight: [out, in]  bias: [out]; is x to be flattened, .flatten(1)?"
                             : "x: [..., in]  weight: [out, in]  bias: [out]"),
        where);
}

}  // namespace

Tensor matmul(const In& a, const In& b) {
  Backend& backend = dispatch("matmul", {{"a", *a}, {"b", *b}}, a.where);
  require_same_dtype("matmul", {{"a", *a}, {"b", *b}}, a.where);
  const bool a_vector = a->dim() == 1, b_vector = b->dim() == 1;
  if (a->dim() == 0 || b->dim() == 0 || a->shape()[-1] != b->shape()[b_vector ? 0 : -2])
    throw ShapeError(
        message("matmul", "the inner sizes do not match", {{"a", *a}, {"b", *b}},
                "the last dimension of a must equal the last but one of b; is one to be transposed, .mT()?"),
        a.where);
  const Tensor left = a_vector ? unsqueeze(a, 0) : *a, right = b_vector ? unsqueeze(b, 1) : *b;
  const std::int64_t m = left.shape()[-2], n = right.shape()[-1], k = left.shape()[-1];
  Shape lead;
  Tensor x, y;
  if (right.dim() == 2 && left.dim() > 2 && left.is_contiguous()) {  // rows of all batches at once
    lead = lead_of(left);
    x = reshape({left, a.where}, {1, lead.numel() * m, k});
    y = unsqueeze({right, b.where}, 0);
  } else {
    const Tensor shape_a(left.storage(), left.dtype(), lead_of(left), lead_of(left));
    const Tensor shape_b(right.storage(), right.dtype(), lead_of(right), lead_of(right));
    try {
      lead = broadcast_shape("matmul", {shape_a, a.where}, {shape_b, b.where});
    } catch (const ShapeError&) {  // of the leading dimensions alone: the user knows the whole operands
      throw ShapeError(message("matmul", "the leading dimensions cannot be broadcast together", {{"a", *a}, {"b", *b}},
                               "all but the last two must be equal or 1, counted from the last"),
                       a.where);
    }
    x = as_batch(left, lead, a.where);
    y = as_batch(right, lead, b.where);
  }
  Shape shape = lead;
  if (!a_vector) shape.push_back(m);
  if (!b_vector) shape.push_back(n);
  const Tensor out = new_result(shape, a->dtype(), a->device(), a.where);
  if (out.numel()) backend.run(calls::Matmul{x, y, View(), seen(out, {x.size(0), x.size(1), n})});
  return out;
}

Tensor linear(const In& x, const In& w, const Tensor& bias, Activation activation) {
  Backend& backend = bias.defined() ? dispatch("linear", {{"x", *x}, {"weight", *w}, {"bias", bias}}, x.where)
                                    : dispatch("linear", {{"x", *x}, {"weight", *w}}, x.where);
  if (bias.defined()) check_linear({{"x", *x}, {"weight", *w}, {"bias", bias}}, x.where);
  else check_linear({{"x", *x}, {"weight", *w}}, x.where);
  Shape shape = x->shape();
  const std::int64_t in = w->shape()[1], outs = w->shape()[0];
  shape[-1] = outs;
  const Tensor out = new_result(shape, x->dtype(), x->device(), x.where);
  if (!out.numel()) return out;
  const std::int64_t rows = out.numel() / outs;
  const View wt(w->storage(), w->dtype(), {1, in, outs}, {0, w->strides()[1], w->strides()[0]}, w->storage_offset());
  backend.run(calls::Matmul{
      seen(contiguous(x), {1, rows, in}), wt, bias, seen(out, {1, rows, outs}), {.activation = activation}});
  return out;
}

LinearGradients linear_backward_weight(const In& grad, const In& x) {
  Backend& backend = dispatch("linear_backward", {{"grad", *grad}, {"x", *x}}, grad.where);
  const std::int64_t outs = grad->shape()[1];
  LinearGradients out{new_result({outs, x->shape()[1]}, grad->dtype(), grad->device(), grad.where),
                      new_result({outs}, grad->dtype(), grad->device(), grad.where)};
  backend.run(calls::LinearBackwardWeight{*grad, *x, out.weight, out.bias});
  return out;
}

}  // namespace minnow::raw
