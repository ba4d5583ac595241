#include <minnow/autograd/ops/matmul.h>

#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/autograd/record.h>
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
    out[0] = matmul(g, w.t());
    if (row) out[0] = out[0].squeeze(-2);
  }
  if (needs[1]) {
    // With a plain matrix b all batches of a are rows of one product, which sums over them at once.
    const bool rows = w.dim() == 2 && x.dim() > 2;
    out[1] = rows ? matmul(x.flatten(0, -2).t(), g.flatten(0, -2)) : matmul(x.t(), g);
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

}  // namespace

Tensor matmul(const In& a, const In& b) {
  Tensor y = raw::matmul(a, b);
  if (!records(*a, *b)) return y;
  return record("matmul", std::move(y), {a, b}, [a = Saved(*a), b = Saved(*b)](const Tensor& g, Needs needs) {
    return matmul_gradients(g, a(), b(), needs);
  });
}

Tensor linear(const In& x, const In& w, const Tensor& b, Activation activation) {
  if (activation == Activation::gelu_tanh && (records(*x, *w) || (records(b))))
    return gelu_tanh({linear(x, w, b), x.where});  // its gradient needs what it was applied to
  Tensor y = raw::linear(x, w, b, activation);
  if (!records(*x, *w) && !records(b)) return y;
  const Saved bent = activation == Activation::relu ? Saved::output(y) : Saved();
  return record("linear", std::move(y), {x, w, {b, x.where}},
                [x = Saved(*x), w = Saved(*w), bent](const Tensor& grad, Needs needs) {
                  return linear_gradients(bent.defined() ? relu_gradient(grad, bent()) : grad, x(), w(), needs);
                });
}

}  // namespace minnow
