// Products that are made of others.
#include <fmt/format.h>
#include <vector>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {

Tensor tensordot(const In& a_, const In& b_, const Dims& dims_a, const Dims& dims_b) {
  const Operation op("tensordot", a_.where, {kLower, kWidest}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  const Shape &in_a = dims_a, &in_b = dims_b;
  if (in_a.rank() != in_b.rank())
    throw ShapeError(message("the lists of dimensions differ in length", op, "each of a needs one of b"));
  std::vector<bool> summed_a(static_cast<std::size_t>(a.dim())), summed_b(static_cast<std::size_t>(b.dim()));
  std::vector<std::int64_t> order_a, order_b;
  std::int64_t inner = 1;
  for (int i = 0; i < in_a.rank(); ++i) {
    const int d = raw::wrap_dim(a, in_a[i]), e = raw::wrap_dim(b, in_b[i]);
    if (a.dim() == 0 || b.dim() == 0)
      throw ShapeError(
          message("an operand has no dimension to sum over", op, "tensordot(a, b, 0) is the outer product"));
    if (summed_a[static_cast<std::size_t>(d)] || summed_b[static_cast<std::size_t>(e)])
      throw ValueError(message("a dimension is summed over twice", op, "list each dimension once"));
    if (a.size(d) != b.size(e))
      throw ShapeError(message(fmt::format("dimension {} of a and {} of b differ in size", d, e), op,
                               "dimensions that are summed over need one size"));
    summed_a[static_cast<std::size_t>(d)] = summed_b[static_cast<std::size_t>(e)] = true;
    order_b.push_back(e);
    inner *= a.size(d);
  }
  Shape shape;
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < a.dim(); ++d)
    if (!summed_a[static_cast<std::size_t>(d)]) order_a.push_back(d), shape.push_back(a.size(d)), rows *= a.size(d);
  for (int i = 0; i < in_a.rank(); ++i) order_a.push_back(raw::wrap_dim(a, in_a[i]));
  for (int d = 0; d < b.dim(); ++d)
    if (!summed_b[static_cast<std::size_t>(d)]) order_b.push_back(d), shape.push_back(b.size(d)), columns *= b.size(d);
  return matmul(a.permute(order_a).reshape({rows, inner}), b.permute(order_b).reshape({inner, columns})).reshape(shape);
}

Tensor tensordot(const In& a_, const In& b_, int dims) {
  const Operation op("tensordot", a_.where, {kLower, kWidest}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  if (dims < 0 || dims > a.dim() || dims > b.dim())
    throw ValueError(message(fmt::format("dims must be from 0 to the number of dimensions, got {}", dims), op,
                             "it is the number of dimensions to sum over"));
  Shape last, first;
  for (int d = 0; d < dims; ++d) last.push_back(a.dim() - dims + d), first.push_back(d);
  return tensordot(a, b, last, first);
}

Tensor kron(const In& a, const In& b) {
  constexpr std::int64_t kLongRow = 64;
  const Operation op("kron", a.where, {{"a", *a}, {"b", *b}});
  const int rank = std::max(a->dim(), b->dim());
  Shape blocks, within, joined;
  for (int d = 0; d < rank; ++d) {
    const int of_a = d - rank + a->dim(), of_b = d - rank + b->dim();
    const std::int64_t n = of_a < 0 ? 1 : a->size(of_a), m = of_b < 0 ? 1 : b->size(of_b);
    blocks.push_back(n), blocks.push_back(1);
    within.push_back(1), within.push_back(m);
    joined.push_back(n * m);
  }
  raw::require_max_rank(a, 2 * rank - a->dim());
  Tensor x = a->reshape(blocks), y = b->reshape(within);
  if (rank > 1 && y.size(-1) < kLongRow) {  // the rows of both as long as those of the result
    Shape wide = Shape::filled(2 * rank, -1);
    wide[2 * rank - 2] = x.size(-2), wide[2 * rank - 1] = y.size(-1);
    x = x.expand(wide).flatten(-2), y = y.expand(wide).flatten(-2);
  }
  return mul(x, y).reshape(joined);
}

Tensor cross(const In& a_, const In& b_, int dim) {
  const Operation op("cross", a_.where, {kKept, kWidest}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  const int of_a = raw::wrap_dim(a, dim), of_b = raw::wrap_dim(b, dim);
  if (a.dim() == 0 || b.dim() == 0 || a.size(of_a) != 3 || b.size(of_b) != 3 || a.dim() - of_a != b.dim() - of_b)
    throw ShapeError(message("dimension dim must have size 3", op, "pass the dimension of the vectors"));
  // The products of the next two components, one place too late.
  const int place = of_a - a.dim();
  const Tensor v = raw::detach(a), w = raw::detach(b);
  const Tensor y = sub(mul(v, roll(w, -1, of_b)), mul(roll(v, -1, of_a), w));
  return op.record(roll(y, -1, place), [a = Saved(a), b = Saved(b), place](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? cross(b(), g, place) : Tensor(), needs[1] ? cross(g, a(), place) : Tensor()};
  });
}

Tensor trace(const In& x_) {
  const Operation op("trace", x_.where, {kWide, kKept}, {{"self", *x_}});
  const Tensor& x = op[0];
  x.require_defined();
  if (x.dim() != 2) throw ShapeError(message("takes a matrix", op, "of batches: x.diagonal(0, -2, -1)"));
  return sum(diagonal(x));
}

}  // namespace minnow
