#include <minnow/nn/module/finite_check.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::nn {

void FiniteCheck::operator()(const In& loss) {
  const Operation op("FiniteCheck", loss.where, {{"loss", *loss}});
  const NoGradGuard no_grad;
  const CaptureRules* rules = CaptureRules::current();
  if (!counts_.defined()) {
    if (rules && !rules->may_allocate) forbid_in_capture("FiniteCheck");  // each replay would begin to count again
    const CaptureRulesScope none(nullptr);
    counts_ = tensor({1, 0}, {DType::int64, loss->device()});
    good_ = counts_.select(0, 0);
    so_far_ = counts_.select(0, 1);
  }
  const Tensor finite = isfinite(loss->detach());
  mul_(good_, loss->dim() ? all(finite) : finite);
  add_(so_far_, good_);
  if (!rules) look(false);
}

void FiniteCheck::poll(SourceLocation where) {
  const CallSite site("FiniteCheck", where);
  look(false);
}

void FiniteCheck::finish(SourceLocation where) {
  const CallSite site("FiniteCheck", where);
  seen_ = Tensor();
  look(true);
}

void FiniteCheck::look(bool wait) {
  if (!counts_.defined()) return;
  if (!seen_.defined()) seen_ = counts_.to(Device(), {.non_blocking = true});
  if (!wait && !seen_.is_ready()) return;
  const auto counts = seen_.to_vector<std::int64_t>();
  seen_ = Tensor();
  if (counts[0]) return;
  throw ValueError(message("loss number " + std::to_string(counts[1] + 1) + " was the first that is NaN or infinite",
                           {}, "lower the learning rate or clip gradients; DetectAnomalyGuard finds the operation"));
}

}  // namespace minnow::nn
