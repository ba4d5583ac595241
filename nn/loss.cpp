#include <minnow/nn/loss.h>

#include <fmt/format.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/softmax.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/softmax.h>

namespace minnow::nn {
namespace {

/// Operations on intermediate values name the line that called the loss.
struct At {
  SourceLocation where;
  In operator()(const Tensor& t) const { return {t, where}; }
};

Tensor reduced(const Tensor& losses, Reduction reduction, At at) {
  switch (reduction) {
    case Reduction::none: return losses;
    case Reduction::sum: return sum(at(losses));
    case Reduction::mean: return mean(at(losses));
  }
  throw ValueError(
      std::string(Composed::name("loss")) + ": the reduction is not one of none, mean, sum\ngive a nn::Reduction",
      at.where);
}

/// The sum over a total that may be another than the number of elements.
Tensor reduced(const Tensor& losses, Reduction reduction, const Tensor& total, At at) {
  if (reduction != Reduction::mean) return reduced(losses, reduction, at);
  return div(at(sum(at(losses))), at(total));
}

void require_classes(const char* op, const In& x, const In& target) {
  const auto refuse = [&](const std::string& why, const std::string& mend) {
    return ShapeError(message(op, why, {{"input", *x}, {"target", *target}}, mend), x.where);
  };
  if (!x->is_floating_point())
    throw DTypeError(
        message(op, "the input is not floating", {{"input", *x}, {"target", *target}}, "convert it: .to(float32)"),
        x.where);
  if (x->dim() < 1) throw refuse("the input has no dimension of classes", "it is [N, C, ...] or [C]");
  if (target->is_floating_point()) return;
  if (target->dtype() != DType::int64)
    throw DTypeError(
        message(op, "class numbers are int64", {{"input", *x}, {"target", *target}}, "convert them: .to(int64)"),
        x.where);
  Shape want = x->shape();
  want.erase(x->dim() == 1 ? 0 : 1);
  if (!(target->shape() == want))
    throw refuse("the target does not fit the input", "the target of this input is int64" + want.str());
}

void require_weight(const char* op, const Tensor& weight, const In& x, std::int64_t classes) {
  if (!weight.defined()) return;
  dispatch(op, {{"input", *x}, {"weight", weight}}, x.where);
  if (!(weight.shape() == Shape{classes}))
    throw ShapeError(message(op, "weight is not one number for each class", {{"input", *x}, {"weight", weight}},
                             "it is [" + std::to_string(classes) + "] here"),
                     x.where);
  if (weight.dtype() != x->dtype())
    throw DTypeError(message(op, "weight and input have different dtypes", {{"input", *x}, {"weight", weight}},
                             "convert the weight: .to(" + std::string(name_of(x->dtype())) + ")"),
                     x.where);
}

/// [N, C, ...] -> [N ..., C], [C] -> [1, C].
Tensor by_rows(const In& x) {
  if (x->dim() == 1) return x->unsqueeze(0);
  if (x->dim() == 2) return *x;
  Shape order;
  for (int d = 0; d < x->dim(); ++d)
    if (d != 1) order.push_back(d);
  order.push_back(1);
  return x->permute(order, x.where).reshape({-1, x->size(1)}, x.where);
}

Tensor flat(const In& t) { return t->dim() == 1 ? *t : t->reshape({-1}, t.where); }

struct Picked {
  Tensor losses;  ///< [M], 0 where ignored
  Tensor total;   ///< 0-dim: of the weights that count
};

/// losses: -w[t] rows[t].   rows: log-probabilities [M, C]  target: int64 [M].
Picked pick(const Tensor& rows, const Tensor& target, const Tensor& weight, const Tensor& ignored, At at) {
  const Tensor safe = where(at(ignored), 0, at(target));
  const Tensor chosen = neg(at(gather(at(rows), 1, at(safe.unsqueeze(1))).squeeze(1)));
  const Tensor factors = weight.defined() ? where(at(ignored), 0.0, at(index_select(at(weight), 0, at(safe))))
                                          : logical_not(at(ignored)).to(rows.dtype());
  // Selected, not multiplied: an ignored row may hold infinities.
  Tensor losses = where(at(ignored), 0.0, at(mul(at(chosen), at(factors))));
  return {losses, sum(at(factors))};
}

/// What f computes; where it finds a target that is no class, the error tells that, by the operands that the user knows.
template <class F> auto checked(const char* op, const In& x, const In& target, std::int64_t ignore_index, const F& f) {
  try {
    return f();
  } catch (const IndexError&) { raw::refuse_class(op, x, target, x->size(x->dim() == 1 ? 0 : 1), ignore_index); }
}

Tensor of_classes(const In& logits, const In& target, const CrossEntropyOptions& o) {
  const At at{logits.where};
  const Tensor x = by_rows(logits), t = flat(target);
  const auto shaped = [&](const Tensor& losses) {
    return o.reduction == Reduction::none ? losses.reshape(target->shape(), at.where) : losses;
  };
  if (!o.weight.defined() && o.label_smoothing == 0) {
    const Tensor losses = cross_entropy_rows(at(x), at(t), o.ignore_index);
    if (o.reduction != Reduction::mean) return shaped(reduced(losses, o.reduction, at));
    const Tensor count = sum(at(ne(at(t), o.ignore_index))).to(losses.dtype());
    return reduced(losses, o.reduction, count, at);
  }
  const Tensor log_p = log_softmax(at(x), 1);
  const Tensor ignored = eq(at(t), o.ignore_index);
  const auto [losses, total] = pick(log_p, t, o.weight, ignored, at);
  if (o.label_smoothing == 0) return shaped(reduced(losses, o.reduction, total, at));
  const Tensor weighted = o.weight.defined() ? mul(at(log_p), at(o.weight)) : log_p;
  const Tensor smooth = where(at(ignored), 0.0, at(neg(at(sum(at(weighted), {1})))));
  const double share = o.label_smoothing / static_cast<double>(x.size(1));
  const Tensor both = add(at(mul(at(losses), 1 - o.label_smoothing)), at(mul(at(smooth), share)));
  return shaped(reduced(both, o.reduction, total, at));
}

Tensor of_probabilities(const In& logits, const In& target, const CrossEntropyOptions& o) {
  const At at{logits.where};
  if (!(logits->shape() == target->shape()))
    throw ShapeError(message("cross_entropy", "probabilities do not have the logits' shape",
                             {{"logits", *logits}, {"target", *target}},
                             "class numbers would be int64 without the dimension of classes"),
                     at.where);
  const Tensor x = by_rows(logits);
  Tensor t = by_rows(target);
  if (o.label_smoothing > 0)
    t = add(at(mul(at(t), 1 - o.label_smoothing)), o.label_smoothing / static_cast<double>(x.size(1)));
  if (o.weight.defined()) t = mul(at(t), at(o.weight));
  const Tensor losses = neg(at(sum(at(mul(at(log_softmax(at(x), 1)), at(t))), {1})));
  if (o.reduction != Reduction::none) return reduced(losses, o.reduction, at);
  Shape shape = logits->shape();
  shape.erase(logits->dim() == 1 ? 0 : 1);
  return losses.reshape(shape, at.where);
}

}  // namespace

Tensor cross_entropy(const In& logits, const In& target, const CrossEntropyOptions& options) {
  const Composed scope("cross_entropy");
  dispatch("cross_entropy", {{"logits", *logits}, {"target", *target}}, logits.where);
  require_classes("cross_entropy", logits, target);
  require_weight("cross_entropy", options.weight, logits, logits->size(logits->dim() == 1 ? 0 : 1));
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(
        fmt::format("cross_entropy: label_smoothing = {} is not in [0, 1]\n0 is none, 1 a target of equal shares",
                    options.label_smoothing),
        logits.where);
  if (target->is_floating_point()) return of_probabilities(logits, target, options);
  return checked("cross_entropy", logits, target, options.ignore_index,
                 [&] { return of_classes(logits, target, options); });
}

Tensor nll_loss(const In& x, const In& target, const NllOptions& options) {
  const Composed scope("nll_loss");
  const At at{x.where};
  dispatch("nll_loss", {{"log_probabilities", *x}, {"target", *target}}, x.where);
  require_classes("nll_loss", x, target);
  if (target->is_floating_point())
    throw DTypeError(message("nll_loss", "class numbers are int64", {{"log_probabilities", *x}, {"target", *target}},
                             "for probabilities use cross_entropy, on logits"),
                     x.where);
  require_weight("nll_loss", options.weight, x, x->size(x->dim() == 1 ? 0 : 1));
  const Tensor t = flat(target);
  const auto [losses, total] = checked("nll_loss", x, target, options.ignore_index, [&] {
    return pick(by_rows(x), t, options.weight, eq(at(t), options.ignore_index), at);
  });
  if (options.reduction == Reduction::none) return losses.reshape(target->shape(), at.where);
  return reduced(losses, options.reduction, total, at);
}

namespace {

void require_same_shape(const char* op, const In& x, const In& y) {
  dispatch(op, {{"x", *x}, {"y", *y}}, x.where);
  if (!(x->shape() == y->shape()))
    throw ShapeError(message(op, "the shapes differ", {{"x", *x}, {"y", *y}}, "reshape or expand one of them first"),
                     x.where);
  if (!x->is_floating_point() && !y->is_floating_point())
    throw DTypeError(
        message(op, "neither operand is floating", {{"x", *x}, {"y", *y}}, "convert one of them: .to(float32)"),
        x.where);
}

}  // namespace

Tensor mse_loss(const In& x, const In& y, LossOptions options) {
  const Composed scope("mse_loss");
  const At at{x.where};
  require_same_shape("mse_loss", x, y);
  return reduced(square(at(sub(x, y))), options.reduction, at);
}

Tensor l1_loss(const In& x, const In& y, LossOptions options) {
  const Composed scope("l1_loss");
  const At at{x.where};
  require_same_shape("l1_loss", x, y);
  return reduced(abs(at(sub(x, y))), options.reduction, at);
}

Tensor smooth_l1_loss(const In& x, const In& y, SmoothL1Options options) {
  const Composed scope("smooth_l1_loss");
  const At at{x.where};
  require_same_shape("smooth_l1_loss", x, y);
  if (!(options.beta > 0))
    throw ValueError(
        fmt::format("smooth_l1_loss: beta = {} is not positive\nl1_loss is what beta 0 would mean", options.beta),
        x.where);
  const Tensor d = sub(x, y), size = abs(at(d));
  // Held to where it counts: the slope of an infinite square times 0 would be NaN.
  const Tensor close = clamp(at(d), -options.beta, options.beta);
  const Tensor near = mul(at(square(at(close))), 0.5 / options.beta), far = sub(at(size), 0.5 * options.beta);
  return reduced(where(at(lt(at(size), options.beta)), at(near), at(far)), options.reduction, at);
}

Tensor bce_with_logits(const In& x, const In& y, const BceOptions& options) {
  const Composed scope("bce_with_logits");
  const At at{x.where};
  require_same_shape("bce_with_logits", x, y);
  // -log s(x) = softplus(-x), -log(1 - s(x)) = softplus(x) = x + softplus(-x).
  const Tensor missed = neg(at(log_sigmoid(x)));
  const Tensor rest = sub(1.0, y);
  Tensor factor = options.pos_weight.defined() ? add(at(mul(y, at(options.pos_weight))), at(rest)) : Tensor();
  Tensor losses = add(at(mul(at(rest), x)), at(factor.defined() ? mul(at(missed), at(factor)) : missed));
  if (options.weight.defined()) losses = mul(at(losses), at(options.weight));
  return reduced(losses, options.reduction, at);
}

}  // namespace minnow::nn
