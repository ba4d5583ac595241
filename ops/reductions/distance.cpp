#include <minnow/ops/reductions/distance.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>
#include <minnow/autograd/checkpoint.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

void require_same_floating_point(const BoundOperands<2>& op) {
  if (!op[0].is_floating_point() || op[0].dtype() != op[1].dtype())
    throw DTypeError(message("needs operands of one floating-point dtype", op, dtype_hint(op)));
}

/// Up to this number of rows the differences are computed, as in PyTorch.
constexpr std::int64_t kFewRows = 25;

Tensor differences(const Tensor& a, const Tensor& b) { return sub(a.unsqueeze(-2), b.unsqueeze(-3)); }

/// The norms of all differences, with the rows of b side by side; on the CPU of as many rows of a at once as stay in
/// the caches, and again in backward.
Tensor norms(const Tensor& a, const Tensor& b, double p) {
  constexpr std::int64_t kElements = 1 << 17;
  const std::int64_t count = a.size(-2), batch = a.numel() / std::max<std::int64_t>(1, count),
                     each = std::max(batch * b.size(-2), b.numel());  // differences with a row of a
  const std::int64_t step =
      a.device().is_cpu() ? std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, each)) : count;
  const Tensor columns = b.mT().contiguous().unsqueeze(-3);
  const auto of_rows = [p](const Tensor& rows, const Tensor& of_b) {
    return norm(sub(rows.unsqueeze(-1), of_b), p, -2);
  };
  if (step >= count) return of_rows(a, columns);
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < count; at += step)
    parts.push_back(checkpoint(of_rows, a.narrow(-2, at, std::min(step, count - at)), columns));
  return cat(parts, -2);
}

/// Distances for p = 1 on the CPU, or with g their gradient for a.
Tensor manhattan(const Tensor& a, const Tensor& b, const Tensor& g) {
  const auto batches = [](const Tensor& t) { return t.reshape({-1, t.size(-2), t.size(-1)}).contiguous(); };
  const NoGradGuard no_grad;
  Shape shape = a.shape();
  if (!g.defined()) shape[-1] = b.size(-2);
  const Tensor rows = batches(a), columns = batches(b.mT()), y = raw::new_result(shape, a.dtype(), a.device());
  const Tensor grads = g.defined() ? batches(g) : g, out = y.view({rows.size(0), y.size(-2), y.size(-1)});
  dispatch({{"a", a}})
      .run(calls::ManhattanDistance{rows, columns, grads.defined() ? View(grads) : calls::kUndefined, out});
  return y;
}

Gradients manhattan_gradients(const Tensor& a, const Tensor& b, const Tensor& g, Needs needs) {
  Gradients out(2);
  if (is_grad_enabled()) {  // of the gradients
    const Tensor parts = mul(g.unsqueeze(-1), sign(differences(a.detach(), b.detach())));
    if (needs[0]) out[0] = sum(parts, -2);
    if (needs[1]) out[1] = neg(sum(parts, -3));
  } else {
    if (needs[0]) out[0] = manhattan(a, b, g);
    if (needs[1]) out[1] = manhattan(b, a, g.mT());
  }
  return out;
}

Tensor euclidean(const Tensor& a, const Tensor& b) {
  const NoGradGuard no_grad;
  if (a.size(-2) <= kFewRows && b.size(-2) <= kFewRows) return norm(differences(a, b), 2, -1);
  if (is_half(a.dtype())) return euclidean(a.to(DType::float32), b.to(DType::float32)).to(a.dtype());
  // |a - b|^2 as one product, [-2 a, |a|^2, 1] [b, 1, |b|^2]^T.
  const auto of_a = sum(square(a), -1, true), of_b = sum(square(b), -1, true);
  const Tensor left = cat({mul(a, -2), of_a, ones_like(of_a)}, -1), right = cat({b, ones_like(of_b), of_b}, -1);
  return sqrt_(clamp_(matmul(left, right.mT()), 0));
}

/// a: [..., P, M]  b: [..., R, M]  ratio: [..., P, R].  Σ over the rows of b: ratio (a - b).
Tensor weighted_differences(const Tensor& a, const Tensor& b, const Tensor& ratio) {
  return sub(mul(a, sum(ratio, -1, true)), matmul(ratio, b));
}

}  // namespace

Tensor normalize(const In& x_, double p, const Dims& dims, double eps) {
  const Operation op("normalize", x_.where, {kKept, kWide}, {{"x", *x_}});
  const Tensor& x = op[0];
  return div(x, clamp_min(norm(x, p, dims, true), eps));
}

Tensor cosine_similarity(const In& a_, const In& b_, int dim, double eps) {
  const Operation op("cosine_similarity", a_.where, {kKept, kWide}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  require_same_floating_point(op);
  const Shape shape = raw::broadcast_shape(a, b);
  // Halves in float32: in their own precision eps would be 0.
  const DType dtype = a.dtype(), wide = is_half(dtype) ? DType::float32 : dtype;
  const Tensor x = a.expand(shape).to(wide), y = b.expand(shape).to(wide);
  // At least eps, with the gradient of the norm itself, as in PyTorch.
  const auto length = [&](const Tensor& t) {
    const Tensor n = norm(t, 2, dim);
    return where(lt(n, eps), add(sub(n, n.detach()), eps), n);
  };
  return div(sum(mul(x, y), dim), mul(length(x), length(y))).to(dtype);
}

Tensor pairwise_distance(const In& a_, const In& b_, const PairwiseDistanceOptions& options) {
  const Operation op("pairwise_distance", a_.where, {kKept, kWide}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  require_same_floating_point(op);
  if (a.dim() == 0 && b.dim() == 0)
    throw ShapeError(message("a and b have no dimension", op, "they are vectors, or arrays of them"));
  return norm(add(sub(a, b), options.eps), options.p, -1, options.keepdim);
}

Tensor cdist(const In& a_, const In& b_, double p) {
  const Operation op("cdist", a_.where, kWide, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  require_same_floating_point(op);
  if (!(p >= 0))
    throw ValueError(message("p must be 0 or more, got " + std::to_string(p), op, "e.g. 1, 2 or kInfinity"));
  if (a.dim() < 2 || b.dim() < 2 || a.shape()[-1] != b.shape()[-1])
    throw ShapeError(message("the sizes do not match", op, "a: [..., P, M]  b: [..., R, M]"));
  if (a.shape()[-1] == 0) return sum(differences(a, b), -1);
  if (p == 1 && a.device().is_cpu() && !is_half(a.dtype()) && a.numel() && b.numel() &&
      std::equal(a.shape().begin(), a.shape().end() - 2, b.shape().begin(), b.shape().end() - 2))
    return op.record(manhattan(a, b, {}), [a = Saved(a), b = Saved(b)](const Tensor& g, Needs needs) {
      return manhattan_gradients(a(), b(), g, needs);
    });
  if (p != 2) return norms(a, b, p);
  Tensor y = euclidean(a, b);
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y), [a = Saved(a), b = Saved(b), y = std::move(output)](const Tensor& g, Needs needs) {
    const Tensor distance = y(), same = eq(distance, 0);
    const Tensor ratio = where(same, 0.0, div(g, where(same, 1.0, distance)));
    Gradients out(2);
    if (needs[0]) out[0] = weighted_differences(a(), b(), ratio);
    if (needs[1]) out[1] = weighted_differences(b(), a(), ratio.mT());
    return out;
  });
}

}  // namespace minnow
