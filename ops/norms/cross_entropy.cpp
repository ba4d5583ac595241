#include <minnow/ops/norms/cross_entropy.h>

#include <limits>
#include <minnow/ops/detail/cross_entropy.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {

namespace {

/// float32 for halves, because the gradient divides by the sum.
DType exp_sums_type(DType logits) { return is_half(logits) ? DType::float32 : logits; }

std::string range_text(std::int64_t classes) {
  if (classes == 0) return "logits have no classes: targets can only be ";
  return "targets go from 0 to " + std::to_string(classes - 1) + ", or are ";
}

}  // namespace

void refuse_class(const In& logits, const In& target, std::int64_t classes, std::int64_t ignore_index) {
  const std::optional<InvalidIndex> invalid = find_invalid_index(target, classes, ignore_index);
  const std::string found = invalid ? "target " + invalid->str() : std::string("a target");
  throw IndexError(message(found + " is out of range", {{"logits", *logits}, {"target", *target}},
                           range_text(classes) + "ignore_index " + std::to_string(ignore_index)));
}

CrossEntropy cross_entropy(const In& logits, const In& target, std::int64_t ignore_index, RowReduction reduction,
                           std::optional<DType> result) {
  const Operation op("cross_entropy", logits.where, {{"logits", *logits}, {"target", *target}});
  const bool slices = logits->dim() == 3;
  const std::int64_t n = logits->dim() < 2 ? -1 : logits->shape()[0] * (slices ? logits->shape()[2] : 1);
  if (n < 0 || logits->dim() > 3 || target->shape() != Shape{n})
    throw ShapeError(message("the sizes do not match", op, "logits: [N, C]  target: [N]"));
  if (!logits->is_floating_point() || target->dtype() != DType::int64)
    throw DTypeError(message("logits must be floating-point and target int64", op, "convert the target: .to(int64)"));
  const DType type = result.value_or(logits->dtype()), wide = exp_sums_type(logits->dtype());
  const bool combines = reduction != RowReduction::none, mean = reduction == RowReduction::mean;
  const Tensor losses = new_result({n}, combines ? wide : type, logits->device()),
               total = combines ? new_result({}, type, logits->device()) : Tensor(),
               exp_sums = new_result(combines ? Shape{2 * n + 2} : Shape{2, n}, wide, logits->device());
  if (n)
    run_checked(
        op.backend(),
        calls::CrossEntropy{contiguous(logits), contiguous(target), losses, total, exp_sums, ignore_index, mean},
        [=](const Tensor& x, const Tensor& t) { refuse_class(x, t, x.shape()[1], ignore_index); }, *logits, *target);
  else if (combines) raw::fill_(total, mean ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  return {combines ? total : losses, exp_sums};
}

Tensor cross_entropy_backward(const In& grad, const In& logits, const In& target, const In& exp_sums,
                              std::int64_t ignore_index, RowReduction reduction) {
  const Operation op("cross_entropy_backward", grad.where, {{"grad", *grad}, {"logits", *logits}, {"target", *target}});
  const Tensor out = new_result(logits->shape(), logits->dtype(), logits->device());
  if (out.numel())
    op.run(calls::CrossEntropyBackward{expand(grad, target->shape()), contiguous(logits), contiguous(target), *exp_sums,
                                       out, ignore_index, reduction == RowReduction::mean});
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {

namespace detail {

Tensor reduced_cross_entropy(const In& logits, const In& target, std::int64_t ignore_index, RowReduction reduction,
                             std::optional<DType> result) {
  auto [losses, exp_sums] = raw::cross_entropy(logits, target, ignore_index, reduction, result);
  if (!records(*logits)) return losses;
  return record("cross_entropy", std::move(losses), {logits},
                [x = Saved(*logits), t = Saved(*target), sums = exp_sums, ignore_index, reduction](const Tensor& g) {
                  if (!is_grad_enabled())
                    return raw::cross_entropy_backward(g, x(), t(), sums, ignore_index, reduction);
                  const bool slices = x().dim() == 3;
                  const Tensor wanted = slices ? t().reshape({x().size(0), x().size(2)}) : t();
                  const Tensor ignored = eq(wanted, ignore_index);
                  Tensor target_mask = one_hot(where(ignored, 0, wanted), x().size(1)).to(g.dtype());
                  if (slices) target_mask = target_mask.transpose(1, 2);
                  const Tensor each = reduction == RowReduction::mean ? div(g, sum(logical_not(ignored)).to(g.dtype()))
                                      : reduction == RowReduction::none ? g.reshape(wanted.shape())
                                                                        : g;
                  const Tensor row_gradient = where(ignored, 0.0, each).unsqueeze(1);
                  return mul(row_gradient, sub(softmax(x().to(g.dtype()), 1), target_mask));
                });
}

}  // namespace detail

Tensor cross_entropy_rows(const In& logits, const In& target, std::int64_t ignore_index) {
  const CallSite site("cross_entropy", logits.where);
  return detail::reduced_cross_entropy(logits, target, ignore_index, detail::RowReduction::none);
}

}  // namespace minnow
