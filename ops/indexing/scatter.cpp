#include <minnow/ops/indexing/scatter.h>

#include <limits>
#include <utility>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {

namespace detail {

Tensor cropped(const Tensor& source, const Tensor& index) {
  if (!source.defined() || !index.defined() || source.dim() != index.dim()) return source;
  Tensor part = source;
  for (int d = 0; d < part.dim(); ++d) {
    if (part.size(d) < index.size(d)) return source;  // the error shows it whole
    if (part.size(d) > index.size(d)) part = part.narrow(d, 0, index.size(d));
  }
  return part;
}

}  // namespace detail

namespace {

/// 0, 1, ... along dim, in a shape that broadcasts to `shape`.
Tensor places(const Shape& shape, int dim, Device device) {
  Shape along = Shape::filled(shape.rank(), 1);
  if (shape.rank() > 0) along[dim] = shape[dim];
  return arange(along.numel(), {DType::int64, device}).reshape(along);
}

/// Whether a source is the last one that is written to its element of a tensor of `shape`.
Tensor is_last(const Shape& shape, int dim, const Tensor& index) {
  const Tensor place = places(index.shape(), dim, index.device()).expand(index.shape());
  const Tensor written =
      raw::scatter_add(zeros(shape, {DType::int64, index.device()}), dim, index, place, ScatterOp::assign);
  return eq(raw::gather(written, dim, index), place);
}

Tensor written(const In& x, int dim, const Tensor& index, const Tensor& source) {
  Tensor y = raw::scatter_add(x, dim, index, source, ScatterOp::assign);
  if (!records(*x, source)) return y;
  return record("scatter", std::move(y), {x, source}, [dim, index = Saved(index)](const Tensor& g, Needs needs) {
    Gradients out(2);
    if (needs[0]) out[0] = scatter(g, dim, index(), 0);
    if (needs[1]) out[1] = where(is_last(g.shape(), dim, index()), gather(g, dim, index()), 0.0);
    return out;
  });
}

/// For each source the product of the others of its element.
Tensor product_of_others(const Tensor& source, int dim, const Tensor& index) {
  if (source.dim() == 0) return ones_like(source);
  if (source.numel() == 0) return source;
  const Ordered order = sort(index, dim);  // the sources of an element are adjacent
  const std::int64_t n = index.size(dim);
  const Tensor other = ne(order.values.narrow(dim, 1, n - 1), order.values.narrow(dim, 0, n - 1));
  const Tensor edge = ones(order.values.narrow(dim, 0, 1).shape(), {DType::bool_, index.device()});
  const Tensor begins = cat({edge, other}, dim), ends = cat({other, edge}, dim),
               value = gather(source, dim, order.indices);
  // Products of 1, 2, 4, ... neighbours.  What is before the element's first source is left out, not multiplied by 0:
  // it may be infinite.
  const auto side = [&](Tensor first, bool ahead) {
    const auto moved = [&](const Tensor& t, std::int64_t by) {
      const Tensor end = ones_like(t.detach().narrow(dim, 0, by)), rest = t.narrow(dim, ahead ? by : 0, n - by);
      return ahead ? cat({rest, end}, dim) : cat({end, rest}, dim);
    };
    Tensor product = where(first, 1.0, moved(value, 1));
    for (std::int64_t by = 1; by < n; by *= 2) {
      if (first.device().is_cpu() && all(first).item<bool>()) break;  // no element has more sources
      product = mul(product, where(first, 1.0, moved(product, by)));
      first = logical_or(first, moved(first, by));
    }
    return product;
  };
  return scatter_add(zeros_like(source.detach()), dim, order.indices, mul(side(begins, false), side(ends, true)));
}

Tensor products(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  Tensor y = raw::scatter_add(x, dim, index, source, ScatterOp::multiply);
  if (!records(x, source)) return y;
  return record("scatter_reduce", std::move(y), {x, source},
                [x = Saved(x), source = Saved(source), index = Saved(index), dim](const Tensor& g, Needs needs) {
                  Gradients out(2);
                  const Tensor own = x(), from = source(), to = index();
                  if (needs[0]) out[0] = mul(g, products(ones_like(own.detach()), dim, to, from));
                  if (needs[1]) out[1] = mul(gather(mul(g, own), dim, to), product_of_others(from, dim, to));
                  return out;
                });
}

}  // namespace

