#include <minnow/ops/products/matmul.h>

#include <minnow/autograd/cast_node.h>
#include <minnow/ops/detail/matmul.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/unary.h>
#include <minnow/ops/detail/work_count.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {
namespace {

void require_same_dtype(Operands operands) {
  const DType dtype = operands[0].tensor.dtype();
  for (const Operand& o : operands)
    if (!o.left_out() && o.tensor.dtype() != dtype)
      throw DTypeError(message("operands have different dtypes", operands, dtype_hint(operands)));
}

/// Contiguous elements seen in another shape.
View reshaped(const Tensor& x, const Shape& shape) {
  return View(x.storage(), x.dtype(), shape, contiguous_strides(shape), x.storage_offset());
}

/// x with the leading dimensions broadcast and joined to one: a view if the strides allow it, otherwise a copy.
Tensor as_batch(const Tensor& x, const Shape& batch) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  if (x.dim() == 2) {
    const std::int64_t count = batch.numel();
    return Tensor(x.storage(), x.dtype(), {count, m, n}, {0, x.strides()[-2], x.strides()[-1]}, x.storage_offset());
  }
  Shape full = batch;
  full.push_back(m);
  full.push_back(n);
  const Tensor expanded = expand(x, full);
  if (batch.rank() == 1) return expanded;
  return reshape(expanded, {batch.numel(), m, n});
}

Shape batch_shape(const Tensor& x) { return Shape(x.shape().span().first(static_cast<std::size_t>(x.dim() - 2))); }

/// operands: x, weight and bias.
void check_linear(Operands operands) {
  require_same_dtype(operands);
  const Shape &x = operands[0].tensor.shape(), &w = operands[1].tensor.shape();
  const Tensor& bias = operands[2].tensor;
  if (x.rank() == 0 || w.rank() != 2 || x[-1] != w[1] || (bias.defined() && bias.shape() != Shape{w[0]}))
    throw ShapeError(message("the sizes do not match", operands,
                             x.rank() > 2
                                 ? "x: [..., in]  weight: [out, in]  bias: [out]; is x to be flattened, .flatten(1)?"
                                 : "x: [..., in]  weight: [out, in]  bias: [out]"));
}

Tensor matmul_of(const BoundOperands<2>& op, std::optional<DType> out_dtype = {}, double alpha = 1) {
  const Tensor &a = op[0], &b = op[1];
  require_same_dtype(op);
  const bool a_vector = a.dim() == 1, b_vector = b.dim() == 1;
  if (a.dim() == 0 || b.dim() == 0 || a.shape()[-1] != b.shape()[b_vector ? 0 : -2])
    throw ShapeError(
        message("the inner sizes do not match", op,
                "the last dimension of a must equal the last but one of b; is one to be transposed, .mT()?"));
  const Tensor left = a_vector ? unsqueeze(a, 0) : a, right = b_vector ? unsqueeze(b, 1) : b;
  const std::int64_t m = left.shape()[-2], n = right.shape()[-1], k = left.shape()[-1];
  Shape batch;
  Tensor x, y;
  if (right.dim() == 2 && left.dim() > 2 && left.is_contiguous()) {  // the rows of all batches as one matrix
    batch = batch_shape(left);
    x = reshape(left, {1, batch.numel() * m, k});
    y = unsqueeze(right, 0);
  } else {
    const Tensor shape_a(left.storage(), left.dtype(), batch_shape(left), batch_shape(left));
    const Tensor shape_b(right.storage(), right.dtype(), batch_shape(right), batch_shape(right));
    try {
      batch = broadcast_shape(shape_a, shape_b);
    } catch (const ShapeError&) {  // it shows the leading dimensions only
      throw ShapeError(message("the leading dimensions cannot be broadcast together", op,
                               "all but the last two must be equal or 1, counted from the last"));
    }
    x = as_batch(left, batch);
    y = as_batch(right, batch);
  }
  Shape shape = batch;
  if (!a_vector) shape.push_back(m);
  if (!b_vector) shape.push_back(n);
  const Tensor out = op.result(shape, out_dtype.value_or(a.dtype()));
  WorkCount::add(out.numel() * x.size(2));
  if (out.numel()) op.run(calls::Matmul{x, y, View(), reshaped(out, {x.size(0), x.size(1), n}), {.alpha = alpha}});
  return out;
}

