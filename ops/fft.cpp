#include <minnow/ops/fft.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
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

/// One after the other.  Those that keep the shape are made in place of the one before.
Tensor run(const std::vector<Transform>& all, const Tensor& x) {
  Backend& backend = dispatch({{"x", x}});
  Tensor y = x;
  for (const Transform& t : all) {
    Shape shape = y.shape();
    if (t.kind == Kind::from_real) {
      shape[t.dim] = t.n / 2 + 1;
      shape.push_back(2);
    } else if (t.kind == Kind::to_real) {
      shape[t.dim] = t.n;
      shape.erase(y.dim() - 1);
    }
    const bool in_place = t.kind == Kind::complex && &t != &all.front();
    Tensor next = in_place ? y : detail::raw::new_result(shape, x.dtype(), x.device());
    if (next.numel()) backend.run(detail::calls::Fft{y, next, t.dim, t.inverse, t.scale, t.middle});
    y = std::move(next);
  }
  return record("fft", std::move(y), {x}, [all](const Tensor& g) {
    std::vector<Transform> back;
    for (std::size_t i = all.size(); i-- > 0;) back.push_back(all[i].adjoint());
    return run(back, g);
  });
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

void require_operand(const Tensor& x, bool complex) {
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw DTypeError(message("x must be float32 or float64", {{"x", x}}, "convert it: .to(float32)"));
  if (complex && (x.dim() < 2 || x.size(-1) != 2))
    throw ShapeError(
        message("x is not complex", {{"x", x}},
                "a complex tensor has a last dimension of 2, real and imaginary parts: stack({re, im}, -1); "
                "rfft is for real tensors"));
}

/// A transform of `size` numbers along dim of x.
Transform transform_of(const Tensor& x, int dim, std::int64_t size, FftNorm norm, Kind kind, bool inverse) {
  if (size < 1)
    throw ValueError(message(fmt::format("a transform of {} numbers", size), {{"x", x}}, "n must be at least 1"));
  return {kind, dim, size, inverse, scale_of(norm, inverse, size), kind == Kind::to_real ? 2.0 : 1.0};
}

int dimension(const Tensor& x, int dim, bool complex) {
  const int rank = x.dim() - (complex ? 1 : 0);
  if (dim < -rank || dim >= rank)
    throw IndexError(message(fmt::format("dimension {} is out of range", dim), {{"x", x}},
                             complex ? "the last dimension, of real and imaginary parts, is not counted"
                                     : "x needs at least one dimension"));
  return dim < 0 ? dim + rank : dim;
}

Tensor transform(const char* name, const In& x_, std::optional<std::int64_t> n, int dim, FftNorm norm, Kind kind,
                 bool inverse) {
  const Operation op(name, x_.where, {kWide, kKept}, {{"x", *x_}});
  const Tensor& x = op[0];
  const bool complex = kind != Kind::from_real;
  require_operand(x, complex);
  dim = dimension(x, dim, complex);
  const std::int64_t size = n ? *n : kind == Kind::to_real ? 2 * (x.size(dim) - 1) : x.size(dim);
  const Transform t = transform_of(x, dim, size, norm, kind, inverse);
  return run({t}, sized(x, dim, kind == Kind::to_real ? size / 2 + 1 : size));
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

/// Complex transforms along dims, of which the last one's may be another kind: the first one if it makes complex
/// numbers.
Tensor transforms(const char* name, const In& x_, const Shape& s, const Shape& given, FftNorm norm, Kind kind,
                  bool inverse) {
  const Operation op(name, x_.where, {kWide, kKept}, {{"x", *x_}});
  const Tensor& x = op[0];
  const bool complex = kind != Kind::from_real;
  require_operand(x, complex);
  std::vector<int> dims = dimensions(x, given, complex);
  if (given.empty() && !s.empty() && s.rank() < std::ssize(dims)) dims.erase(dims.begin(), dims.end() - s.rank());
  if (!s.empty() && s.rank() != std::ssize(dims))
    throw ShapeError(message(fmt::format("s has {} sizes for {} dimensions", s.rank(), dims.size()), {{"x", x}},
                             "give a size for each, or -1 for that of x"));
  std::vector<Transform> all;
  Tensor cut = x;
  for (int& d : dims) {
    d = dimension(x, d, complex);
    if (std::find(dims.data(), &d, d) != &d)
      throw ValueError(message(fmt::format("dimension {} is given twice", d), {{"x", x}}, "give each one once"));
    const bool other = &d == &dims.back() && kind != Kind::complex;
    const bool real = other && kind == Kind::to_real;
    const std::int64_t wanted = s.empty() ? -1 : s[static_cast<int>(&d - dims.data())];
    const std::int64_t size = wanted != -1 ? wanted : real ? 2 * (x.size(d) - 1) : x.size(d);
    const Transform t = transform_of(x, d, size, norm, other ? kind : Kind::complex, inverse);
    if (size != 1 || other) all.push_back(t);  // that of one number is itself
    cut = sized(cut, d, real ? size / 2 + 1 : size);
  }
  if (!complex) std::reverse(all.begin(), all.end());
  return all.empty() ? cut.clone() : run(all, cut);
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
  const Tensor k = empty({count}, options);
  Backend& backend = backend_of(k.device());
  const double step = 1 / (static_cast<double>(n) * d);
  backend.run(calls::Arange{k.narrow(0, 0, turn), 0, step});
  if (count > turn) backend.run(calls::Arange{k.narrow(0, turn, count - turn), 0, step, turn - n});
  return k;
}

}  // namespace

Tensor fft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  return transform("fft", x, n, dim, norm, Kind::complex, false);
}
Tensor ifft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  return transform("ifft", x, n, dim, norm, Kind::complex, true);
}
Tensor rfft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  return transform("rfft", x, n, dim, norm, Kind::from_real, false);
}
Tensor irfft(const In& x, std::optional<std::int64_t> n, int dim, FftNorm norm) {
  return transform("irfft", x, n, dim, norm, Kind::to_real, true);
}
Tensor fft2(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("fft2", x, s, dims, norm, Kind::complex, false);
}
Tensor ifft2(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("ifft2", x, s, dims, norm, Kind::complex, true);
}
Tensor rfft2(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("rfft2", x, s, dims, norm, Kind::from_real, false);
}
Tensor irfft2(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("irfft2", x, s, dims, norm, Kind::to_real, true);
}
Tensor fftn(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("fftn", x, s, dims, norm, Kind::complex, false);
}
Tensor ifftn(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("ifftn", x, s, dims, norm, Kind::complex, true);
}
Tensor rfftn(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("rfftn", x, s, dims, norm, Kind::from_real, false);
}
Tensor irfftn(const In& x, const Dims& s, const Dims& dims, FftNorm norm) {
  return transforms("irfftn", x, s, dims, norm, Kind::to_real, true);
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
