#include <minnow/ops/random/sample.h>

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/sample.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow {
namespace {

PhiloxState reserved(RandomGenerator* generator, const Tensor& out) {
  const std::int64_t each = size_of(out.dtype()) == 8 ? 2 : 1;
  return (generator ? *generator : default_generator()).reserve(each * out.numel());
}

void require_floating_point(const Tensor& x) {
  x.require_defined();
  if (!x.is_floating_point())
    throw DTypeError(message("the tensor is not floating-point", {{"self", x}}, "convert first: .to(float32)"));
}

void require(bool valid, const Tensor& x, const std::string& text, const char* hint) {
  if (!valid) throw ValueError(message(text, {{"self", x}}, hint));
}

/// Writes x by draw(out), which fills a contiguous tensor of `dtype`.
template <class Draw> Tensor drawn(const char* name, const In& x, DType dtype, const Draw& draw) {
  const auto apart = [&] {
    Tensor out = raw::new_result(x->shape(), dtype, x->device());
    if (out.numel()) draw(backend_of(x->device()), out);
    return out;
  };
  return detail::in_place(name, x, records(*x), apart, [&] {
    raw::require_writable(x);
    if (x->dtype() != dtype || !x->is_contiguous()) {
      raw::copy_to(apart(), *x);
      return;
    }
    x->storage()->wait_ready();
    CaptureSession::note(*x);
    if (x->numel()) draw(backend_of(x->device()), *x);
    x->storage()->bump_version();
  });
}

/// The largest integer of a dtype, as a float64.
double largest(DType dtype) {
  const int bits = 8 * static_cast<int>(size_of(dtype)) - (dtype == DType::uint8 ? 0 : 1);
  return bits < 54 ? std::ldexp(1.0, bits) - 1 : std::nextafter(std::ldexp(1.0, bits), 0);
}

/// What the numbers are drawn in, for a function of them.
DType precise(DType dtype) { return dtype == DType::float64 || is_integral(dtype) ? DType::float64 : DType::float32; }

}  // namespace

void detail::require_in(const Range& range, const char* name, const Tensor& x, const char* hint) {
  if (!x.device().is_cpu()) return;
  struct Outside {
    std::int64_t count = 0;
    double first = 0;
  };
  const auto find = [&range](const Tensor& t) {
    const Tensor dense = raw::contiguous(t);
    dense.storage()->wait_ready();
    Outside found;
    dtype_switch(t.dtype(), [&]<class T>() {
      const T* values = static_cast<const T*>(dense.raw_data());
      for (std::int64_t i = dense.numel(); i-- > 0;) {
        const auto value = static_cast<double>(values[i]);
        const bool inside = (range.open ? value > range.low : value >= range.low) && value <= range.high;
        if (!inside) found = {found.count + 1, value};
      }
    });
    return found;
  };
  constexpr std::int64_t kFew = 64;  // of more, the ends are found by vectors, and NaN is both of them
  if (x.numel() > kFew && find(amin(x.detach(), {})).count == 0 && find(amax(x.detach(), {})).count == 0) return;
  const auto [count, first] = find(x);
  if (count > 0)
    throw ValueError(message(x.numel() == 1 ? fmt::format("{} must be {}, got {}", name, range.text, first)
                                            : fmt::format("{} must be {}: {} of {} values are not, the first is {}",
                                                          name, range.text, count, x.numel(), first),
                             {{name, x}}, hint));
}

Tensor uniform_(const In& x, double low, double high, RandomGenerator* generator) {
  const CallSite site("uniform_", x.where);
  require_floating_point(*x);
  require(low <= high && std::isfinite(high - low), *x,
          fmt::format("low must not be above high, and both be finite, got {} and {}", low, high),
          "numbers are in [low, high)");
  return drawn("uniform_", x, x->dtype(), [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Uniform{reserved(generator, out), out, low, high});
  });
}

Tensor normal_(const In& x, double mean, double std, RandomGenerator* generator) {
  const CallSite site("normal_", x.where);
  require_floating_point(*x);
  require(std >= 0, *x, fmt::format("std must be 0 or more, got {}", std), "0 gives the mean everywhere");
  return drawn("normal_", x, x->dtype(), [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Normal{reserved(generator, out), out, mean, std});
  });
}

Tensor log_normal_(const In& x, double mean, double std, RandomGenerator* generator) {
  const CallSite site("log_normal_", x.where);
  require_floating_point(*x);
  require(std > 0, *x, fmt::format("std must be above 0, got {}", std), "it is the deviation of the logarithm");
  return drawn("log_normal_", x, precise(x->dtype()), [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Normal{reserved(generator, out), out, mean, std});
    exp_(out);
  });
}

Tensor exponential_(const In& x, double rate, RandomGenerator* generator) {
  const CallSite site("exponential_", x.where);
  require_floating_point(*x);
  require(rate > 0, *x, fmt::format("rate must be above 0, got {}", rate), "the mean is 1 / rate");
  return drawn("exponential_", x, x->dtype(), [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Exponential{reserved(generator, out), out, rate});
  });
}

Tensor cauchy_(const In& x, double median, double scale, RandomGenerator* generator) {
  const CallSite site("cauchy_", x.where);
  require_floating_point(*x);
  require(scale > 0, *x, fmt::format("scale must be above 0, got {}", scale), "half of the elements are within it");
  return drawn("cauchy_", x, precise(x->dtype()), [&](Backend& backend, const Tensor& out) {
    constexpr double kPi = 3.14159265358979324;
    backend.run(calls::Uniform{reserved(generator, out), out, -kPi / 2, kPi / 2});
    raw::unary_(raw::kUnary<kernels::Tan>, out);
    add_(mul_(out, scale), median);
  });
}

