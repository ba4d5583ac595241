#include <minnow/nn/module/init.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::nn::init {
namespace {

void require_floating_point(const Tensor& t) {
  t.require_defined();
  if (!t.is_floating_point())
    throw DTypeError(message("the tensor is not floating-point", {{"t", t}}, "convert first: .to(float32)"));
}

void require_matrix(const Tensor& t) {
  require_floating_point(t);
  if (t.dim() != 2) throw ShapeError(message("the tensor is not a matrix", {{"t", t}}, "it needs two dimensions"));
}

/// float16 and bfloat16 are drawn in float32 and rounded once.
RandomOptions random_options(const Tensor& t, RandomGenerator* generator) {
  return {t.dtype() == DType::float64 ? DType::float64 : DType::float32, t.device(), generator};
}

Tensor write(const Tensor& t, const Tensor& values) { return raw::copy_to(values, t); }

/// Writes host values, in row-major order.
Tensor write(const Tensor& t, const std::vector<double>& values) { return write(t, tensor(values).reshape(t.shape())); }

}  // namespace

Tensor uniform_(const Tensor& t, double low, double high, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("uniform_", where);
  require_floating_point(t);
  if (!(low <= high) || !std::isfinite(high - low))
    throw ValueError(fmt::format(
        "uniform_: low must not be above high, and both be finite, got {} and {}\nnumbers are in [low, high)", low,
        high));
  const NoGradGuard guard;
  const Tensor values = rand(t.shape(), random_options(t, generator));
  mul_(values, high - low);
  add_(values, low);
  return write(t, values);
}

Tensor normal_(const Tensor& t, double mean, double std, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("normal_", where);
  require_floating_point(t);
  if (!(std >= 0))
    throw ValueError(fmt::format("normal_: std must be 0 or more, got {}\n0 gives the mean everywhere", std));
  const NoGradGuard guard;
  const Tensor values = randn(t.shape(), random_options(t, generator));
  mul_(values, std);
  add_(values, mean);
  return write(t, values);
}

Tensor trunc_normal_(const Tensor& t, TruncNormalOptions o, SourceLocation where) {
  const CallSite site("trunc_normal_", where);
  require_floating_point(t);
  if (!(o.std > 0) || !(o.a < o.b))
    throw ValueError(fmt::format(
        "trunc_normal_: std must be positive and a less than b\n  std  {}\n  a    {}\n  b    {}", o.std, o.a, o.b));
  const NoGradGuard guard;
  // Inverse transform sampling: uniform numbers between the cumulative distribution at a and at b.
  const auto cumulative = [&](double x) { return std::erf((x - o.mean) / o.std / std::sqrt(2.0)); };
  const double from = cumulative(o.a), to = cumulative(o.b);
  Tensor values = rand(t.shape(), random_options(t, o.generator));
  values = add(mul(values, to - from), from);
  values = add(mul(erfinv(values), o.std * std::sqrt(2.0)), o.mean);
  return write(t, clamp(values, o.a, o.b));
}

Tensor constant_(const Tensor& t, double value, SourceLocation where) {
  const CallSite site("constant_", where);
  require_floating_point(t);
  raw::fill_(t, value);
  return t;
}
Tensor ones_(const Tensor& t, SourceLocation where) {
  const CallSite site("ones_", where);
  return constant_(t, 1);
}

Tensor zeros_(const Tensor& t, SourceLocation where) {
  const CallSite site("zeros_", where);
  return constant_(t, 0);
}

Tensor eye_(const Tensor& t, SourceLocation where) {
  const CallSite site("eye_", where);
  require_matrix(t);
  raw::fill_(t, 0);
  raw::fill_(t.detach().diagonal(), 1);
  return t;
}

Tensor dirac_(const Tensor& t, std::int64_t groups, SourceLocation where) {
  const CallSite site("dirac_", where);
  require_floating_point(t);
  if (t.dim() < 3 || t.dim() > 5)
    throw ShapeError(fmt::format(
        "dirac_: the weight of a convolution has 3 to 5 dimensions\n  t  {}\nit is [out, in, ...]", describe(t)));
  if (groups <= 0 || t.size(0) % groups != 0)
    throw ValueError(fmt::format(
        "dirac_: groups must divide the first dimension, got {}\n  t  {}\ngive the groups of the convolution", groups,
        describe(t)));
  std::int64_t kernel = 1, middle = 0;
  for (int d = 2; d < t.dim(); ++d) {
    kernel *= t.size(d);
    middle = middle * t.size(d) + t.size(d) / 2;
  }
  std::vector<double> values(static_cast<std::size_t>(t.numel()), 0.0);
  const std::int64_t per_group = t.size(0) / groups, in = t.size(1);
  for (std::int64_t g = 0; g < groups && kernel; ++g)
    for (std::int64_t c = 0; c < std::min(per_group, in); ++c)
      values[static_cast<std::size_t>(((g * per_group + c) * in + c) * kernel + middle)] = 1;
  return write(t, values);
}

