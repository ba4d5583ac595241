#include <minnow/nn/losses/loss.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/loss.h>
#include <minnow/ops/detail/cross_entropy.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/ops/detail/unary.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {
namespace {

using detail::reduced, detail::require_broadcast_shapes, detail::require_same_shape;

/// In which losses and weights are summed: a sum of halves may be beyond float16, where their mean is not.
DType sum_dtype(const Tensor& x) { return is_half(x.dtype()) ? DType::float32 : x.dtype(); }

/// With the mean taken over `total`, of sum_dtype().
Tensor reduced(const Tensor& losses, Reduction reduction, const Tensor& total) {
  if (reduction != Reduction::mean) return reduced(losses, reduction);
  return (sum(losses.to(sum_dtype(losses))) / total).to(losses.dtype());
}

minnow::detail::RowReduction row_reduction(Reduction reduction) {
  using minnow::detail::RowReduction;
  switch (reduction) {
    case Reduction::none: return RowReduction::none;
    case Reduction::sum: return RowReduction::sum;
    case Reduction::mean: return RowReduction::mean;
    case Reduction::batchmean: break;
  }
  throw ValueError(message("the reduction must be none, mean or sum", {}, "batchmean is for kl_div only"));
}

void require_classes(const Tensor& x, const Tensor& target) {
  const auto text = [&](const std::string& why, const std::string& hint) {
    return message(why, {{"input", x}, {"target", target}}, hint);
  };
  if (!x.is_floating_point()) throw DTypeError(text("the input is not floating-point", "convert it: .to(float32)"));
  if (x.dim() < 1) throw ShapeError(text("the input has no dimension of classes", "it is [N, C, ...] or [C]"));
  if (target.is_floating_point()) return;
  if (target.dtype() != DType::int64)
    throw DTypeError(text("class numbers must be int64 or uint8", "convert them: .to(int64)"));
  Shape want = x.shape();
  want.erase(x.dim() == 1 ? 0 : 1);
  if (!(target.shape() == want))
    throw ShapeError(
        text("the target's shape does not fit the input", "the target of this input is int64" + want.str()));
}

void require_weight(const Tensor& weight, const Tensor& x, std::int64_t classes) {
  if (!weight.defined()) return;
  require_same_device({{"input", x}, {"weight", weight}});
  const auto text = [&](const char* why, const std::string& hint) {
    return message(why, {{"input", x}, {"weight", weight}}, hint);
  };
  if (!(weight.shape() == Shape{classes}))
    throw ShapeError(
        text("weight must have one number for each class", "its shape is [" + std::to_string(classes) + "] here"));
  if (weight.dtype() != x.dtype())
    throw DTypeError(text("weight and input have different dtypes",
                          "convert the weight: .to(" + std::string(name_of(x.dtype())) + ")"));
}

/// [N, C, ...] -> slices [N, C, inner] where that is a view, else rows [N ..., C]; [C] -> [1, C].
Tensor to_rows_or_slices(const Tensor& x) {
  if (x.dim() == 1) return x.unsqueeze(0);
  if (x.dim() == 2) return x;
  if (x.is_contiguous()) return x.flatten(2);
  Shape order;
  for (int d = 0; d < x.dim(); ++d)
    if (d != 1) order.push_back(d);
  order.push_back(1);
  return x.permute(order).reshape({-1, x.size(1)});
}

int class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }
std::int64_t classes_of(const Tensor& x) { return x.size(class_dim(x)); }

struct TargetLosses {
  Tensor losses;  ///< of the target's shape, 0 where ignored
  Tensor total;   ///< 0-dim: the sum of the weights of the targets that are not ignored
};

/// losses: -w[t] x[t].   x: log-probabilities [N, C, ...] or [C]  target: int64 [N, ...] or [].
TargetLosses nll_of(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& ignored) {
  const int dim = class_dim(x);
  const Tensor safe = where(ignored, 0, target);
  const Tensor chosen = gather(x, dim, safe.unsqueeze(dim)).squeeze(dim);
  // Selected, not multiplied: an ignored row may hold infinities.
  if (!weight.defined()) return {where(ignored, 0.0, -chosen), sum(logical_not(ignored)).to(sum_dtype(x))};
  const Tensor each = index_select(weight, 0, safe.reshape({-1})).reshape(safe.shape());
  return {where(ignored, 0.0, -chosen * each), sum(where(ignored, 0.0, each).to(sum_dtype(x)))};
}

