#include <minnow/nn/losses/margin_loss.h>

#include <fmt/format.h>
#include <minnow/nn/detail/loss.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {
namespace {

using detail::reduced, detail::require_broadcast_shapes, detail::require_same_shape;

/// x: [N, C] or [C], floating-point; target: int64.
void require_class_numbers(const BoundOperands<2>& op, const Shape& want) {
  const Tensor &x = op[0], &target = op[1];
  const auto text = [&](const char* why, const std::string& hint) { return message(why, op, hint); };
  if (!x.is_floating_point()) throw DTypeError(text("x is not floating-point", "convert it: .to(float32)"));
  if (target.dtype() != DType::int64) throw DTypeError(text("class numbers must be int64", "convert them: .to(int64)"));
  if (!(target.shape() == want))
    throw ShapeError(text("the target's shape does not fit x", "the target of this x is int64" + want.str()));
}

void require_rows(const BoundOperands<2>& op) {
  const Tensor& x = op[0];
  if ((x.dim() != 1 && x.dim() != 2) || x.size(-1) == 0)
    throw ShapeError(
        message("x must be [N, C] or [C], with at least one class", op, "reshape it: .reshape({-1, classes})"));
}

void require_class_weight(const Tensor& x, const Tensor& weight) {
  if (!weight.defined()) return;
  require_same_device({{"x", x}, {"weight", weight}});
  if (!(weight.shape() == Shape{x.size(-1)}))
    throw ShapeError(message("weight must have one number for each class", {{"x", x}, {"weight", weight}},
                             fmt::format("its shape is [{}] here", x.size(-1))));
}

/// max(0, x).
Tensor hinge(const Tensor& x) { return clamp_min(x, 0); }

/// f(); an IndexError becomes one that names the operands of the loss.
template <class F> Tensor with_target_errors(const Tensor& x, const Tensor& target, const F& f) {
  try {
    return f();
  } catch (const IndexError&) {
    throw IndexError(message("a target is out of range", {{"x", x}, {"target", target}},
                             fmt::format("classes of this x go from 0 to {}", x.size(-1) - 1)));
  }
}

}  // namespace

