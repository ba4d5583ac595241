#include <minnow/autograd/ops/matmul.h>

#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/matmul.h>

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
  if (activation == Activation::gelu_tanh && (records(*x, *w) || records(b) || !is_floating_point(x->dtype())))
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