/// Whether the host sees that no target is ignored: a look at them costs less than the calls that select.
bool all_count(const Tensor& target, std::int64_t ignore_index) {
  if (!target.device().is_cpu() || !target.is_contiguous()) return false;
  const auto* first = static_cast<const std::int64_t*>(target.raw_data());
  return std::count(first, first + target.numel(), ignore_index) == 0;
}

/// f(); an IndexError becomes one that names the target out of range and the operands of the loss.
template <class F> auto with_target_errors(const In& x, const In& target, std::int64_t ignore_index, const F& f) {
  try {
    return f();
  } catch (const IndexError&) { raw::refuse_class(x, target, classes_of(*x), ignore_index); }
}

/// Whether the losses are one call of the backend, which reads halves and computes in float32.
bool is_one_call(const Tensor& target, const CrossEntropyLossOptions& o) {
  return !target.is_floating_point() && !o.weight.defined() && o.label_smoothing == 0;
}

/// result: the dtype of the losses.
Tensor cross_entropy_of_classes(const Tensor& logits, const Tensor& target, const CrossEntropyLossOptions& o,
                                DType result) {
  if (is_one_call(target, o)) {
    const Tensor losses = minnow::detail::reduced_cross_entropy(to_rows_or_slices(logits), target.reshape({-1}),
                                                                o.ignore_index, row_reduction(o.reduction), result);
    return o.reduction == Reduction::none ? losses.reshape(target.shape()) : losses;
  }
  const int dim = class_dim(logits);
  const Tensor log_p = log_softmax(logits, dim), ignored = target == o.ignore_index;
  const auto [losses, total] = nll_of(log_p, target, o.weight, ignored);
  if (o.label_smoothing == 0) return reduced(losses, o.reduction, total);
  Shape each = Shape::filled(logits.dim(), 1);
  each[dim] = -1;
  const Tensor smooth = where(ignored, 0.0, -sum(o.weight.defined() ? log_p * o.weight.reshape(each) : log_p, dim));
  const double share = o.label_smoothing / static_cast<double>(classes_of(logits));
  return reduced(losses * (1 - o.label_smoothing) + smooth * share, o.reduction, total);
}

Tensor cross_entropy_of_probabilities(const Tensor& logits, const Tensor& target, const CrossEntropyLossOptions& o) {
  if (!(logits.shape() == target.shape()))
    throw ShapeError(message("probabilities must have the logits' shape", {{"logits", logits}, {"target", target}},
                             "class numbers are int64 and have no dimension of classes"));
  if (o.ignore_index >= 0)
    throw ValueError(message(fmt::format("probabilities have no class {} to ignore", o.ignore_index),
                             {{"logits", logits}, {"target", target}},
                             "give a row that does not count zeros as target"));
  const int dim = class_dim(logits);
  Tensor t = target;
  if (o.label_smoothing > 0)
    t = t * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(classes_of(logits));
  if (o.weight.defined()) {
    Shape each = Shape::filled(logits.dim(), 1);
    each[dim] = -1;
    t = t * o.weight.reshape(each);
  }
  const Tensor losses = -sum(log_softmax(logits, dim) * t, dim);
  return reduced(losses, o.reduction);
}

/// The weight too is converted under an Autocast guard.
template <class Options> Options with_wide_weight(const CallSite& site, const Options& given) {
  Options options = given;
  if (const auto cast = autocast(site, kWide, {{"weight", given.weight}})) options.weight = cast[0];
  return options;
}

}  // namespace

