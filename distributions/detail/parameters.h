#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>
#include <minnow/ops/detail/sample.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/random.h>

namespace minnow::distributions::detail {

inline const double kHalfLog2Pi = 0.5 * std::log(2 * 3.14159265358979323846);

using minnow::detail::kAboveZero;
using minnow::detail::kAnyNumber;
using minnow::detail::kFromZero;
using minnow::detail::kProbability;
using minnow::detail::Range;

struct NamedParameter {
  const char* name;
  const TensorLike& value;
  Range range;
};

/// The parameters of a distribution, broadcast to one shape; numbers take the dtype and device of the tensors.
/// ValueError for numbers, and elements of tensors on the cpu, that are outside of their range.
std::vector<Tensor> broadcast(const char* owner, std::initializer_list<NamedParameter> parameters);
/// ValueError if it is undefined, DTypeError unless floating-point.
void require_floating_point(const char* owner, const char* name, const Tensor& parameter, SourceLocation where);

/// The range check of broadcast(), for a parameter of its own.  A CallSite is open.
void require_in(const Range& range, const char* name, const Tensor& parameter);

/// Dimensions [from, to) of a shape.
Shape part(const Shape& shape, int from, int to);
/// Without the last dimension.
inline Shape leading(const Shape& shape) { return part(shape, 0, static_cast<int>(shape.rank()) - 1); }
/// `shape` followed by `rest`.
Shape join(const Shape& shape, const Shape& rest);
/// Random numbers like a parameter; the uniform ones are float32 beside halves, which have too few of them.
Tensor uniform(const Shape& shape, const Tensor& like, RandomGenerator* generator);
Tensor normal(const Shape& shape, const Tensor& like, RandomGenerator* generator);
/// The relative precision of a dtype, and its smallest positive normal number.
double precision(DType dtype);
double tiny(DType dtype);
/// a log x, and 0 where a is 0 and x is not positive.
Tensor xlogy(const Tensor& a, const Tensor& x);
/// Values of the gamma distribution with rate 1, with gradients to its concentration.
Tensor standard_gamma(const Tensor& concentration, RandomGenerator* generator);
/// Their logarithms, which are numbers where small concentrations give values that are not; in float32 for halves.
Tensor log_standard_gamma(const Tensor& concentration, RandomGenerator* generator);

/// dx / da of a value x of the gamma distribution with concentration a and rate 1, as torch._standard_gamma_grad.
Tensor standard_gamma_gradient(const Tensor& a, const Tensor& x);
/// d log x / da.
Tensor log_standard_gamma_gradient(const Tensor& a, const Tensor& log_x);

}  // namespace minnow::distributions::detail
