#include <minnow/nn/init.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>

namespace minnow::nn::init {
namespace {

void require_floating(const char* op, const Tensor& t, SourceLocation where) {
  t.require_defined(op, where);
  if (!t.is_floating_point())
    throw DTypeError(message(op, "the tensor is not floating", {{"t", t}}, "convert first: .to(float32)"), where);
}

void require_matrix(const char* op, const Tensor& t, SourceLocation where) {
  require_floating(op, t, where);
  if (t.dim() != 2)
    throw ShapeError(message(op, "the tensor is not a matrix", {{"t", t}}, "it needs two dimensions"), where);
}

/// Half types are drawn in float32 and rounded once.
RandomOptions source_of(const Tensor& t, RandomGenerator* generator) {
  return {t.dtype() == DType::float64 ? DType::float64 : DType::float32, t.device(), generator};
}

Tensor write(const Tensor& t, const Tensor& values, SourceLocation where) { return raw::copy_to(values, t, where); }

/// Writes host values, in row-major order.
Tensor write(const Tensor& t, const std::vector<double>& values, SourceLocation where) {
  return write(t, tensor(values).reshape(t.shape(), where), where);
}

}  // namespace

Tensor uniform_(const Tensor& t, double low, double high, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("uniform_");
  require_floating("uniform_", t, where);
  if (!(low <= high) || !std::isfinite(high - low))
    throw ValueError(
        fmt::format("uniform_: no numbers in [{}, {})\nlow must not be above high, both finite", low, high), where);
  const NoGradGuard guard;
  const Tensor values = rand(t.shape(), source_of(t, generator), where);
  mul_(values, high - low);
  add_(values, low);
  return write(t, values, where);
}

Tensor normal_(const Tensor& t, double mean, double deviation, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("normal_");
  require_floating("normal_", t, where);
  if (!(deviation >= 0))
    throw ValueError(fmt::format("normal_: the deviation {} is negative\nit is 0 or more", deviation), where);
  const NoGradGuard guard;
  const Tensor values = randn(t.shape(), source_of(t, generator), where);
  mul_(values, deviation);
  add_(values, mean);
  return write(t, values, where);
}

Tensor trunc_normal_(const Tensor& t, TruncNormalOptions o, SourceLocation where) {
  const Composed scope("trunc_normal_");
  require_floating("trunc_normal_", t, where);
  if (!(o.deviation > 0) || !(o.low < o.high))
    throw ValueError(
        fmt::format("trunc_normal_: nothing to draw\n  deviation  {}\n  low        {}\n  high       {}\nthe "
                    "deviation must be positive, low below high",
                    o.deviation, o.low, o.high),
        where);
  const NoGradGuard guard;
  // The inverse of the cumulative function, of uniform numbers between its values at the ends.
  const auto cumulative = [&](double x) { return std::erf((x - o.mean) / o.deviation / std::sqrt(2.0)); };
  const double from = cumulative(o.low), to = cumulative(o.high);
  Tensor values = rand(t.shape(), source_of(t, o.generator), where);
  values = add(mul(values, to - from), from);
  values = add(mul(erfinv(values), o.deviation * std::sqrt(2.0)), o.mean);
  return write(t, clamp(values, o.low, o.high), where);
}

Tensor constant_(const Tensor& t, double value, SourceLocation where) {
  const Composed scope("constant_");
  require_floating("constant_", t, where);
  raw::fill_({t, where}, value);
  return t;
}
Tensor ones_(const Tensor& t, SourceLocation where) {
  const Composed scope("ones_");
  return constant_(t, 1, where);
}

Tensor zeros_(const Tensor& t, SourceLocation where) {
  const Composed scope("zeros_");
  return constant_(t, 0, where);
}

Tensor eye_(const Tensor& t, SourceLocation where) {
  const Composed scope("eye_");
  require_matrix("eye_", t, where);
  return write(t, eye(t.size(0), t.size(1)), where);
}

Tensor dirac_(const Tensor& t, std::int64_t groups, SourceLocation where) {
  const Composed scope("dirac_");
  require_floating("dirac_", t, where);
  if (t.dim() < 3 || t.dim() > 5)
    throw ShapeError(
        fmt::format("dirac_: the weight of a convolution has 3 to 5 dimensions\n  t  {}\nit is [out, in, ...]",
                    describe(t)),
        where);
  if (groups <= 0 || t.size(0) % groups != 0)
    throw ValueError(
        fmt::format("dirac_: {} groups do not divide the first dimension\n  t  {}\ngive the groups of the convolution",
                    groups, describe(t)),
        where);
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
  return write(t, values, where);
}

namespace {

/// Makes the rows of a [n, m] matrix orthonormal, n <= m (Gram and Schmidt, twice for accuracy).
void orthonormalise(std::vector<double>& a, std::int64_t n, std::int64_t m) {
  const auto row = [&](std::int64_t i) { return a.data() + i * m; };
  for (std::int64_t i = 0; i < n; ++i)
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        double dot = 0;
        for (std::int64_t k = 0; k < m; ++k) dot += row(i)[k] * row(j)[k];
        for (std::int64_t k = 0; k < m; ++k) row(i)[k] -= dot * row(j)[k];
      }
      double square = 0;
      for (std::int64_t k = 0; k < m; ++k) square += row(i)[k] * row(i)[k];
      for (std::int64_t k = 0; k < m; ++k) row(i)[k] /= std::sqrt(square);
    }
}

}  // namespace

