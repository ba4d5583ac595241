#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

FftNorm norm_by_name(const X& x) {
  const std::string name = x.text(100, "norm", "backward");
  return name == "ortho" ? FftNorm::ortho : name == "forward" ? FftNorm::forward : FftNorm::backward;
}
/// A real sample as a complex one.
Tensor complex(const Tensor& x) { return stack({x, zeros_like(x)}, -1); }

SampleCall line_by(Tensor (*f)(const In&, std::optional<std::int64_t>, int, FftNorm), bool of_complex) {
  return [=](const X& x) {
    const std::optional<std::int64_t> n = x.has(1, "n") ? std::optional(x.integer(1, "n", 0)) : std::nullopt;
    const Tensor a = of_complex ? complex(x.tensor(0)) : x.tensor(0);
    return std::vector{f(a, n, x.dim(2, "dim", -1), norm_by_name(x))};
  };
}
SampleCall volume_by(Tensor (*f)(const In&, const Dims&, const Dims&, FftNorm), bool of_complex, Dims dims = {}) {
  return [=](const X& x) {
    const Dims sizes(x.integers(1, "s")), of(x.has(2, "dim") ? Dims(x.integers(2, "dim")) : dims);
    return std::vector{f(of_complex ? complex(x.tensor(0)) : x.tensor(0), sizes, of, norm_by_name(x))};
  };
}
SampleCall shifted_by(Tensor (*f)(const In&, const Dims&)) {
  return [f](const X& x) { return std::vector{f(x.tensor(0), Dims(x.integers(1, "dim")))}; };
}

const SampleCalls kSignal = {
    {"fft.fft", line_by(fft, true)},
    {"fft.ifft", line_by(ifft, true)},
    {"fft.rfft", line_by(rfft, false)},
    {"fft.irfft", line_by(irfft, true)},
    {"fft.fft2", volume_by(fft2, true, {-2, -1})},
    {"fft.ifft2", volume_by(ifft2, true, {-2, -1})},
    {"fft.rfft2", volume_by(rfft2, false, {-2, -1})},
    {"fft.irfft2", volume_by(irfft2, true, {-2, -1})},
    {"fft.fftn", volume_by(fftn, true)},
    {"fft.ifftn", volume_by(ifftn, true)},
    {"fft.rfftn", volume_by(rfftn, false)},
    {"fft.irfftn", volume_by(irfftn, true)},
    {"fft.fftshift", shifted_by(fftshift)},
    {"fft.ifftshift", shifted_by(ifftshift)},
    {"stft",
     [](const X& x) {
       StftOptions options;
       (void)(x.flag(100, "return_complex", true) || x.flag(100, "onesided", true));
       (void)x.flag(100, "onesided", true);
       if (x.has(2, "hop_length")) options.hop_length = x.integer(2, "hop_length", 0);
       if (x.has(3, "win_length")) options.win_length = x.integer(3, "win_length", 0);
       options.window = x.tensor(4, "window");
       options.center = x.flag(5, "center", true);
       options.normalized = x.flag(7, "normalized", false);
       return std::vector{stft(x.tensor(0), x.integer(1, "n_fft", 0), options)};
     }},
};

class SignalSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, SignalSamples, all_devices(), device_test_name);

TEST_P(SignalSamples, OfPyTorch) { expect_samples("signal", kSignal, {}, device()); }
TEST_P(SignalSamples, MisusedNumbers) { misuse_samples("signal", kSignal, device()); }

}  // namespace
}  // namespace minnow::test
