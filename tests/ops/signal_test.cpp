#include <gtest/gtest.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/signal.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"

// Spectra over time, windows, mel filter banks.
namespace minnow::test {
namespace {

OpCase signal_row(const std::string& function, const std::string& golden, const Function& call, const Inputs& inputs) {
  return {.function = function,
          .variant = golden,
          .call = call,
          .inputs = {inputs},
          .dtypes = {DType::float32, DType::float64},
          .golden = {"signal: " + golden},
          .tolerance = {1e-5, 1e-5},
          .optional_from = 1};
}

OpCases signal_spectra() {
  const Input x = values({2, 37}), z = values({2, 5, 7, 2}), window = values({6}, 1, 3);
  const auto windowed = [](std::optional<std::int64_t> length) {
    return one([=](const Tensors& t) {
      return istft(t[0], 9, {.hop_length = 4, .win_length = 6, .window = t[1], .normalized = true, .length = length});
    });
  };
  return {signal_row("stft", "stft/8", one([](const Tensors& t) { return stft(t[0], 8); }), {x}),
          signal_row("stft", "stft/vector", one([](const Tensors& t) {
                       return stft(t[0], 16, {.hop_length = 5, .pad_mode = PadMode::replicate});
                     }),
                     {values({37})}),
          signal_row("stft", "stft/plain",
                     one([](const Tensors& t) { return stft(t[0], 10, {.hop_length = 3, .center = false}); }), {x}),
          signal_row("stft", "stft/window", one([](const Tensors& t) {
                       return stft(t[0], 9, {.hop_length = 4, .win_length = 6, .window = t[1], .normalized = true});
                     }),
                     {x, window}),
          signal_row("istft", "istft/8", one([](const Tensors& t) { return istft(t[0], 8); }), {z}),
          signal_row("istft", "istft/plain",
                     one([](const Tensors& t) { return istft(t[0], 8, {.hop_length = 8, .center = false}); }), {z}),
          signal_row("istft", "istft/window", windowed({}), {z, window}),
          signal_row("istft", "istft/cut", windowed(3), {z, window}),
          signal_row("istft", "istft/long", one([](const Tensors& t) { return istft(t[0], 8, {.length = 30}); }), {z})};
}

/// A function without operands: the input has the dtype and device of the result.
template <class F> OpCase signal_constant(const std::string& function, const std::string& golden, const F& make) {
  return {.function = function,
          .variant = golden,
          .call = one([=](const Tensors& like) {
            like[0].require_defined("case", SourceLocation::current());
            return make(like[0].dtype(), like[0].device());
          }),
          .inputs = {{values({})}},
          .gradient = Gradient::kNone,
          .golden = {"signal: " + golden}};
}

OpCases signal_windows() {
  OpCases cases;
  using Window = Tensor (*)(std::int64_t, const WindowOptions&, SourceLocation);
  const std::initializer_list<std::pair<std::string, Window>> all{{"hann_window", hann_window},
                                                                  {"hamming_window", hamming_window},
                                                                  {"blackman_window", blackman_window},
                                                                  {"bartlett_window", bartlett_window}};
  for (const auto& [name, window] : all)
    for (const std::int64_t n : {0, 1, 2, 7, 8})
      for (const bool periodic : {false, true})
        cases.push_back(signal_constant(name, name + "/" + std::to_string(n) + (periodic ? ",1" : ",0"),
                                        [f = window, n, periodic](DType dtype, Device device) {
                                          return f(n, {periodic, dtype, device}, SourceLocation::current());
                                        }));
  for (const bool slaney : {false, true})
    cases.push_back(signal_constant("melscale_fbanks", slaney ? "melscale_fbanks/1" : "melscale_fbanks/0",
                                    [=](DType dtype, Device d) {
                                      return slaney ? melscale_fbanks(33, 10, 8000,
                                                                      {.f_min = 60,
                                                                       .f_max = 3500,
                                                                       .scale = MelScale::slaney,
                                                                       .area_norm = true,
                                                                       .dtype = dtype,
                                                                       .device = d})
                                                    : melscale_fbanks(33, 10, 8000, {.dtype = dtype, .device = d});
                                    }));
  return cases;
}

const Register kSignalSpectra(signal_spectra), kSignalWindows(signal_windows);

class Signal : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Signal, all_devices(), device_test_name);

TEST_P(Signal, ThereAndBack) {
  const Tensor x = randn({2, 3, 1000}, {DType::float64, device()});
  const Tensor window = hann_window(400, {.dtype = DType::float64, .device = device()});
  const Tensor spectrum = stft(x, 512, {.hop_length = 160, .win_length = 400, .window = window});
  EXPECT_EQ(spectrum.shape(), (Shape{2, 3, 257, 7, 2}));
  const Tensor back = istft(spectrum, 512, {.hop_length = 160, .win_length = 400, .window = window, .length = 1000});
  expect_close(back, x, "istft(stft(x))", {1e-10, 1e-10});
  EXPECT_EQ(stft(x.narrow(0, 0, 0), 512).shape(), (Shape{0, 3, 257, 8, 2}));
  EXPECT_EQ(istft(spectrum.narrow(0, 0, 0), 512).shape(), (Shape{0, 3, 768}));
}

TEST_P(Signal, RefusesWhatDoesNotFit) {
  const Tensor x = ones({2, 37}, device()), z = ones({2, 5, 7, 2}, device()), window = ones({6}, device());
  EXPECT_THROW((void)stft(x, 0), ValueError);
  EXPECT_THROW((void)stft(x, 8, {.hop_length = 0}), ValueError);
  EXPECT_THROW((void)stft(x, 8, {.win_length = 9}), ValueError);
  EXPECT_THROW((void)stft(x, 8, {.window = window}), ShapeError);
  EXPECT_THROW((void)stft(x, 80), ShapeError);
  EXPECT_THROW((void)stft(x, 40, {.center = false}), ShapeError);
  EXPECT_THROW((void)stft(x.sum(), 8), ShapeError);
  EXPECT_THROW((void)stft(x.to(int64), 8), DTypeError);
  EXPECT_THROW((void)istft(z, 10), ShapeError);
  EXPECT_THROW((void)istft(z, 8, {.length = 0}), ValueError);
  if (device().is_cpu()) { EXPECT_THROW((void)istft(z, 8, {.hop_length = 9, .center = false}), ValueError); }
  EXPECT_THROW((void)hann_window(-1), ValueError);
  EXPECT_THROW((void)hann_window(4, {.dtype = int64}), DTypeError);
  EXPECT_THROW((void)melscale_fbanks(33, 10, 8000, {.f_min = 5000}), ValueError);
  EXPECT_THROW((void)melscale_fbanks(1, 10, 8000), ValueError);
}

}  // namespace
}  // namespace minnow::test