Tensor detail::scatter_extremes(const Tensor& x, int dim, const Tensor& index, const Tensor& source, ScatterOp op,
                                bool include_self) {
  Tensor y = raw::scatter_add(x, dim, index, source, op);
  if (!records(x, source)) return y;
  Saved output = Saved::output(y);
  return record("scatter_reduce", std::move(y), {x, source},
                [x = Saved(x), source = Saved(source), index = Saved(index), y = std::move(output), dim, include_self](
                    const Tensor& g, Needs needs) {
                  Gradients out(2);
                  const Tensor to = index();
                  Tensor own, from, count;  // 1 where an element equals the result, and how many do
                  {
                    const NoGradGuard constant;
                    const auto equal = [&g](const Tensor& a, const Tensor& b) {
                      return logical_or(eq(a, b), isnan(a)).to(g.dtype());
                    };
                    own = equal(x(), y());
                    if (!include_self) own = scatter(own, dim, to, 0);
                    from = equal(source(), raw::gather(y(), dim, to));
                    count = raw::scatter_add(own, dim, to, from);
                  }
                  const Tensor share = div(g, count);
                  if (needs[0]) out[0] = mul(share, own);
                  if (needs[1]) out[1] = mul(gather(share, dim, to), from);
                  return out;
                });
}

namespace {

/// What leaves a source as it is.
Scalar neutral(Scatter reduce, DType dtype) {
  if (reduce == Scatter::sum || reduce == Scatter::mean) return 0;
  if (reduce == Scatter::prod) return 1;
  const bool largest = reduce == Scatter::amax;
  if (is_floating_point(dtype))
    return largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  return dtype_switch(dtype, [&]<class T>() -> Scalar {
    if constexpr (std::is_integral_v<T>)
      return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    else return 0;
  });
}

Tensor means(const Tensor& x, int dim, const Tensor& index, const Tensor& source, bool include_self) {
  if (is_half(x.dtype()))  // rounds once
    return means(x.to(DType::float32), dim, index, source.to(DType::float32), include_self).to(x.dtype());
  const TensorOptions options{DType::int64, x.device()};
  const Tensor one = ones({}, options),
               counted = include_self ? ones(x.shape(), options) : scatter(ones(x.shape(), options), dim, index, 0);
  const Tensor count = clamp_min(scatter_add(counted, dim, index, one.expand(index.shape())), 1);
  const Tensor total = scatter_add(x, dim, index, source);
  if (x.is_floating_point()) return div(total, count.to(x.dtype()));
  return floor_divide(total, count).to(x.dtype());
}

}  // namespace

namespace {

/// What is written at the indices: the part of a tensor that they have a place for, or a number for each.
Tensor source_of(const In& x, const In& index, const TensorLike& source) {
  if (!source.is_number()) return detail::cropped(*source.tensor, *index);
  require_same_device({{"x", *x}, {"index", *index}});
  require_representable(source.number, x->dtype());
  return full({}, source.number, {x->dtype(), x->device()}).expand(index->shape());
}

}  // namespace

Tensor scatter(const In& x, int dim, const In& index_, const TensorLike& source, std::optional<Scatter> reduce) {
  const CallSite site("scatter", x.where);
  const Tensor index = detail::wide_index(*index_);
  if (reduce) return scatter_reduce(x, dim, index, source_of(x, index, source), *reduce);
  return written(x, dim, index, source_of(x, index, source));
}