Tensor linear_of(const BoundOperands<3>& op, Activation activation) {
  const Tensor &x = op[0], &w = op[1], &bias = op[2];
  check_linear(op);
  Shape shape = x.shape();
  const std::int64_t in = w.shape()[1], out_features = w.shape()[0];
  shape[-1] = out_features;
  const Tensor out = op.result(shape, x.dtype());
  if (!out.numel()) return out;
  const std::int64_t rows = out.numel() / out_features;
  WorkCount::add(out.numel() * in);
  const View wt(w.storage(), w.dtype(), {1, in, out_features}, {0, w.strides()[1], w.strides()[0]}, w.storage_offset());
  op.run(calls::Matmul{reshaped(contiguous(x), {1, rows, in}),
                       wt,
                       bias,
                       reshaped(out, {1, rows, out_features}),
                       {.activation = activation}});
  return out;
}

}  // namespace

Tensor matmul(const In& a, const In& b, std::optional<DType> out_dtype, double alpha) {
  return matmul_of(Operation("matmul", a.where, {{"a", *a}, {"b", *b}}), out_dtype, alpha);
}

void matmul_add_(const Tensor& out, const Tensor& a, const Tensor& b) {
  const Operand operands[] = {{"out", out}, {"a", a}, {"b", b}};
  Backend& backend = dispatch(operands);
  require_same_dtype(operands);
  WorkCount::add(out.numel() * a.size(-1));
  if (a.dim() == 3) return backend.run(calls::Matmul{a, b, View(), out, {.beta = 1}});
  if (b.dim() == 3) {
    const std::int64_t count = b.size(0), width = b.size(2);
    const View each(a.storage(), a.dtype(), {count, a.size(0), a.size(1)}, {0, a.strides()[0], a.strides()[1]},
                    a.storage_offset()),
        parts(out.storage(), out.dtype(), {count, out.size(0), width}, {width, out.size(1), 1}, out.storage_offset());
    return backend.run(calls::Matmul{each, b, View(), parts, {.beta = 1}});
  }
  backend.run(calls::Matmul{
      unsqueeze(a, 0), unsqueeze(b, 0), View(), reshaped(out, {1, out.size(0), out.size(1)}), {.beta = 1}});
}

