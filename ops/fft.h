#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/create.h>

// Discrete Fourier transforms of float32 and float64 tensors.  A complex tensor is a real one with a
// last dimension of 2, real and imaginary parts (torch.view_as_real); `dim` does not count it.  n: the size of the
// transform (of the result, for irfft): longer lines are cut, shorter ones have zeros added.  Gradients of any order.
// DTypeError; ShapeError for a complex operand without its last dimension of 2; IndexError for a dimension out of
// range, ValueError for n < 1.
namespace minnow {

/// Which direction of a transform is divided: backward: the inverse one, by n; ortho: both, by √n; forward: the other
/// one.
enum class FftNorm : std::uint8_t { backward, ortho, forward };

/// y[f] = Σ_k x[k] e^(-2πi f k / n), of complex numbers.
[[nodiscard]] Tensor fft(const In& x, std::optional<std::int64_t> n = {}, int dim = -1,
                         FftNorm norm = FftNorm::backward);
/// The inverse of fft: y[k] = Σ_f x[f] e^(2πi f k / n) / n.
[[nodiscard]] Tensor ifft(const In& x, std::optional<std::int64_t> n = {}, int dim = -1,
                          FftNorm norm = FftNorm::backward);
/// fft of real numbers: complex, the first n / 2 + 1 results along dim, of which the others are the conjugates.
[[nodiscard]] Tensor rfft(const In& x, std::optional<std::int64_t> n = {}, int dim = -1,
                          FftNorm norm = FftNorm::backward);
/// The inverse of rfft: n real numbers from n / 2 + 1 complex ones.  n: by default 2 (size - 1), an even number.  The
/// imaginary parts of the first one, and for an even n of the last one, are not read.
[[nodiscard]] Tensor irfft(const In& x, std::optional<std::int64_t> n = {}, int dim = -1,
                           FftNorm norm = FftNorm::backward);
/// fft along the given dimensions, the last two by default, of the sizes s: as n for each one, -1 for that of x.
/// ShapeError if there are not as many.
[[nodiscard]] Tensor fft2(const In& x, const Dims& s = {}, const Dims& dims = {-2, -1},
                          FftNorm norm = FftNorm::backward);
/// ifft along the given dimensions, as fft2.
[[nodiscard]] Tensor ifft2(const In& x, const Dims& s = {}, const Dims& dims = {-2, -1},
                           FftNorm norm = FftNorm::backward);
/// rfft along the last of the dimensions, then fft along the other, as fft2.
[[nodiscard]] Tensor rfft2(const In& x, const Dims& s = {}, const Dims& dims = {-2, -1},
                           FftNorm norm = FftNorm::backward);
/// The inverse of rfft2, with an even size of the last dimension, or the last of s.
[[nodiscard]] Tensor irfft2(const In& x, const Dims& s = {}, const Dims& dims = {-2, -1},
                            FftNorm norm = FftNorm::backward);

/// fft along the given dimensions, all by default (with s the last ones), of the sizes s: as n for each one, -1 for
/// that of x. ShapeError if there are not as many.
[[nodiscard]] Tensor fftn(const In& x, const Dims& s = {}, const Dims& dims = {}, FftNorm norm = FftNorm::backward);
/// ifft along the given dimensions, as fftn.
[[nodiscard]] Tensor ifftn(const In& x, const Dims& s = {}, const Dims& dims = {}, FftNorm norm = FftNorm::backward);
/// rfft along the last of the dimensions, then fft along the others, as fftn.
[[nodiscard]] Tensor rfftn(const In& x, const Dims& s = {}, const Dims& dims = {}, FftNorm norm = FftNorm::backward);
/// The inverse of rfftn, with an even size of the last of the dimensions, or the last of s.
[[nodiscard]] Tensor irfftn(const In& x, const Dims& s = {}, const Dims& dims = {}, FftNorm norm = FftNorm::backward);
/// x with the frequency 0 in the middle of the given dimensions.  Here the last dimension of a complex tensor counts.
[[nodiscard]] Tensor fftshift(const In& x, const Dims& dims);
/// The inverse of fftshift.
[[nodiscard]] Tensor ifftshift(const In& x, const Dims& dims);

/// The frequencies of fft's results, for samples `d` apart: 0, 1, ..., (n - 1) / 2, -n / 2, ..., -1, over n d.
/// ValueError for n < 1, DTypeError unless the dtype is floating-point.
[[nodiscard]] Tensor fftfreq(std::int64_t n, double d = 1, const TensorOptions& options = {},
                             SourceLocation where = SourceLocation::current());
/// The frequencies of rfft's results: 0, 1, ..., n / 2, over n d.  The same errors.
[[nodiscard]] Tensor rfftfreq(std::int64_t n, double d = 1, const TensorOptions& options = {},
                              SourceLocation where = SourceLocation::current());

}  // namespace minnow