Tensor orthogonal_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("orthogonal_", where);
  require_floating_point(t);
  if (t.dim() < 2)
    throw ShapeError(message("the tensor has fewer than two dimensions", {{"t", t}}, "it needs rows and columns"));
  if (!t.numel()) return t;
  const std::int64_t rows = t.size(0), columns = t.numel() / rows;
  const std::int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  const NoGradGuard guard;
  const linalg::QR factors = linalg::qr(randn({many, few}, {random_options(t, generator).dtype, Device(), generator}));
  // Of the factorizations the one with a positive diagonal, so that all rotations are equally likely.
  Tensor q = mul(factors.q, mul(sign(factors.r.diagonal()), gain));
  if (rows <= columns) q = q.t();
  return write(t, q.reshape(t.shape()));
}

Tensor sparse_(const Tensor& t, double sparsity, double std, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("sparse_", where);
  require_matrix(t);
  if (!(sparsity >= 0 && sparsity <= 1))
    throw ValueError(fmt::format(
        "sparse_: sparsity must be in [0, 1], got {}\nit is the fraction of zeros in each column", sparsity));
  const std::int64_t rows = t.size(0), columns = t.size(1);
  const auto zeros = static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  const NoGradGuard guard;
  const Tensor values = randn({rows, columns}, random_options(t, generator));
  mul_(values, std);
  for (std::int64_t c = 0; c < columns; ++c)
    index_fill_(values.select(1, c), 0, randperm(rows, {DType::int64, t.device(), generator}).narrow(0, 0, zeros), 0);
  return write(t, values);
}

Fans fans(const Tensor& t, SourceLocation where) {
  const CallSite site("fans", where);
  require_floating_point(t);
  if (t.dim() < 2)
    throw ShapeError(message("the tensor has fewer than two dimensions", {{"t", t}},
                             "fans are defined for a weight [out, in, ...]"));
  std::int64_t kernel = 1;
  for (int d = 2; d < t.dim(); ++d) kernel = saturating_mul(kernel, t.size(d));
  return {saturating_mul(t.size(1), kernel), saturating_mul(t.size(0), kernel)};
}

Tensor xavier_uniform_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("xavier_uniform_", where);
  const Fans f = fans(t);
  const double bound = gain * std::sqrt(6 / static_cast<double>(f.in + f.out));
  return uniform_(t, -bound, bound, generator);
}

Tensor xavier_normal_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const CallSite site("xavier_normal_", where);
  const Fans f = fans(t);
  return normal_(t, 0, gain * std::sqrt(2 / static_cast<double>(f.in + f.out)), generator);
}

namespace {

double kaiming_std(const Tensor& t, const KaimingOptions& o) {
  const Fans f = fans(t);
  const std::int64_t fan = o.mode == FanMode::fan_in ? f.in : f.out;
  return calculate_gain(o.nonlinearity, o.a) / std::sqrt(static_cast<double>(fan));
}

}  // namespace

Tensor kaiming_uniform_(const Tensor& t, KaimingOptions options, SourceLocation where) {
  const CallSite site("kaiming_uniform_", where);
  const double bound = std::sqrt(3.0) * kaiming_std(t, options);
  return t.numel() ? uniform_(t, -bound, bound, options.generator) : t;
}

Tensor kaiming_normal_(const Tensor& t, KaimingOptions options, SourceLocation where) {
  const CallSite site("kaiming_normal_", where);
  const double std = kaiming_std(t, options);
  return t.numel() ? normal_(t, 0, std, options.generator) : t;
}

double calculate_gain(std::string_view nonlinearity, double slope, SourceLocation where) {
  for (const std::string_view name : {"linear", "conv1d", "conv2d", "conv3d", "sigmoid"})
    if (nonlinearity == name) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
  if (nonlinearity == "selu") return 0.75;
  const CallSite site("calculate_gain", where);
  throw ValueError(message(fmt::format("there is no nonlinearity '{}'", nonlinearity), {},
                           "give one of linear, conv1d, conv2d, conv3d, sigmoid, tanh, relu, leaky_relu, selu"));
}

}  // namespace minnow::nn::init
