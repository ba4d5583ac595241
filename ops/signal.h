#pragma once

#include <cstdint>
#include <optional>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>

// Spectra of signals over time.  A complex tensor is a real one with a last dimension of 2, as for fft().
namespace minnow {

struct StftOptions {
  std::optional<std::int64_t> hop_length{};  ///< from one frame to the next; by default n_fft / 4
  std::optional<std::int64_t> win_length{};  ///< by default n_fft
  Tensor window{};                           ///< [win_length]: frames are multiplied by it; by default ones
  bool center = true;                        ///< frame t is around t * hop_length: the ends are padded by n_fft / 2
  PadMode pad_mode = PadMode::reflect;       ///< of center
  bool normalized = false;                   ///< divides by √n_fft
};
/// The short-time Fourier transform, as torch.stft (onesided): rfft of frames of n_fft numbers, each times the window,
/// which is centred in them.   x: float32 or float64 [..., L]  ->  [..., n_fft / 2 + 1, frames, 2], frames: L /
/// hop_length + 1, or without center (L - n_fft) / hop_length + 1.  ValueError for sizes out of range, ShapeError for a
/// window of another size and an x that is too short.  Any order of gradient.
[[nodiscard]] Tensor stft(const In& x, std::int64_t n_fft, const StftOptions& options = {});

struct IstftOptions {
  std::optional<std::int64_t> hop_length{};  ///< those of stft()
  std::optional<std::int64_t> win_length{};
  Tensor window{};
  bool center = true;
  bool normalized = false;
  std::optional<std::int64_t>
      length{};  ///< of the result, which is cut or gets zeros; by default what the frames cover
};
/// The inverse of stft(): frames are added up, and divided by the sum of the squares of their windows.   x: [..., n_fft
/// / 2 + 1, frames, 2]  ->  [..., L].  ValueError where that sum is 0 (on the cpu; elsewhere the result is not finite
/// there), and as stft(); ShapeError for another number of frequencies.
[[nodiscard]] Tensor istft(const In& x, std::int64_t n_fft, const IstftOptions& options = {});

struct WindowOptions {
  bool periodic = true;          ///< the period is n, as spectra need it; otherwise n - 1: symmetric
  std::optional<DType> dtype{};  ///< default: float32
  Device device{};
};
// Windows of n numbers, w[k] of t = k / n (or k / (n - 1), if not periodic).  A window of one number is 1.  ValueError
// for a negative n, DTypeError unless the dtype is floating-point.

/// 0.5 - 0.5 cos(2π t).
[[nodiscard]] Tensor hann_window(std::int64_t n, const WindowOptions& options = {},
                                 SourceLocation where = SourceLocation::current());
/// 0.54 - 0.46 cos(2π t).
[[nodiscard]] Tensor hamming_window(std::int64_t n, const WindowOptions& options = {},
                                    SourceLocation where = SourceLocation::current());
/// 0.42 - 0.5 cos(2π t) + 0.08 cos(4π t).
[[nodiscard]] Tensor blackman_window(std::int64_t n, const WindowOptions& options = {},
                                     SourceLocation where = SourceLocation::current());
/// 1 - |2t - 1|.
[[nodiscard]] Tensor bartlett_window(std::int64_t n, const WindowOptions& options = {},
                                     SourceLocation where = SourceLocation::current());

/// Hz to mel: htk: 2595 log10(1 + f / 700); slaney: linear up to 1000 Hz, then logarithmic.
enum class MelScale : std::uint8_t { htk, slaney };
struct MelOptions {
  double f_min = 0;               ///< Hz
  std::optional<double> f_max{};  ///< Hz; by default half the sample rate
  MelScale scale = MelScale::htk;
  bool area_norm = false;  ///< divides each band by half its width in Hz (torchaudio's norm="slaney")
  std::optional<DType> dtype{};
  Device device{};
};
/// Triangular bands, equally far apart in mel, as torchaudio.functional.melscale_fbanks: [n_freqs, n_mels], for
/// `matmul(power.mT(), fbanks)` of a power spectrum [..., n_freqs, frames] with n_freqs = n_fft / 2 + 1.  ValueError
/// for numbers out of range, DTypeError unless the dtype is floating-point.
[[nodiscard]] Tensor melscale_fbanks(std::int64_t n_freqs, std::int64_t n_mels, std::int64_t sample_rate,
                                     const MelOptions& options = {}, SourceLocation where = SourceLocation::current());

}  // namespace minnow
