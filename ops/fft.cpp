#include <minnow/ops/fft.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/index.h>
#include <minnow/ops/rearrange.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow {
namespace {

using detail::Backend, detail::dispatch, detail::message;

enum class Kind : std::uint8_t { complex, from_real, to_real };

/// A transform whose sizes fit, as calls::Fft.
struct Transform {
  Kind kind;
  int dim;
  std::int64_t n;
  bool inverse;
  double scale, middle;

  /// The transform of the gradient: of e^(-it) the other direction, and real numbers for complex ones.
  Transform adjoint() const {
    const Kind other = kind == Kind::complex ? kind : kind == Kind::from_real ? Kind::to_real : Kind::from_real;
    return {other, dim, n, !inverse, scale, middle};
  }
};

Tensor apply(const Transform& t, const Tensor& x) {
  Shape shape = x.shape();
  if (t.kind == Kind::from_real) {
    shape[t.dim] = t.n / 2 + 1;
    shape.push_back(2);
  } else if (t.kind == Kind::to_real) {
    shape[t.dim] = t.n;
    shape.erase(x.dim() - 1);
  }
  Backend& backend = dispatch({{"x", x}});
  Tensor y = detail::raw::new_result(shape, x.dtype(), x.device());
  if (y.numel()) backend.run(detail::calls::Fft{x, y, t.dim, t.inverse, t.scale, t.middle});
  return record("fft", std::move(y), {x}, [t](const Tensor& g) { return apply(t.adjoint(), g); });
}

/// x with `size` elements along dim: cut, or with zeros added.
Tensor sized(const Tensor& x, int dim, std::int64_t size) {
  const std::int64_t given = x.size(dim);
  if (given == size) return x;
  if (given > size) return x.narrow(dim, 0, size);
  std::vector<std::int64_t> padding(static_cast<std::size_t>(2 * (x.dim() - dim)), 0);
  padding.back() = size - given;
  return pad(x, padding);
}

double scale_of(FftNorm norm, bool inverse, std::int64_t n) {
  const auto size = static_cast<double>(n);
  if (norm == FftNorm::ortho) return 1 / std::sqrt(size);
  return inverse == (norm == FftNorm::backward) ? 1 / size : 1;
}

Tensor transform(const Tensor& x, std::optional<std::int64_t> n, int dim, FftNorm norm, Kind kind, bool inverse) {
  dispatch({{"x", x}});
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw DTypeError(message("x must be float32 or float64", {{"x", x}}, "convert it: .to(float32)"));
  const bool complex = kind != Kind::from_real;
  if (complex && (x.dim() < 2 || x.size(-1) != 2))
    throw ShapeError(
        message("x is not complex", {{"x", x}},
                "a complex tensor has a last dimension of 2, real and imaginary parts: stack({re, im}, -1); "
                "rfft is for real tensors"));
  const int rank = x.dim() - (complex ? 1 : 0);
  if (dim < -rank || dim >= rank)
    throw IndexError(message(fmt::format("dimension {} is out of range", dim), {{"x", x}},
                             complex ? "the last dimension, of real and imaginary parts, is not counted"
                                     : "x needs at least one dimension"));
  if (dim < 0) dim += rank;
  const std::int64_t size = n ? *n : kind == Kind::to_real ? 2 * (x.size(dim) - 1) : x.size(dim);
  if (size < 1)
    throw ValueError(message(fmt::format("a transform of {} numbers", size), {{"x", x}}, "n must be at least 1"));
  const Transform t{kind, dim, size, inverse, scale_of(norm, inverse, size), kind == Kind::to_real ? 2.0 : 1.0};
  return apply(t, sized(x, dim, kind == Kind::to_real ? size / 2 + 1 : size));
}

/// All dimensions, if none are given.
std::vector<int> dimensions(const Tensor& x, const Shape& given, bool complex) {
  x.require_defined();
  const int rank = x.dim() - (complex ? 1 : 0);
  std::vector<int> dims(given.begin(), given.end());
  if (dims.empty())
    for (int d = 0; d < rank; ++d) dims.push_back(d);
  return dims;
}

Tensor transforms(Tensor x, const Dims& given, FftNorm norm, bool inverse) {
  for (const int d : dimensions(x, given, true)) x = transform(x, {}, d, norm, Kind::complex, inverse);
  return x;
}

Tensor shifted(const Tensor& x, const Dims& given, bool back) {
  Tensor y = x;
  for (const int d : dimensions(x, given, false))
    if (x.size(d) > 0) y = roll(y, back ? (x.size(d) + 1) / 2 : x.size(d) / 2, d);
  return y;
}

/// count numbers from 0 on, from `turn` on minus n, over n d.
Tensor frequencies(std::int64_t count, std::int64_t turn, std::int64_t n, double d, const TensorOptions& options) {
  if (n < 1) throw ValueError(message(fmt::format("a transform of {} numbers", n), {}, "n must be at least 1"));
  const DType dtype = options.dtype.value_or(DType::float32);
  if (!is_floating_point(dtype))
    throw DTypeError(
        message(fmt::format("frequencies of dtype {}", name_of(dtype)), {}, "take a floating-point dtype"));
  const Tensor out = empty({count}, options), host = empty({count}, {DType::float64});
  double* values = host.data<double>();
  for (std::int64_t k = 0; k < count; ++k)
    values[k] = static_cast<double>(k < turn ? k : k - n) / (static_cast<double>(n) * d);
  return detail::raw::copy_to(host, out);
}

}  // namespace