Tensor cross_entropy(const In& logits_, const In& target_, const CrossEntropyLossOptions& given) {
  const bool takes_halves =
      logits_->defined() && target_->defined() && is_half(logits_->dtype()) && is_one_call(*target_, given);
  const Operation op("cross_entropy", logits_.where, takes_halves ? kKept : kWide,
                     {{"logits", *logits_}, {"target", *target_}});
  const Tensor &logits = op[0], &target = op[1];
  const CrossEntropyLossOptions options = with_wide_weight(op.call_site(), given);
  if (target.dtype() == DType::uint8) return cross_entropy(logits, target.to(DType::int64), options);
  require_classes(logits, target);
  require_weight(options.weight, logits, classes_of(logits));
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(message(fmt::format("label_smoothing must be in [0, 1], got {}", options.label_smoothing), {},
                             "0 turns it off"));
  if (target.is_floating_point()) return cross_entropy_of_probabilities(logits, target, options);
  const DType result = takes_halves ? minnow::detail::cross_entropy_dtype(op.call_site(), logits) : logits.dtype();
  return with_target_errors(logits, target, options.ignore_index,
                            [&] { return cross_entropy_of_classes(logits, target, options, result); });
}

Tensor nll_loss(const In& x_, const In& target_, const NLLLossOptions& given) {
  const Operation op("nll_loss", x_.where, kWide, {{"log_probabilities", *x_}, {"target", *target_}});
  const Tensor &x = op[0], &target = op[1];
  const NLLLossOptions options = with_wide_weight(op.call_site(), given);
  if (target.dtype() == DType::uint8) return nll_loss(x, target.to(DType::int64), options);
  require_classes(x, target);
  if (target.is_floating_point())
    throw DTypeError(message("class numbers must be int64", op, "for probabilities use cross_entropy, on logits"));
  require_weight(options.weight, x, classes_of(x));
  if (!options.weight.defined() && all_count(target, options.ignore_index)) {
    const int dim = class_dim(x);
    const Tensor chosen = with_target_errors(x, target, options.ignore_index,
                                             [&] { return gather(x, dim, target.unsqueeze(dim)).squeeze(dim); });
    return -reduced(chosen, options.reduction);
  }
  const auto [losses, total] = with_target_errors(x, target, options.ignore_index, [&] {
    return nll_of(x, target, options.weight, target == options.ignore_index);
  });
  return reduced(losses, options.reduction, total);
}

Tensor mse_loss(const In& x_, const In& y_, LossOptions options) {
  const Operation op("mse_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_broadcast_shapes(op);
  const Tensor d = x - y;
  return reduced(records(d) ? square(d) : square_(d), options.reduction);  // nothing else has d
}

Tensor l1_loss(const In& x_, const In& y_, LossOptions options) {
  const Operation op("l1_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_broadcast_shapes(op);
  const Tensor d = x - y;
  return reduced(records(d) ? abs(d) : abs_(d), options.reduction);
}

Tensor smooth_l1_loss(const In& x_, const In& y_, SmoothL1LossOptions options) {
  const Operation op("smooth_l1_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_broadcast_shapes(op);
  const double beta = options.beta;
  if (beta == 0) return l1_loss(x, y, {options.reduction});
  if (!(beta > 0)) throw ValueError(message(fmt::format("beta must not be negative, got {}", beta), {}, "1 is usual"));
  return reduced(minnow::detail::smooth_l1(x - y, beta, 1), options.reduction);
}

Tensor huber_loss(const In& x_, const In& y_, HuberLossOptions options) {
  const Operation op("huber_loss", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_broadcast_shapes(op);
  const double delta = options.delta;
  if (!(delta > 0 && std::isfinite(delta)))
    throw ValueError(message(fmt::format("delta must be positive and finite, got {}", delta), {},
                             "for a parabola everywhere use mse_loss"));
  return reduced(minnow::detail::smooth_l1(x - y, delta, delta), options.reduction);
}

Tensor binary_cross_entropy_with_logits(const In& x_, const In& y_, const BCEWithLogitsLossOptions& options) {
  const Operation op("binary_cross_entropy_with_logits", x_.where, kWide, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_same_shape(op);
  // -log s(x) = softplus(-x), -log(1 - s(x)) = softplus(x) = x + softplus(-x).
  const Tensor neg_log_p = -log_sigmoid(x), negative = 1.0 - y;
  const Tensor& pos = options.pos_weight;
  Tensor losses = negative * x + (pos.defined() ? neg_log_p * (y * pos + negative) : neg_log_p);
  if (options.weight.defined()) losses = losses * options.weight;
  return reduced(losses, options.reduction);
}

}  // namespace minnow::nn
