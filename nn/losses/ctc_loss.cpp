#include <minnow/nn/losses/ctc_loss.h>

#include <fmt/format.h>
#include <limits>
#include <minnow/nn/detail/loss.h>
#include <minnow/ops/detail/ctc_loss.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {

Tensor ctc_loss(const In& log_probs_, const In& targets_, const In& input_lengths_, const In& target_lengths_,
                CTCLossOptions options) {
  const Operation op("ctc_loss", log_probs_.where, {kWide, kKept},
                     {{"log_probs", *log_probs_},
                      {"targets", *targets_},
                      {"input_lengths", *input_lengths_},
                      {"target_lengths", *target_lengths_}});
  using minnow::detail::wide_index;
  const Tensor &x = op[0], targets = wide_index(op[1]), input_lengths = wide_index(op[2]),
               target_lengths = wide_index(op[3]);
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw DTypeError(message("log_probs must be float32 or float64", op, "convert it: .to(float32)"));
  for (const Tensor* t : {&targets, &input_lengths, &target_lengths})
    if (t->dtype() != DType::int64)
      throw DTypeError(message("targets and lengths must be int64 or int32", op, "convert them: .to(int64)"));
  const bool single = x.dim() == 2;
  const Shape lengths = single ? Shape{} : Shape{x.dim() == 3 ? x.size(1) : 0};
  const bool fits = x.dim() == 3 || x.dim() == 2, has_targets = targets.dim() == 1 || (targets.dim() == 2 && !single);
  if (!fits || !has_targets || !(input_lengths.shape() == lengths) || !(target_lengths.shape() == lengths) ||
      (targets.dim() == 2 && targets.size(0) != x.size(1)))
    throw ShapeError(message("the shapes do not match", op,
                             "log_probs: [T, N, C]  targets: [N, S] or [sum of target_lengths]  lengths: [N]; of one "
                             "sample [T, C], [S] and []"));
  const std::int64_t classes = x.size(-1);
  if (options.blank < 0 || options.blank >= classes)
    throw ValueError(message(fmt::format("blank is {}, and there are {} classes", options.blank, classes), op,
                             "it is the number of a class"));
  const auto batched = [&](const Tensor& t, int dim) { return single ? t.unsqueeze(dim) : t; };
  Tensor losses = minnow::detail::ctc_losses(batched(x, 1), batched(targets, 0), batched(input_lengths, 0),
                                             batched(target_lengths, 0), options.blank, options.zero_infinity);
  if (options.zero_infinity) losses = where(losses == std::numeric_limits<double>::infinity(), 0.0, losses);
  if (single) losses = losses.squeeze(0);
  if (options.reduction == Reduction::mean) losses = losses / clamp_min(target_lengths.to(x.dtype()), 1);
  return detail::reduced(losses, options.reduction);
}

}  // namespace minnow::nn
