#include <minnow/ops/matmul.h>

#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/matmul.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {
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

}  // namespace minnow::detail::raw

namespace minnow {
namespace {

/// A vector as the matrix that it stands for, so that gradients are products of matrices only.
Gradients matmul_gradients(const Tensor& grad, const Tensor& a, const Tensor& b, Needs needs) {
  const bool row = a.dim() == 1, column = b.dim() == 1;
  const Tensor x = row ? a.unsqueeze(0) : a, w = column ? b.unsqueeze(1) : b;
  Tensor g = column ? grad.unsqueeze(-1) : grad;
  if (row) g = g.unsqueeze(-2);
  Gradients out(2);
  if (needs[0]) {
    out[0] = matmul(g, w.mT());
    if (row) out[0] = out[0].squeeze(-2);
  }
  if (needs[1]) {
    // With a plain matrix b all batches of a are rows of one product, which sums over them at once.
    const bool rows = w.dim() == 2 && x.dim() > 2;
    out[1] = rows ? matmul(x.flatten(0, -2).mT(), g.flatten(0, -2)) : matmul(x.mT(), g);
    if (column) out[1] = out[1].squeeze(-1);
  }
  return out;
}

Gradients linear_gradients(const Tensor& g, const Tensor& x, const Tensor& w, Needs needs) {
  const Tensor rows = g.dim() == 2 ? g : g.reshape({-1, g.size(-1)});
  const auto inputs = [&] { return x.reshape({rows.size(0), w.size(1)}); };
  Gradients out(3);
  if (needs[0]) out[0] = matmul(g, w);
  if (needs[1] && needs[2] && !is_grad_enabled() && g.numel() != 0 && x.numel() != 0) {
    auto both = raw::linear_backward_weight(rows, inputs());
    out[1] = both.weight;
    out[2] = both.bias;
    return out;
  }
  if (needs[1]) out[1] = matmul(rows.t(), inputs());
  if (needs[2]) out[2] = sum(rows, {0});
  return out;
}

/// The gradient before a relu whose result was y.
Tensor relu_gradient(const Tensor& grad, const Tensor& y) {
  constexpr int op = raw::kUnary<kernels::Relu>;
  if (!is_grad_enabled()) return raw::unary_slope(op, grad, y, 0, 0);
  return mul(grad, raw::unary_slope(op, ones_like(y), y, 0, 0));  // the slope is constant
}

Tensor ranked(const char* op, const In& a, int rank_a, const In& b, int rank_b) {
  const CallSite site(op, a.where);
  a->require_defined(op, a.where);
  b->require_defined(op, b.where);
  if (a->dim() != rank_a || b->dim() != rank_b || (rank_a == 3 && a->shape()[0] != b->shape()[0]))
    throw ShapeError(message("takes a of " + std::to_string(rank_a) + " and b of " + std::to_string(rank_b) +
                                 " dimensions" + (rank_a == 3 ? ", and batches of one size" : ""),
                             {{"a", *a}, {"b", *b}}, "matmul takes any, and broadcasts"));
  return matmul(a, b);
}

}  // namespace

Tensor mm(const In& a, const In& b) { return ranked("mm", a, 2, b, 2); }
Tensor bmm(const In& a, const In& b) { return ranked("bmm", a, 3, b, 3); }
Tensor mv(const In& a, const In& b) { return ranked("mv", a, 2, b, 1); }
Tensor dot(const In& a, const In& b) { return ranked("dot", a, 1, b, 1); }

Tensor outer(const In& a, const In& b) {
  const CallSite site("outer", a.where);
  a->require_defined("outer", a.where);
  b->require_defined("outer", b.where);
  if (a->dim() != 1 || b->dim() != 1)
    throw ShapeError(message("takes two vectors", {{"a", *a}, {"b", *b}}, "flatten them: .flatten()"));
  return a->unsqueeze(1) * *b;
}

Tensor matmul(const In& a, const In& b) {
  const CallSite site("matmul", a.where);
  Tensor y = raw::matmul(a, b);
  if (!records(*a, *b)) return y;
  return record("matmul", std::move(y), {a, b}, [a = Saved(*a), b = Saved(*b)](const Tensor& g, Needs needs) {
    return matmul_gradients(g, a(), b(), needs);
  });
}

Tensor linear(const In& x, const In& w, const Tensor& b, Activation activation) {
  const CallSite site("linear", x.where);
  // Its gradient needs what it was applied to; of integers the product has to be converted first.
  if (activation == Activation::gelu_tanh && (records(*x, *w) || records(b) || !is_floating(x->dtype())))
    return gelu_tanh(linear(x, w, b));
  Tensor y = raw::linear(x, w, b, activation);
  if (!records(*x, *w) && !records(b)) return y;
  const Saved bent = activation == Activation::relu ? Saved::output(y) : Saved();
  return record("linear", std::move(y), {x, w, b},
                [x = Saved(*x), w = Saved(*w), bent](const Tensor& grad, Needs needs) {
                  return linear_gradients(bent.defined() ? relu_gradient(grad, bent()) : grad, x(), w(), needs);
                });
}

}  // namespace minnow