Tensor fft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  const CallSite site("fft", x.where);
  if (const auto cast = autocast(site, *x)) return fft({cast[0], x.where}, n, dim, norm);
  return transform(*x, n, dim, norm, Kind::complex, false);
}

Tensor ifft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  const CallSite site("ifft", x.where);
  if (const auto cast = autocast(site, *x)) return ifft({cast[0], x.where}, n, dim, norm);
  return transform(*x, n, dim, norm, Kind::complex, true);
}

Tensor rfft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  const CallSite site("rfft", x.where);
  if (const auto cast = autocast(site, *x)) return rfft({cast[0], x.where}, n, dim, norm);
  return transform(*x, n, dim, norm, Kind::from_real, false);
}

Tensor irfft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  const CallSite site("irfft", x.where);
  if (const auto cast = autocast(site, *x)) return irfft({cast[0], x.where}, n, dim, norm);
  return transform(*x, n, dim, norm, Kind::to_real, true);
}

Tensor fft2(const In& x, FftNorm norm) {
  const CallSite site("fft2", x.where);
  if (const auto cast = autocast(site, *x)) return fft2({cast[0], x.where}, norm);
  return transform(transform(*x, {}, -1, norm, Kind::complex, false), {}, -2, norm, Kind::complex, false);
}

Tensor ifft2(const In& x, FftNorm norm) {
  const CallSite site("ifft2", x.where);
  if (const auto cast = autocast(site, *x)) return ifft2({cast[0], x.where}, norm);
  return transform(transform(*x, {}, -1, norm, Kind::complex, true), {}, -2, norm, Kind::complex, true);
}

Tensor rfft2(const In& x, FftNorm norm) {
  const CallSite site("rfft2", x.where);
  if (const auto cast = autocast(site, *x)) return rfft2({cast[0], x.where}, norm);
  return transform(transform(*x, {}, -1, norm, Kind::from_real, false), {}, -2, norm, Kind::complex, false);
}

Tensor irfft2(const In& x, FftNorm norm) {
  const CallSite site("irfft2", x.where);
  if (const auto cast = autocast(site, *x)) return irfft2({cast[0], x.where}, norm);
  return transform(transform(*x, {}, -2, norm, Kind::complex, true), {}, -1, norm, Kind::to_real, true);
}

Tensor fftn(const In& x, const Dims& dims, FftNorm norm) {
  const CallSite site("fftn", x.where);
  if (const auto cast = autocast(site, *x)) return fftn({cast[0], x.where}, dims, norm);
  return transforms(*x, dims, norm, false);
}

Tensor ifftn(const In& x, const Dims& dims, FftNorm norm) {
  const CallSite site("ifftn", x.where);
  if (const auto cast = autocast(site, *x)) return ifftn({cast[0], x.where}, dims, norm);
  return transforms(*x, dims, norm, true);
}

Tensor rfftn(const In& x, const Dims& dims, FftNorm norm) {
  const CallSite site("rfftn", x.where);
  if (const auto cast = autocast(site, *x)) return rfftn({cast[0], x.where}, dims, norm);
  Tensor y = *x;
  const std::vector<int> at = dimensions(y, dims, false);
  for (std::size_t i = at.size(); i-- > 0;)
    y = i + 1 == at.size() ? transform(y, {}, at[i], norm, Kind::from_real, false)
                           : transform(y, {}, at[i], norm, Kind::complex, false);
  return y;
}

Tensor irfftn(const In& x, const Dims& dims, FftNorm norm) {
  const CallSite site("irfftn", x.where);
  if (const auto cast = autocast(site, *x)) return irfftn({cast[0], x.where}, dims, norm);
  Tensor y = *x;
  const std::vector<int> at = dimensions(y, dims, true);
  for (std::size_t i = 0; i < at.size(); ++i)
    y = i + 1 == at.size() ? transform(y, {}, at[i], norm, Kind::to_real, true)
                           : transform(y, {}, at[i], norm, Kind::complex, true);
  return y;
}

Tensor fftshift(const In& x, const Dims& dims) {
  const CallSite site("fftshift", x.where);
  return shifted(*x, dims, false);
}

Tensor ifftshift(const In& x, const Dims& dims) {
  const CallSite site("ifftshift", x.where);
  return shifted(*x, dims, true);
}

Tensor fftfreq(std::int64_t n, double d, const TensorOptions& options, SourceLocation where) {
  const CallSite site("fftfreq", where);
  return frequencies(n, (n + 1) / 2, n, d, options);
}

Tensor rfftfreq(std::int64_t n, double d, const TensorOptions& options, SourceLocation where) {
  const CallSite site("rfftfreq", where);
  return frequencies(n / 2 + 1, n / 2 + 1, n, d, options);
}

}  // namespace minnow
