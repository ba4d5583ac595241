#include <fmt/format.h>
#include <memory>
#include <minnow/ops/detail/ctc_loss.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/transfer.h>

namespace minnow::detail {
namespace {

/// The elements of an int64 tensor on any device, for messages.
class HostNumbers {
 public:
  explicit HostNumbers(const Tensor& t) : home_(raw::to_device(raw::contiguous(t), Device())) {
    home_.storage()->wait_ready();
  }
  std::int64_t operator[](std::int64_t i) const { return static_cast<const std::int64_t*>(home_.raw_data())[i]; }

 private:
  Tensor home_;
};

/// Throws the error for what a backend found.
[[noreturn]] void refuse(const Tensor& x, const Tensor& targets, const Tensor& input_lengths,
                         const Tensor& target_lengths) {
  const Operand operands[] = {
      {"log_probs", x}, {"targets", targets}, {"input_lengths", input_lengths}, {"target_lengths", target_lengths}};
  const HostNumbers labels(targets), in(input_lengths), out(target_lengths);
  const std::int64_t steps = x.size(0), classes = x.size(2), all = targets.numel();
  const bool padded = targets.dim() == 2;
  const std::int64_t longest = padded ? targets.size(1) : all;
  std::int64_t first = 0;
  for (std::int64_t n = 0; n < x.size(1); ++n) {
    if (in[n] < 0 || in[n] > steps)
      throw ValueError(message(fmt::format("input_lengths[{}] is {}, and log_probs has {} steps", n, in[n], steps),
                               operands, "an input's length is from 0 to the number of steps"));
    if (out[n] < 0 || out[n] > longest - (padded ? 0 : first))
      throw ValueError(message(
          fmt::format("target_lengths[{}] is {}, and there are {} targets", n, out[n], longest - (padded ? 0 : first)),
          operands, "a target's length is from 0 to the number of targets of its sample"));
    const std::int64_t begin = padded ? n * longest : first;
    for (std::int64_t i = begin; i < begin + out[n]; ++i)
      if (labels[i] < 0 || labels[i] >= classes)
        throw IndexError(message(fmt::format("target {} of sample {} is out of range", labels[i], n), operands,
                                 fmt::format("targets go from 0 to {}", classes - 1)));
    first += out[n];
  }
  throw ValueError(message(fmt::format("target_lengths sum to {}, and there are {} targets", first, all), operands,
                           "concatenated targets have no padding"));
}

/// What backward reads.
struct Kept {
  Saved x, targets, input_lengths, target_lengths, losses;
  Tensor alpha;
  std::int64_t blank;
  bool zero_infinity;
};

Tensor gradient(const Kept& kept, const Tensor& grad) {
  const Tensor x = kept.x(), out = raw::new_result(x.shape(), x.dtype(), x.device());
  if (out.numel())
    dispatch({{"grad", grad}, {"log_probs", x}})
        .run(calls::CtcLossBackward{raw::contiguous(grad), x, kept.targets(), kept.input_lengths(),
                                    kept.target_lengths(), kept.alpha, kept.losses(), out, kept.blank,
                                    kept.zero_infinity});
  return record("ctc_loss", out, {grad, x}, [](const Tensor&) -> Gradients {
    throw AutogradError(message("it has no second derivative", {}, "call backward without create_graph"));
  });
}

}  // namespace

Tensor ctc_losses(const In& log_probs, const In& targets, const In& input_lengths, const In& target_lengths,
                  std::int64_t blank, bool zero_infinity) {
  const Operation op("ctc_loss", log_probs.where,
                     {{"log_probs", *log_probs},
                      {"targets", *targets},
                      {"input_lengths", *input_lengths},
                      {"target_lengths", *target_lengths}});
  const Tensor& x = *log_probs;
  const std::int64_t batch = x.size(1);
  const Tensor labels = raw::contiguous(targets), in = raw::contiguous(input_lengths),
               out = raw::contiguous(target_lengths);
  const std::int64_t states = 2 * targets->numel() + batch;
  const Tensor alpha = raw::new_result({x.size(0), states}, x.dtype(), x.device());
  Tensor losses = raw::new_result({batch}, x.dtype(), x.device());
  if (batch)
    run_checked(op.backend(), calls::CtcLoss{x, labels, in, out, alpha, losses, blank}, refuse, x, *targets,
                *input_lengths, *target_lengths);
  if (!records(x)) return losses;
  const auto kept = std::make_shared<const Kept>(
      Kept{Saved(x), Saved(labels), Saved(in), Saved(out), Saved::output(losses), alpha, blank, zero_infinity});
  return op.record(std::move(losses), {log_probs}, [kept](const Tensor& grad) { return gradient(*kept, grad); });
}

}  // namespace minnow::detail