Tensor scatter_(const In& x, int dim, const In& index_, const TensorLike& source, std::optional<Scatter> reduce) {
  const CallSite site("scatter_", x.where);
  if (reduce) return copy_(x, scatter(x, dim, index_, source, reduce));
  const Tensor index = detail::wide_index(*index_);
  const Tensor from = source_of(x, index, source);
  return detail::in_place(
      "scatter_", x, records(*x, from), [&] { return written(x, dim, index, from); },
      [&] { raw::scatter_add_(x, dim, index, from, ScatterOp::assign); });
}

Tensor scatter_add_(const In& x, int dim, const In& index_, const In& source) {
  const Tensor index = detail::wide_index(*index_);
  const Tensor from = detail::cropped(*source, index);
  return detail::in_place(
      "scatter_add_", x, records(*x, from), [&] { return scatter_add(x, dim, index, from); },
      [&] {
        raw::scatter_add_(x, dim, index, from);
        if (is_heard()) [[unlikely]]
          tell("scatter_add_", {*x}, {{"self", *x}, {"index", *index_}, {"source", from}}, {{"dim", dim}});
      });
}

Tensor scatter_reduce(const In& x, int dim, const In& index_, const In& source, Scatter reduce, bool include_self) {
  const Operation op("scatter_reduce", x.where, {{"x", *x}, {"index", *index_}, {"source", *source}});
  const Tensor index = detail::wide_index(op[1]), from = detail::cropped(*source, index);
  const Tensor base = include_self ? *x : scatter(x, dim, index, neutral(reduce, x->dtype()));
  dim = raw::wrap_dim(x, dim);
  switch (reduce) {
    case Scatter::sum: return scatter_add(base, dim, index, from);
    case Scatter::prod: return products(base, dim, index, from);
    case Scatter::mean: return means(base, dim, index, from, include_self);
    case Scatter::amax: return detail::scatter_extremes(base, dim, index, from, ScatterOp::max, include_self);
    case Scatter::amin: break;
  }
  return detail::scatter_extremes(base, dim, index, from, ScatterOp::min, include_self);
}

Tensor scatter_reduce_(const In& x, int dim, const In& index, const In& source, Scatter reduce, bool include_self) {
  const CallSite site("scatter_reduce_", x.where);
  return copy_(x, scatter_reduce(x, dim, index, source, reduce, include_self));
}

Tensor index_copy(const In& x_, int dim, const In& index_, const In& source_) {
  const Operation op("index_copy", x_.where, {kWidest, kKept}, {{"x", *x_}, {"index", *index_}, {"source", *source_}});
  const Tensor &x = op[0], &source = op[2], index = detail::wide_index(op[1]);
  Tensor y = raw::index_add(x, dim, index, source, ScatterOp::assign);
  if (!records(x, source)) return y;
  return op.record(std::move(y), {x, source}, [dim, index = Saved(index)](const Tensor& g, Needs needs) {
    Gradients out(2);
    const Tensor at = index();
    if (needs[0]) out[0] = index_fill(g, dim, at, 0);
    if (needs[1]) {
      const int d = raw::wrap_dim(g, dim);
      const Shape sizes = g.dim() == 0 ? Shape{1} : Shape{g.size(d)};
      Shape along = Shape::filled(g.dim(), 1);
      if (g.dim() > 0) along[d] = at.numel();
      out[1] = where(is_last(sizes, 0, at.reshape({-1})).reshape(along), index_select(g, dim, at), 0.0);
    }
    return out;
  });
}

Tensor index_copy_(const In& x, int dim, const In& index, const In& source) {
  return detail::in_place(
      "index_copy_", x, records(*x, *source), [&] { return index_copy(x, dim, index, source); },
      [&] { raw::index_add_(x, dim, detail::wide_index(*index), source, ScatterOp::assign); });
}

Tensor index_add_(const In& x, int dim, const In& index, const In& source) {
  return detail::in_place(
      "index_add_", x, records(*x, *source), [&] { return index_add(x, dim, index, source); },
      [&] { raw::index_add_(x, dim, detail::wide_index(*index), source); });
}

}  // namespace minnow