LinearGradients linear_backward_weight(const In& grad, const In& x, DType weight, bool transposed) {
  const Operation op("linear_backward", grad.where, {{"grad", *grad}, {"x", *x}});
  const std::int64_t out_features = grad->shape()[1], in = x->shape()[1];
  LinearGradients out{
      new_result({out_features, in}, transposed ? Strides{1, out_features} : Strides{in, 1}, weight, grad->device()),
      new_result({out_features}, grad->dtype(), grad->device())};
  op.run(calls::LinearBackwardWeight{*grad, *x, out.weight, out.bias});
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {
namespace {

/// Vectors are seen as matrices, so that the gradients are products of matrices.
Gradients matmul_gradients(const Tensor& grad, const Tensor& a, const Tensor& b, Needs needs) {
  const bool row = a.dim() == 1, column = b.dim() == 1;
  if (row && column) return {needs[0] ? mul(b, grad) : Tensor(), needs[1] ? mul(a, grad) : Tensor()};
  const Tensor x = row ? a.unsqueeze(0) : a, w = column ? b.unsqueeze(1) : b;
  Tensor g = column ? grad.unsqueeze(-1) : grad;
  if (row) g = g.unsqueeze(-2);
  // Less work than the general product, but for bfloat16, of which the processor may have products.
  const auto outer_product = [](const Tensor& l, const Tensor& r) {
    return l.dtype() == DType::bfloat16 ? matmul(l, r) : mul(l, r);
  };
  Gradients out(2);
  if (needs[0]) {
    out[0] = column ? outer_product(g, w.mT()) : matmul(g, w.mT());
    if (row) out[0] = out[0].squeeze(-2);
  }
  if (needs[1]) {
    // If b is one matrix, the batches of a are rows of one product, which sums over them.
    const bool one_product = w.dim() == 2 && x.dim() > 2;
    out[1] = one_product ? matmul(x.flatten(0, -2).mT(), g.flatten(0, -2))
             : row       ? outer_product(x.mT(), g)
                         : matmul(x.mT(), g);
    if (column) out[1] = out[1].squeeze(-1);
  }
  return out;
}

/// The dtypes in which the gradients of x and w are wanted.
struct GradientDTypes {
  DType x, w;
  GradientDTypes(const Tensor& x_, const Tensor& w_) : x(x_.dtype()), w(w_.dtype()) {
    if (!backend_of(w_.device()).computes_on_host()) return;
    x = autograd::gradient_dtype(x_);
    w = autograd::gradient_dtype(w_);
  }
};

Gradients linear_gradients(const Tensor& g, const Tensor& x, const Tensor& w, GradientDTypes dtypes, Needs needs) {
  const auto product = [](const Tensor& a, const Tensor& b, DType dtype) {
    return is_grad_enabled() ? matmul(a, b) : raw::matmul(a, b, dtype);
  };
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < g.dim(); ++d) rows *= g.shape()[d];
  const Tensor g_rows = g.dim() == 2 ? g : g.reshape({rows, g.size(-1)});
  const auto inputs = [&] { return x.reshape({g_rows.size(0), w.size(1)}); };
  Gradients out(3);
  if (needs[0]) out[0] = product(g, w, dtypes.x);
  // The gradient of a transposed weight is transposed too, so that it is in the weight's order in memory.
  const bool transposed = !w.is_contiguous() && w.strides()[0] == 1;
  const bool apart = transposed && backend_of(w.device()).computes_on_host();  // the weight and the bias
  if (needs[1] && needs[2] && !apart && !is_grad_enabled() && g.numel() != 0 && x.numel() != 0) {
    auto gradients = raw::linear_backward_weight(g_rows, inputs(), dtypes.w, transposed);
    out[1] = gradients.weight;
    out[2] = gradients.bias;
    return out;
  }
  if (needs[1])
    out[1] = transposed ? product(inputs().t(), g_rows, dtypes.w).t() : product(g_rows.t(), inputs(), dtypes.w);
  if (needs[2]) out[2] = sum(g_rows, {0});
  return out;
}

Tensor matmul_of_rank(const BoundOperands<2>& op, int rank_a, int rank_b) {
  const Tensor &a = op[0], &b = op[1];
  if (a.dim() != rank_a || b.dim() != rank_b || (rank_a == 3 && a.shape()[0] != b.shape()[0]))
    throw ShapeError(message("a must have " + std::to_string(rank_a) + " and b " + std::to_string(rank_b) +
                                 (rank_b == 1 ? " dimension" : " dimensions") +
                                 (rank_a == 3 ? ", and their batches one size" : ""),
                             op, "matmul takes any number of dimensions and broadcasts"));
  return matmul(a, b);
}

}  // namespace

Tensor mm(const In& a, const In& b) {
  return matmul_of_rank(Operation("mm", a.where, kLower, {{"a", *a}, {"b", *b}}), 2, 2);
}
Tensor bmm(const In& a, const In& b) {
  return matmul_of_rank(Operation("bmm", a.where, kLower, {{"a", *a}, {"b", *b}}), 3, 3);
}
Tensor mv(const In& a, const In& b) {
  return matmul_of_rank(Operation("mv", a.where, {kKept, kLower}, {{"a", *a}, {"b", *b}}), 2, 1);
}
Tensor dot(const In& a, const In& b) {
  return matmul_of_rank(Operation("dot", a.where, {kKept, kWidest}, {{"a", *a}, {"b", *b}}), 1, 1);
}

namespace {

bool is(Scalar value, double number) { return value.as_double() == number; }

/// In one call, which rounds once.
Tensor added_product_of_halves(const BoundOperands<3>& op, const Shape& shape, Scalar beta, Scalar alpha) {
  const Tensor &input = op[0], &a = op[1], &b = op[2];
  const bool batched = a.dim() == 3;
  const Tensor y = op.result(shape, a.dtype());
  if (!is(beta, 0)) raw::copy_to(input.detach(), y);
  const auto as_batch = [batched](const Tensor& t) { return batched ? t.detach() : raw::unsqueeze(t, 0); };
  WorkCount::add(y.numel() * a.size(-1));
  op.run(calls::Matmul{
      as_batch(a), as_batch(b), View(), as_batch(y), {.alpha = alpha.as_double(), .beta = beta.as_double()}});
  if (is_heard()) [[unlikely]]
    tell("addmm", {y}, op, {{"alpha", alpha.as_double()}, {"beta", beta.as_double()}});
  return op.record(y, [a = Saved(a), b = Saved(b), beta, alpha](const Tensor& g, Needs needs) {
    const auto product = [&](const Tensor& l, const Tensor& r) {
      if (is(alpha, 1)) return matmul(l, r);
      const Tensor unread = zeros({}, {.dtype = g.dtype(), .device = g.device()});
      return g.dim() == 3 ? baddbmm(unread, l, r, 0, alpha) : addmm(unread, l, r, 0, alpha);
    };
    Gradients out(3);
    if (needs[0]) out[0] = is(beta, 0) ? zeros_like(g) : is(beta, 1) ? g : mul(g, beta);
    if (needs[1]) out[1] = product(g, b().mT());
    if (needs[2]) out[2] = product(a().mT(), g);
    return out;
  });
}

Tensor added_product(const BoundOperands<3>& op, int rank, Scalar beta, Scalar alpha) {
  const Tensor &input = op[0], &a = op[1], &b = op[2];
  if (a.dim() != rank || b.dim() != rank || a.shape()[-1] != b.shape()[-2] ||
      (rank == 3 && a.shape()[0] != b.shape()[0]))
    throw ShapeError(message("the sizes of a and b do not match", op,
                             rank == 2 ? "a: [M, K]  b: [K, N]" : "a: [B, M, K]  b: [B, K, N]"));
  raw::require_same_dtype(op);
  if (!a.is_floating_point() && (is_floating_point(beta.dtype()) || is_floating_point(alpha.dtype())))
    throw DTypeError(message("beta and alpha must be integers for integer operands", op,
                             "pass integers, or convert the operands: .to(float32)"));
  Shape shape = a.shape();
  shape[-1] = b.shape()[-1];
  bool valid = input.dim() <= rank;
  for (int d = 1; valid && d <= input.dim(); ++d) valid = input.shape()[-d] == 1 || input.shape()[-d] == shape[-d];
  if (!valid)
    throw ShapeError(message("input does not broadcast to the product, " + shape.str(), op,
                             "its sizes must be those of the product or 1, counted from the last"));
  if (rank == 2 && input.dim() == 1 && input.shape()[0] == shape[1] && is(beta, 1) && is(alpha, 1))
    return linear(a, b.t(), input);  // in one call
  if (is_half(a.dtype()) && shape.numel() != 0) return added_product_of_halves(op, shape, beta, alpha);
  Tensor product = matmul(a, b);
  if (is(beta, 0)) {
    const Tensor y = is(alpha, 1) ? product : mul(product, alpha).to(a.dtype());
    if (!op.records() || !needs_grad(input)) return y;
    const auto zeros_of_input = [shape = input.shape(), options = TensorOptions{input.dtype(), input.device()}](
                                    const Tensor& g, Needs) -> Gradients {
      return {g, zeros(shape, options)};
    };
    return op.record(raw::detach(y), {y, input}, zeros_of_input);
  }
  const Tensor scaled = is(beta, 1) ? input : mul(input, beta).to(a.dtype());
  return is(alpha, 1) ? add(scaled, product) : add(scaled, product, alpha);
}

}  // namespace

Tensor addmm(const In& input, const In& a, const In& b, Scalar beta, Scalar alpha) {
  return added_product(Operation("addmm", input.where, kLower, {{"input", *input}, {"a", *a}, {"b", *b}}), 2, beta,
                       alpha);
}

Tensor baddbmm(const In& input, const In& a, const In& b, Scalar beta, Scalar alpha) {
  return added_product(Operation("baddbmm", input.where, kLower, {{"input", *input}, {"a", *a}, {"b", *b}}), 3, beta,
                       alpha);
}

Tensor outer(const In& a, const In& b) {
  const Operation op("outer", a.where, {{"a", *a}, {"b", *b}});
  if (a->dim() != 1 || b->dim() != 1) throw ShapeError(message("takes two vectors", op, "flatten them: .flatten()"));
  return a->unsqueeze(1) * *b;
}

Tensor matmul(const In& a_, const In& b_) {
  const Operation op("matmul", a_.where, kLower, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  Tensor y = raw::matmul_of(op);
  if (is_heard()) [[unlikely]]
    tell("matmul", {y}, op);
  if (!op.records()) return y;
  return op.record(std::move(y), [a = Saved(a), b = Saved(b)](const Tensor& g, Needs needs) {
    return matmul_gradients(g, a(), b(), needs);
  });
}

Tensor linear(const In& x_, const In& w_, const Tensor& b_, Activation activation) {
  const Operation op("linear", x_.where, kLower, {{"x", *x_}, {"weight", *w_}, {"bias", b_, kOptional}});
  const Tensor &x = op[0], &w = op[1], &b = op[2];
  if (!b.defined() && w.dim() == 1 && x.dim() > 0 && x.dtype() == w.dtype() && x.size(-1) == w.size(0))
    return linear(x, w.unsqueeze(0), b, activation).squeeze(-1);
  // The gradient of gelu_tanh needs its input; for integers the product has to be converted first.
  if (activation == Activation::gelu_tanh && (op.records() || !is_floating_point(x.dtype())))
    return gelu_tanh(linear(x, w, b));
  Tensor y = raw::linear_of(op, activation);
  if (is_heard()) [[unlikely]]
    tell("linear", {y}, op, {{"activation", static_cast<std::int64_t>(activation)}});
  if (!op.records()) return y;
  const Saved activated = activation == Activation::relu ? Saved::output(y) : Saved();
  return op.record(std::move(y), [x = Saved(x), w = Saved(w), activated, dtypes = GradientDTypes(x, w)](
                                     const Tensor& grad, Needs needs) {
    return linear_gradients(activated.defined() ? relu_gradient(grad, activated()) : grad, x(), w(), dtypes, needs);
  });
}

}  // namespace minnow