Tensor orthogonal_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("orthogonal_");
  require_floating("orthogonal_", t, where);
  if (t.dim() < 2)
    throw ShapeError(
        message("orthogonal_", "the tensor has fewer than two dimensions", {{"t", t}}, "it needs rows and columns"),
        where);
  if (!t.numel()) return t;
  const std::int64_t rows = t.size(0), columns = t.numel() / rows;
  const std::int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  auto values = randn({few, many}, {DType::float64, Device(), generator}, where).to_vector<double>();
  orthonormalise(values, few, many);
  Tensor q = tensor(values).reshape({few, many});
  if (rows > columns) q = q.t();
  return write(t, mul(q, gain).reshape(t.shape()), where);
}

Tensor sparse_(const Tensor& t, double sparsity, double deviation, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("sparse_");
  require_matrix("sparse_", t, where);
  if (!(sparsity >= 0 && sparsity <= 1))
    throw ValueError(
        fmt::format("sparse_: the share {} is not between 0 and 1\nit is the part of each column that is 0", sparsity),
        where);
  const std::int64_t rows = t.size(0), columns = t.size(1);
  const auto zeros = static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  auto values = randn({rows, columns}, {DType::float64, Device(), generator}, where).to_vector<double>();
  for (double& v : values) v *= deviation;
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto order = randperm(rows, {DType::int64, Device(), generator}, where).to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < zeros; ++i)
      values[static_cast<std::size_t>(order[static_cast<std::size_t>(i)] * columns + c)] = 0;
  }
  return write(t, values, where);
}

Fans fans(const Tensor& t, SourceLocation where) {
  require_floating("fans", t, where);
  if (t.dim() < 2)
    throw ShapeError(message("fans", "the tensor has fewer than two dimensions", {{"t", t}},
                             "fan in and out are those of a weight [out, in, ...]"),
                     where);
  std::int64_t kernel = 1;
  for (int d = 2; d < t.dim(); ++d) kernel = saturating_mul(kernel, t.size(d));
  return {saturating_mul(t.size(1), kernel), saturating_mul(t.size(0), kernel)};
}

Tensor xavier_uniform_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("xavier_uniform_");
  const Fans f = fans(t, where);
  const double bound = gain * std::sqrt(6 / static_cast<double>(f.in + f.out));
  return uniform_(t, -bound, bound, generator, where);
}

Tensor xavier_normal_(const Tensor& t, double gain, RandomGenerator* generator, SourceLocation where) {
  const Composed scope("xavier_normal_");
  const Fans f = fans(t, where);
  return normal_(t, 0, gain * std::sqrt(2 / static_cast<double>(f.in + f.out)), generator, where);
}

namespace {

double kaiming_deviation(const Tensor& t, const KaimingOptions& o, SourceLocation where) {
  const Fans f = fans(t, where);
  const std::int64_t fan = o.mode == FanMode::fan_in ? f.in : f.out;
  return calculate_gain(o.nonlinearity, o.a, where) / std::sqrt(static_cast<double>(fan));
}

}  // namespace

Tensor kaiming_uniform_(const Tensor& t, KaimingOptions options, SourceLocation where) {
  const Composed scope("kaiming_uniform_");
  const double bound = std::sqrt(3.0) * kaiming_deviation(t, options, where);
  return t.numel() ? uniform_(t, -bound, bound, options.generator, where) : t;
}

Tensor kaiming_normal_(const Tensor& t, KaimingOptions options, SourceLocation where) {
  const Composed scope("kaiming_normal_");
  const double deviation = kaiming_deviation(t, options, where);
  return t.numel() ? normal_(t, 0, deviation, options.generator, where) : t;
}

double calculate_gain(std::string_view nonlinearity, double slope, SourceLocation where) {
  for (const std::string_view one : {"linear", "conv1d", "conv2d", "conv3d", "sigmoid"})
    if (nonlinearity == one) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
  if (nonlinearity == "selu") return 0.75;
  throw ValueError(fmt::format("{}: there is no nonlinearity '{}'\nit is one of linear, conv1d, conv2d, "
                               "conv3d, sigmoid, tanh, relu, leaky_relu, selu",
                               Composed::name("calculate_gain"), nonlinearity),
                   where);
}

}  // namespace minnow::nn::init
