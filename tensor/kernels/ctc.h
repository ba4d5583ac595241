#pragma once

#include <cstdint>
#include <minnow/tensor/kernels/math.h>

namespace minnow::detail::kernels {

/// One sample of a CTC loss (Graves et al. 2006).  Its states are the labels with blanks around them: 2 * length + 1.
/// alpha(t, s): log-probability of the paths to state s at step t; beta(t, s): of those from there to the end.  Both
/// have the log-probability of step t.
template <class T> struct CtcSample {
  const T* x;  ///< log-probabilities, of step t and class c at t * x_step + c * x_class
  std::int64_t x_step, x_class;
  const std::int64_t* target;
  std::int64_t steps, length, blank;

  MINNOW_HD std::int64_t states() const { return 2 * length + 1; }
  MINNOW_HD std::int64_t label(std::int64_t s) const { return s % 2 ? target[s / 2] : blank; }
  MINNOW_HD T at(std::int64_t t, std::int64_t c) const { return x[t * x_step + c * x_class]; }

  /// A path may go from state s to s + 2, which leaves out a blank between different labels.
  MINNOW_HD bool skips(std::int64_t s) const { return label(s) != label(s + 2); }

  MINNOW_HD static T log_sum(T a, T b, T c) {
    const T larger = a > b ? a : b, largest = larger > c ? larger : c;
    if (largest == -math::kInfinity<T>) return largest;
    return math::log(math::exp(a - largest) + math::exp(b - largest) + math::exp(c - largest)) + largest;
  }

  /// before: alpha of step t - 1.
  MINNOW_HD T alpha(std::int64_t t, std::int64_t s, const T* before) const {
    constexpr T kNever = -math::kInfinity<T>;
    if (t == 0) return s < 2 ? at(0, label(s)) : kNever;
    return at(t, label(s)) +
           log_sum(before[s], s > 0 ? before[s - 1] : kNever, s > 1 && skips(s - 2) ? before[s - 2] : kNever);
  }
  /// after: beta of step t + 1.
  MINNOW_HD T beta(std::int64_t t, std::int64_t s, const T* after) const {
    constexpr T kNever = -math::kInfinity<T>;
    const std::int64_t n = states();
    if (t == steps - 1) return s >= n - 2 ? at(t, label(s)) : kNever;
    return at(t, label(s)) +
           log_sum(after[s], s + 1 < n ? after[s + 1] : kNever, s + 2 < n && skips(s) ? after[s + 2] : kNever);
  }
  /// last: alpha of the last step.
  MINNOW_HD T loss(const T* last) const {
    constexpr T kNever = -math::kInfinity<T>;
    if (steps == 0) return length == 0 ? T(0) : math::kInfinity<T>;
    const std::int64_t n = states();
    return -log_sum(last[n - 1], n > 1 ? last[n - 2] : kNever, kNever);
  }
  /// The gradient of step t and class c; paths: log of the sum of e^(alpha + beta) over the states with this label.
  MINNOW_HD T gradient(std::int64_t t, std::int64_t c, T paths, T loss) const {
    const T log_p = at(t, c);
    return math::exp(log_p) - math::exp(paths + loss - log_p);
  }
};

}  // namespace minnow::detail::kernels
