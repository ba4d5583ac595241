#include <atomic>
#include <bit>
#include <cmath>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/reduce.h>

namespace minnow::cpu {
namespace {

/// Multiplies and returns whether an element was not finite.  By its bits, so that the loop is vectorized.
template <class T, class Bits> bool multiply(T* __restrict x, std::int64_t n, T factor) {
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    found |= (std::bit_cast<Bits>(x[i]) & kInfinity) == kInfinity ? Bits{1} : Bits{0};
    x[i] *= factor;
  }
  return found != 0;
}

bool multiply(const View& t, std::int64_t begin, std::int64_t end, double factor) {
  if (t.dtype() == DType::float64)
    return multiply<double, std::uint64_t>(static_cast<double*>(t.raw_data()) + begin, end - begin, factor);
  return multiply<float, std::uint32_t>(static_cast<float*>(t.raw_data()) + begin, end - begin,
                                        static_cast<float>(factor));
}

/// The one element.
double number_in(const View& t) {
  return t.dtype() == DType::float64 ? *static_cast<const double*>(t.raw_data())
                                     : static_cast<double>(*static_cast<const float*>(t.raw_data()));
}
void write_number(const View& t, double x) {
  if (t.dtype() == DType::float64) *static_cast<double*>(t.raw_data()) = x;
  else *static_cast<float*>(t.raw_data()) = static_cast<float>(x);
}

}  // namespace

template <> void execute(const calls::ScaleGradients& args) {
  double factor = number_in(args.factor);
  if (args.divide) factor = static_cast<double>(static_cast<float>(1 / factor));
  std::atomic<bool> found = false;
  for (const UpdateItem& item : args.items) {
    const View& grad = *item.grad;
    const bool direct = !is_half(grad.dtype()) && is_dense(grad.shape(), grad.strides());
    const View dense = direct ? grad : packed(grad, grad.dtype() == DType::float64 ? DType::float64 : DType::float32);
    parallel_blocks(dense.numel(), std::int64_t{1} << 15, dense.nbytes(), [&](std::int64_t begin, std::int64_t end) {
      if (multiply(dense, begin, end, factor)) found.store(true, std::memory_order_relaxed);
    });
    if (!direct) convert(dense, grad);
  }
  if (found && args.found_inf.defined()) *static_cast<float*>(args.found_inf.raw_data()) = 1;
}

template <> void execute(const calls::GradientNorm& args) {
  const View one(args.norm.storage(), args.norm.dtype(), Shape{1, 1}, Strides{1, 1}, args.norm.storage_offset());
  double sum = 0;
  for (const UpdateItem& item : args.items) {
    const View& grad = *item.grad;
    const View row(grad.storage(), grad.dtype(), Shape{1, grad.numel(), 1}, Strides{grad.numel(), 1, 1},
                   grad.storage_offset());
    execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Norm2>, row, one});
    sum += number_in(one) * number_in(one);
  }
  write_number(args.norm, std::sqrt(sum));
  const double factor = args.max_norm / (number_in(args.norm) + 1e-6);
  write_number(args.factor, factor > 1 ? 1 : factor);
}

template <> void execute(const calls::UpdateScale& args) {
  float& scale = *static_cast<float*>(args.scale.raw_data());
  auto& tracker = *static_cast<std::int32_t*>(args.growth_tracker.raw_data());
  if (*static_cast<const float*>(args.found_inf.raw_data()) != 0) {
    scale = static_cast<float>(static_cast<double>(scale) * args.backoff_factor);
    tracker = 0;
  } else if (++tracker >= args.growth_interval) {
    const auto grown = static_cast<float>(static_cast<double>(scale) * args.growth_factor);
    if (std::isfinite(grown)) scale = grown;
    tracker = 0;
  }
}

}  // namespace minnow::cpu