Tensor soft_margin_loss(const In& x_, const In& y_, LossOptions options) {
  const Operation op("soft_margin_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_same_shape(op);
  return -reduced(log_sigmoid(x * y), options.reduction);
}

Tensor hinge_embedding_loss(const In& x_, const In& y_, HingeEmbeddingLossOptions options) {
  const Operation op("hinge_embedding_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_broadcast_shapes(op);
  const Tensor far = where(y != 1, hinge(options.margin - x), 0.0);
  return reduced(far + where(y != -1, x, 0.0), options.reduction);
}

Tensor margin_ranking_loss(const In& x1_, const In& x2_, const In& y_, MarginRankingLossOptions options) {
  const Operation op("margin_ranking_loss", x1_.where, kWide, {{"x1", *x1_}, {"x2", *x2_}, {"y", *y_}});
  const Tensor &x1 = op[0], &x2 = op[1], &y = op[2];
  require_same_shape({{"x1", x1}, {"x2", x2}});
  require_same_shape({{"x1", x1}, {"y", y}});
  return reduced(hinge(options.margin - y * (x1 - x2)), options.reduction);
}

Tensor cosine_embedding_loss(const In& x1_, const In& x2_, const In& y_, CosineEmbeddingLossOptions options) {
  const Operation op("cosine_embedding_loss", x1_.where, kWide, {{"x1", *x1_}, {"x2", *x2_}, {"y", *y_}});
  const Tensor &x1 = op[0], &x2 = op[1], &y = op[2];
  require_same_shape({{"x1", x1}, {"x2", x2}});
  if (x1.dim() != 1 && x1.dim() != 2) throw ShapeError(message("x1 and x2 must be [N, D] or [D]", op));
  if (!(y.shape() == (x1.dim() == 1 ? Shape() : Shape{x1.size(0)})))
    throw ShapeError(
        message("y must have one number for each pair", op, "its shape is that of x1 without the last dimension"));
  if (!(options.margin >= -1 && options.margin <= 1))
    throw ValueError(
        message(fmt::format("margin must be in [-1, 1], got {}", options.margin), {}, "cosines are compared with it"));
  // PyTorch's: a cosine of zeros is 0, and has a gradient.
  constexpr double kEps = 1e-12;
  const Tensor squares = (sum(square(x1), -1) + kEps) * (sum(square(x2), -1) + kEps);
  const Tensor cosine = sum(x1 * x2, -1) / sqrt(squares);
  const Tensor near = where(y == 1, 1.0 - cosine, 0.0), far = where(y == -1, hinge(cosine - options.margin), 0.0);
  return reduced(near + far, options.reduction);
}

Tensor triplet_margin_loss(const In& anchor_, const In& positive_, const In& negative_,
                           TripletMarginLossOptions options) {
  const Operation op("triplet_margin_loss", anchor_.where, kWide,
                     {{"anchor", *anchor_}, {"positive", *positive_}, {"negative", *negative_}});
  const Tensor &anchor = op[0], &positive = op[1], &negative = op[2];
  require_same_shape({{"anchor", anchor}, {"positive", positive}});
  require_same_shape({{"anchor", anchor}, {"negative", negative}});
  if (anchor.dim() == 0) throw ShapeError(message("the operands have no dimension", op, "they are [N, D] or [D]"));
  if (!(options.margin > 0))
    throw ValueError(message(fmt::format("margin must be positive, got {}", options.margin), {}, "1 is usual"));
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return pairwise_distance(a, b, {.p = options.p, .eps = options.eps});
  };
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  return reduced(hinge(distance(anchor, positive) - far + options.margin), options.reduction);
}

Tensor multilabel_margin_loss(const In& x_, const In& target_, LossOptions options) {
  const Operation op("multilabel_margin_loss", x_.where, kWide, {{"x", *x_}, {"target", *target_}});
  const Tensor &x = op[0], &target = op[1];
  require_rows(op);
  require_class_numbers(op, x.shape());
  if (is_half(x.dtype()))  // in which the sum may be beyond float16
    return multilabel_margin_loss(x.to(DType::float32), target, options).to(x.dtype());
  // [N, C]: whether an element of target is a class, and that class, else the first of the row.
  const Tensor used = cumsum(target == -1, -1) == 0,
               classes = where(used, target, clamp_min(target.narrow(-1, 0, 1), 0));
  const bool each = options.reduction == Reduction::none;
  const Tensor sums = with_target_errors(x, target, [&] {
    // What is no class, and what is one of the target, has no margin: as in PyTorch, NaN counts nothing either.
    const Tensor near = where(used, 1.0 - gather(x, -1, classes), -kInfinity);
    const Tensor others = scatter(x, -1, classes, -kInfinity);
    const Tensor margins = near.unsqueeze(-1) + others.unsqueeze(-2);  // [N, C of target, C of x]
    const Dims dims = each ? Dims{-2, -1} : Dims();
    return records(margins) ? sum(where(margins > 0, margins, 0.0), dims)
                            : nansum(relu_(margins), dims);  // in fewer passes
  });
  const bool mean = options.reduction == Reduction::mean;
  return (each || mean ? sums : reduced(sums, options.reduction)) / static_cast<double>(mean ? x.numel() : x.size(-1));
}

Tensor multilabel_soft_margin_loss(const In& x_, const In& y_, const MultiLabelSoftMarginLossOptions& options) {
  const Operation op("multilabel_soft_margin_loss", x_.where, {kKept, kWide}, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_same_shape(op);
  if (x.dim() == 0) throw ShapeError(message("x has no dimension of classes", op, "it is [..., C]"));
  require_class_weight(x, options.weight);
  Tensor losses = -(y * log_sigmoid(x) + (1.0 - y) * log_sigmoid(-x));
  if (options.weight.defined()) losses = losses * options.weight;
  return reduced(mean(losses, -1), options.reduction);
}

Tensor multi_margin_loss(const In& x_, const In& target_, const MultiMarginLossOptions& options) {
  const Operation op("multi_margin_loss", x_.where, kWide, {{"x", *x_}, {"target", *target_}});
  const Tensor &x = op[0], &target = op[1];
  require_rows(op);
  if (x.dim() == 1 && target.dim() == 1) return multi_margin_loss(x.unsqueeze(0), target, options);
  require_class_numbers(op, x.dim() == 1 ? Shape() : Shape{x.size(0)});
  require_class_weight(x, options.weight);
  if (options.p != 1 && options.p != 2)
    throw ValueError(message(fmt::format("p must be 1 or 2, got {}", options.p), {}, "it is the power of a margin"));
  const Tensor others = with_target_errors(x, target, [&] {
    const Tensor column = target.unsqueeze(-1);
    Tensor margins = hinge(options.margin - gather(x, -1, column) + x);
    if (options.p == 2) margins = square(margins);
    if (options.weight.defined()) {
      const Tensor factors = index_select(options.weight, 0, column.flatten());
      margins = margins * (x.dim() == 1 ? factors : factors.unsqueeze(-1));
    }
    return scatter(margins, -1, column, 0);
  });
  return options.reduction == Reduction::mean ? mean(others) : reduced(mean(others, -1), options.reduction);
}

}  // namespace minnow::nn
