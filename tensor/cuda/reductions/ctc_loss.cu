#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/ctc.h>

namespace minnow::cuda {
namespace {

/// The operands of both calls.
template <class T> struct Batch {
  const T* x;
  std::int64_t x_step, x_sample, x_class;
  std::int64_t steps, size, classes, blank;
  const std::int64_t *targets, *input_lengths, *target_lengths;
  std::int64_t padded;  ///< targets of each sample; -1: one sample after the other
  std::int64_t count;   ///< all targets
  T* alpha;
  T* losses;

  template <class C>
  explicit Batch(const C& call)
      : x(static_cast<const T*>(call.x.raw_data())),
        x_step(call.x.strides()[0]),
        x_sample(call.x.strides()[1]),
        x_class(call.x.strides()[2]),
        steps(call.x.shape()[0]),
        size(call.x.shape()[1]),
        classes(call.x.shape()[2]),
        blank(call.blank),
        targets(static_cast<const std::int64_t*>(call.targets.raw_data())),
        input_lengths(static_cast<const std::int64_t*>(call.input_lengths.raw_data())),
        target_lengths(static_cast<const std::int64_t*>(call.target_lengths.raw_data())),
        padded(call.targets.dim() == 2 ? call.targets.shape()[1] : -1),
        count(call.targets.numel()),
        alpha(static_cast<T*>(call.alpha.raw_data())),
        losses(static_cast<T*>(call.losses.raw_data())) {}

  /// The first target of sample n; -1 if a length is out of range.
  __device__ std::int64_t first_target(std::int64_t n) const {
    const std::int64_t length = target_lengths[n];
    if (input_lengths[n] < 0 || input_lengths[n] > steps) return -1;
    if (padded >= 0) return length < 0 || length > padded ? -1 : n * padded;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (target_lengths[i] < 0 || target_lengths[i] > count - first) return -1;
      first += target_lengths[i];
    }
    if (length < 0 || length > count - first || (n == size - 1 && first + length != count)) return -1;
    return first;
  }
  __device__ kernels::CtcSample<T> sample(std::int64_t n, std::int64_t first) const {
    return {x + n * x_sample, x_step, x_class, targets + first, input_lengths[n], target_lengths[n], blank};
  }
  __device__ T* alpha_of(std::int64_t n, std::int64_t first) const { return alpha + steps * (2 * first + n); }
};

/// Whether a target of the sample is out of range; the same for all threads of the block.
template <class T> __device__ bool has_bad_target(const kernels::CtcSample<T>& one, std::int64_t classes) {
  bool bad = false;
  for (std::int64_t i = threadIdx.x; i < one.length; i += blockDim.x)
    bad = bad || one.target[i] < 0 || one.target[i] >= classes;
  return __syncthreads_or(bad) != 0;
}

/// A block for each sample, a thread for each state.
template <class T> __global__ void loss_kernel(Batch<T> batch, std::uint32_t* bad_length, std::uint32_t* bad_target) {
  for (std::int64_t n = blockIdx.x; n < batch.size; n += gridDim.x) {
    const std::int64_t first = batch.first_target(n);
    const kernels::CtcSample<T> one = batch.sample(n, first < 0 ? 0 : first);
    const bool stray = first >= 0 && has_bad_target(one, batch.classes);
    if (first < 0 || stray) {
      if (threadIdx.x == 0) {
        *(stray ? bad_target : bad_length) = 1;
        batch.losses[n] = kernels::math::kNan<T>;
      }
      continue;
    }
    const std::int64_t states = one.states();
    const T* before = nullptr;
    T* row = batch.alpha_of(n, first);
    for (std::int64_t t = 0; t < one.steps; ++t, before = row, row += states) {
      for (std::int64_t s = threadIdx.x; s < states; s += blockDim.x) row[s] = one.alpha(t, s, before);
      __syncthreads();
    }
    if (threadIdx.x == 0) batch.losses[n] = one.loss(before);
  }
}

/// log of the sum of e^(alpha + beta) over the states from s on with the label of state s.
template <class T>
__device__ T paths_from(const kernels::CtcSample<T>& one, std::int64_t s, const T* alpha, const T* beta) {
  const std::int64_t states = one.states(), label = one.label(s);
  T largest = -kernels::math::kInfinity<T>;
  for (std::int64_t u = s; u < states; ++u)
    if (one.label(u) == label && alpha[u] + beta[u] > largest) largest = alpha[u] + beta[u];
  if (largest == -kernels::math::kInfinity<T>) return largest;
  T sum = T(0);
  for (std::int64_t u = s; u < states; ++u)
    if (one.label(u) == label) sum += kernels::math::exp(alpha[u] + beta[u] - largest);
  return kernels::math::log(sum) + largest;
}

/// Whether no state before s has its label.
template <class T> __device__ bool is_first(const kernels::CtcSample<T>& one, std::int64_t s) {
  if (s == 0) return true;
  const std::int64_t label = one.label(s);
  if (label == one.blank) return false;
  for (std::int64_t u = 1; u < s; u += 2)
    if (one.label(u) == label) return false;
  return true;
}

/// betas: two rows of states for each sample.
template <class T>
__global__ void gradient_kernel(Batch<T> batch, const T* grads, T* betas, T* grad_x, bool zero_infinity) {
  for (std::int64_t n = blockIdx.x; n < batch.size; n += gridDim.x) {
    const std::int64_t first = batch.first_target(n);
    const T loss = batch.losses[n], grad = grads[n];
    const bool wrong = first < 0, none = zero_infinity && loss == kernels::math::kInfinity<T>;
    const kernels::CtcSample<T> one = batch.sample(n, wrong ? 0 : first);
    const bool skipped = wrong || none || has_bad_target(one, batch.classes);
    const auto gradient_of = [&](std::int64_t t) { return grad_x + (t * batch.size + n) * batch.classes; };
    for (std::int64_t t = skipped ? 0 : one.steps; t < batch.steps; ++t)
      for (std::int64_t c = threadIdx.x; c < batch.classes; c += blockDim.x) gradient_of(t)[c] = T(0);
    if (skipped) continue;
    const std::int64_t states = one.states();
    T *beta = betas + 2 * (2 * first + n), *after = beta + states;
    for (std::int64_t t = one.steps - 1; t >= 0; --t) {
      const T* const alpha = batch.alpha_of(n, first) + t * states;
      T* const out = gradient_of(t);
      for (std::int64_t s = threadIdx.x; s < states; s += blockDim.x) beta[s] = one.beta(t, s, after);
      for (std::int64_t c = threadIdx.x; c < batch.classes; c += blockDim.x) out[c] = -kernels::math::kInfinity<T>;
      __syncthreads();
      for (std::int64_t s = threadIdx.x; s < states; s += blockDim.x)
        if (is_first(one, s)) out[one.label(s)] = paths_from(one, s, alpha, beta);
      __syncthreads();
      for (std::int64_t c = threadIdx.x; c < batch.classes; c += blockDim.x)
        out[c] = one.gradient(t, c, out[c], loss) * grad;
      T* const written = beta;
      beta = after;
      after = written;
    }
  }
}

template <class T> void run(const calls::CtcLoss& args) {
  const Call call(args);
  const Batch<T> batch(args);
  launch(call, loss_kernel<T>, blocks_for(batch.size, 1), kThreads, batch, call.fault_flag(Fault::length_out_of_range),
         call.fault_flag(Fault::target_out_of_range));
}

template <class T> void run(const calls::CtcLossBackward& args) {
  const Call call(args);
  const Batch<T> batch(args);
  const Scratch betas(call, static_cast<std::size_t>(2 * (2 * batch.count + batch.size)) * sizeof(T));
  launch(call, gradient_kernel<T>, blocks_for(batch.size, 1), kThreads, batch,
         static_cast<const T*>(args.grad.raw_data()), betas.as<T>(), static_cast<T*>(args.grad_x.raw_data()),
         args.zero_infinity);
}

}  // namespace

template <> Outcome execute(const calls::CtcLoss& args) {
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
  return Outcome::ok;
}

template <> void execute(const calls::CtcLossBackward& args) {
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
}

}  // namespace minnow::cuda