Tensor geometric_(const In& x, double p, RandomGenerator* generator) {
  const CallSite site("geometric_", x.where);
  x->require_defined();
  require(p > 0 && p < 1, *x, fmt::format("p must be in (0, 1), got {}", p), "it is the probability of a success");
  return drawn("geometric_", x, precise(x->dtype()), [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Exponential{reserved(generator, out), out, -std::log1p(-p)});
    ceil_(out);
    if (is_integral(x->dtype())) clamp_(out, 1, largest(x->dtype()));
  });
}

Tensor bernoulli_(const In& x, double p, RandomGenerator* generator) {
  const CallSite site("bernoulli_", x.where);
  x->require_defined();
  require(p >= 0 && p <= 1, *x, fmt::format("p must be in [0, 1], got {}", p), "it is the probability of a 1");
  return drawn("bernoulli_", x, DType::bool_, [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Bernoulli{reserved(generator, out), out, p});
  });
}

Tensor random_(const In& x, std::int64_t low, std::int64_t high, RandomGenerator* generator) {
  const CallSite site("random_", x.where);
  x->require_defined();
  require(low < high, *x, fmt::format("there are no integers in [{}, {})", low, high), "high must be above low");
  if (x->dtype() == DType::bool_)
    require(low >= 0 && high <= 2, *x, fmt::format("bool holds 0 and 1, not all of [{}, {})", low, high),
            "pass 0 and 2");
  for (const std::int64_t end : {low, high - 1}) require_representable(end, x->dtype());
  return drawn("random_", x, DType::int64, [&](Backend& backend, const Tensor& out) {
    backend.run(calls::Randint{reserved(generator, out), out, low, high});
  });
}

Tensor random_(const In& x, RandomGenerator* generator) {
  const CallSite site("random_", x.where);
  x->require_defined();
  const auto high = [&]() -> std::int64_t {
    switch (x->dtype()) {
      case DType::float32: return (std::int64_t{1} << 24) + 1;
      case DType::float64: return (std::int64_t{1} << 53) + 1;
      case DType::float16: return (1 << 11) + 1;
      case DType::bfloat16: return (1 << 8) + 1;
      case DType::int64: return INT64_MAX;
      case DType::int32: return std::int64_t{1} << 31;
      case DType::int16: return 1 << 15;
      case DType::int8: return 1 << 7;
      case DType::uint8: return 1 << 8;
      case DType::bool_: break;
    }
    return 2;
  };
  return random_(x, 0, high(), generator);
}

Tensor bernoulli(const In& p, RandomGenerator* generator) {
  const CallSite site("bernoulli", p.where);
  require_floating_point(*p);
  require_in(detail::kProbability, "p", *p, "pass probabilities, e.g. sigmoid(logits)");
  const NoGradGuard no_grad;
  const Tensor u = rand(p->shape(), {precise(p->dtype()), p->device(), generator});
  return lt(u, *p).to(p->dtype());
}

Tensor multinomial(const In& weights, std::int64_t count, bool replacement, RandomGenerator* generator) {
  const Operation op("multinomial", weights.where, {{"weights", *weights}});
  require_floating_point(*weights);
  const int rank = weights->dim();
  if (rank < 1 || rank > 2 || weights->size(-1) == 0)
    throw ShapeError(message("weights must be a vector or a matrix with columns", op, "a row for each distribution"));
  const std::int64_t m = weights->size(-1);
  if (count < 1 || (!replacement && count > m))
    throw ValueError(
        message(fmt::format("the number of draws must be at least 1{}, got {}",
                            replacement ? "" : fmt::format(", and at most {} without replacement", m), count),
                op, "pass replacement = true to draw an index more than once"));
  const NoGradGuard no_grad;
  const Tensor w = weights->detach().to(DType::float64).reshape({-1, m});
  const std::int64_t n = w.size(0);
  const Tensor positive = ge(amin(w, 1, true), 0);
  Tensor drawn_indices;
  if (replacement) {
    const Tensor sums = cumsum(w, 1), running = div(sums, sums.narrow(1, m - 1, 1));  // the last is 1, or there is none
    // NaN where the row is not a distribution: it is after all numbers.
    const Tensor last = where(positive, running.narrow(1, m - 1, 1), std::numeric_limits<double>::quiet_NaN());
    drawn_indices = searchsorted(running, mul(rand({n, count}, {DType::float64, w.device(), generator}), last), true);
  } else {
    // The smallest of exponential times with these rates, which is in proportion to 1 / weight.
    const Tensor time = empty({n, m}, {DType::float64, w.device()});
    exponential_(time, 1, generator);
    const Ordered first = topk(div(w, time), count, 1);
    const Tensor enough = all(gt(first.values, 0), 1, true);
    drawn_indices = where(logical_and(logical_and(positive, isfinite(amax(w, 1, true))), enough), first.indices, -1);
  }
  if (drawn_indices.numel()) {
    const Tensor picked = raw::new_result(drawn_indices.shape(), DType::float64, w.device());
    run_checked(
        op.backend(), calls::Gather{w, drawn_indices, picked, 1},
        [](const Tensor& t) {
          throw ValueError(message("a row of weights is not a distribution", {{"weights", t}},
                                   "weights are finite, not negative, and enough of them positive for the draws"));
        },
        *weights);
  }
  return rank == 1 ? drawn_indices.reshape({count}) : drawn_indices;
}

}  // namespace minnow
