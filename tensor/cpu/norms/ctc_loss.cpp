#include <algorithm>
#include <vector>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/ctc.h>

namespace minnow::cpu {
namespace {

const std::int64_t* numbers(const View& t) { return static_cast<const std::int64_t*>(t.raw_data()); }

/// The first target of sample n: after those of the samples before.
std::int64_t first_target(const View& targets, const std::int64_t* lengths, std::int64_t n) {
  if (targets.dim() == 2) return n * targets.shape()[1];
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < n; ++i) first += lengths[i];
  return first;
}

template <class T, class C> kernels::CtcSample<T> sample(const C& call, std::int64_t n, std::int64_t first) {
  const Strides& strides = call.x.strides();
  return {static_cast<const T*>(call.x.raw_data()) + n * strides[1],
          strides[0],
          strides[2],
          numbers(call.targets) + first,
          numbers(call.input_lengths)[n],
          numbers(call.target_lengths)[n],
          call.blank};
}

template <class T, class C> T* alpha_of(const C& call, std::int64_t n, std::int64_t first) {
  return static_cast<T*>(call.alpha.raw_data()) + call.x.shape()[0] * (2 * first + n);
}

Outcome check(const calls::CtcLoss& args) {
  const std::int64_t steps = args.x.shape()[0], batch = args.x.shape()[1], classes = args.x.shape()[2];
  const std::int64_t *in = numbers(args.input_lengths), *out = numbers(args.target_lengths);
  const bool padded = args.targets.dim() == 2;
  const std::int64_t longest = padded ? args.targets.shape()[1] : args.targets.numel();
  std::int64_t used = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    if (in[n] < 0 || in[n] > steps || out[n] < 0 || out[n] > longest) return Outcome::index_out_of_range;
    const std::int64_t first = padded ? n * longest : used;
    used += out[n];
    if (!padded && used > longest) return Outcome::index_out_of_range;
    for (std::int64_t i = first; i < first + out[n]; ++i)
      if (numbers(args.targets)[i] < 0 || numbers(args.targets)[i] >= classes) return Outcome::class_out_of_range;
  }
  return padded || used == longest ? Outcome::ok : Outcome::index_out_of_range;
}

constexpr std::int64_t kWork = 16;  // an element takes an exponential and a logarithm: as long as so many bytes

template <class T> void run(const calls::CtcLoss& args) {
  const std::int64_t batch = args.x.shape()[1];
  T* const losses = static_cast<T*>(args.losses.raw_data());
  parallel_for(batch, kWork * args.alpha.nbytes(), [&](std::int64_t n) {
    const std::int64_t first = first_target(args.targets, numbers(args.target_lengths), n);
    const kernels::CtcSample<T> one = sample<T>(args, n, first);
    const std::int64_t states = one.states();
    const T* before = nullptr;
    T* row = alpha_of<T>(args, n, first);
    for (std::int64_t t = 0; t < one.steps; ++t, before = row, row += states)
      for (std::int64_t s = 0; s < states; ++s) row[s] = one.alpha(t, s, before);
    losses[n] = one.loss(before);
  });
}

template <class T> void run(const calls::CtcLossBackward& args) {
  const std::int64_t steps = args.x.shape()[0], batch = args.x.shape()[1], classes = args.x.shape()[2];
  const std::int64_t* lengths = numbers(args.target_lengths);
  const std::int64_t row = 2 * (batch ? *std::max_element(lengths, lengths + batch) : 0) + 1;
  const ThreadScratch memory(static_cast<std::size_t>(2 * row) * sizeof(T));
  const T* const grads = static_cast<const T*>(args.grad.raw_data());
  parallel_for(batch, kWork * args.alpha.nbytes() + args.grad_x.nbytes(), [&](std::int64_t n) {
    const std::int64_t first = first_target(args.targets, lengths, n);
    const kernels::CtcSample<T> one = sample<T>(args, n, first);
    const std::int64_t states = one.states();
    const T loss = static_cast<const T*>(args.losses.raw_data())[n];
    const T grad = grads[args.grad.strides()[0] * n];
    const bool none = args.zero_infinity && loss == kernels::math::kInfinity<T>;
    const auto gradient_of = [&](std::int64_t t) {
      return static_cast<T*>(args.grad_x.raw_data()) + (t * batch + n) * classes;
    };
    for (std::int64_t t = none ? 0 : one.steps; t < steps; ++t) std::fill_n(gradient_of(t), classes, T(0));
    if (none) return;
    T *beta = static_cast<T*>(memory.mine()), *after = beta + row;
    for (std::int64_t t = one.steps - 1; t >= 0; --t, std::swap(beta, after)) {
      const T* const alpha = alpha_of<T>(args, n, first) + t * states;
      T* const out = gradient_of(t);
      std::fill_n(out, classes, -kernels::math::kInfinity<T>);
      for (std::int64_t s = 0; s < states; ++s) {
        beta[s] = one.beta(t, s, after);
        T& paths = out[one.label(s)];
        paths = one.log_sum(paths, alpha[s] + beta[s], -kernels::math::kInfinity<T>);
      }
      for (std::int64_t c = 0; c < classes; ++c) out[c] = one.gradient(t, c, out[c], loss) * grad;
    }
  });
}

}  // namespace

template <> Outcome execute(const calls::CtcLoss& args) {
  if (const Outcome found = check(args); found != Outcome::ok) return found;
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
  return Outcome::ok;
}

template <> void execute(const calls::CtcLossBackward& args) {
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
}

}  // namespace minnow::cpu
