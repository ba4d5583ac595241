#include <cmath>
#include <gtest/gtest.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/fft.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"
#include "thrown.h"

/// Bad inputs of products, convolution and pooling.
namespace minnow {
namespace {

using test::expect_errors;
using test::kUndefined;
using test::Misuse;

TEST(Errors, Products) {
  const Tensor x = zeros({2, 3}), w = zeros({4, 3}), b = zeros({4}), none, far = zeros({3, 4}, {.device = "sim:0"});
  const Tensor wide = zeros({3, 4}, {DType::float64});
  expect_errors({
      Misuse{"ShapeError", "matmul", "float32[2, 3] on cpu", [=] { matmul(x, x); }},
      Misuse{"ShapeError", "matmul", "float32[] on cpu", [=] { matmul(x, zeros({})); }},
      Misuse{"ShapeError", "matmul", "float32[5, 2, 3] on cpu",
             [=] {
               matmul(zeros({4, 6, 2}), zeros({5, 2, 3}));
             }},
      Misuse{"DTypeError", "matmul", "float64[3, 4] on cpu", [=] { matmul(x, wide); }},
      Misuse{"DeviceError", "matmul", "float32[3, 4] on sim:0", [=] { matmul(x, far); }},
      Misuse{"ValueError", "matmul", kUndefined, [=] { matmul(none, x); }},
      Misuse{"ShapeError", "linear", "float32[2, 3] on cpu",
             [=] {
               linear(x, zeros({4, 5}), b);
             }},
      Misuse{"ShapeError", "linear", "float32[3] on cpu", [=] { linear(x, w, zeros({3})); }},
      Misuse{"ShapeError", "linear", "float32[5] on cpu", [=] { linear(x, zeros({5})); }},
      Misuse{"DTypeError", "linear", "float64[3, 4] on cpu",
             [=] {
               linear(zeros({2, 4}), wide);
             }},
      Misuse{"DTypeError", "linear", "float64[4] on cpu", [=] { linear(x, w, b.to(DType::float64)); }},
      Misuse{"DeviceError", "linear", "float32[3, 4] on sim:0",
             [=] {
               linear(zeros({2, 4}), far);
             }},
      Misuse{"ValueError", "linear", kUndefined, [=] { linear(x, none); }},
  });
}

TEST(Errors, FourierTransforms) {
  const Tensor x = zeros({4, 2}), real = zeros({4, 3}), none;
  expect_errors({
      Misuse{"ShapeError", "fft", "float32[4, 3] on cpu", [=] { fft(real); }},
      Misuse{"ShapeError", "ifft", "float32[2] on cpu", [=] { ifft(zeros({2})); }},
      Misuse{"ShapeError", "irfft", "real and imaginary parts", [=] { irfft(real); }},
      Misuse{"ShapeError", "fft2", "rfft is for real tensors", [=] { fft2(real); }},
      Misuse{"DTypeError", "fft", "float16[4, 2] on cpu", [=] { fft(x.to(DType::float16)); }},
      Misuse{"DTypeError", "rfft", "int64[4, 2] on cpu", [=] { rfft(x.to(DType::int64)); }},
      Misuse{"IndexError", "fft", "dimension 1 is out of range", [=] { fft(x, {}, 1); }},
      Misuse{"ShapeError", "rfftn", "s has 3 sizes for 2 dimensions",
             [=] {
               rfftn(real, {2, 2, 2});
             }},
      Misuse{"ValueError", "rfft2", "a transform of 0 numbers",
             [=] {
               rfft2(real, {0, 2});
             }},
      Misuse{"IndexError", "fft2", "dimension -2", [=] { fft2(x); }},
      Misuse{"IndexError", "rfft", "float32[] on cpu", [=] { rfft(zeros({})); }},
      Misuse{"ValueError", "ifft", "a transform of 0 numbers", [=] { ifft(x, 0); }},
      Misuse{"ValueError", "irfft", "a transform of 0 numbers",
             [=] {
               irfft(zeros({1, 2}));
             }},
      Misuse{"ValueError", "rfft", "a transform of -1 numbers", [=] { rfft(real, -1); }},
      Misuse{"ValueError", "rfft", kUndefined, [=] { rfft(none); }},
      Misuse{"ShapeError", "irfft2", "float32[4, 3] on cpu", [=] { irfft2(real); }},
      Misuse{"ValueError", "rfftn", "dimension 1 is given twice",
             [=] {
               rfftn(real, {}, {1, -1});
             }},
      Misuse{"ValueError", "fftfreq", "a transform of 0 numbers", [=] { fftfreq(0); }},
      Misuse{"ValueError", "rfftfreq", "a transform of -1 numbers", [=] { rfftfreq(-1); }},
      Misuse{"DTypeError", "fftfreq", "frequencies of dtype int64", [=] { fftfreq(4, 1, {DType::int64}); }},
  });
}

TEST(Errors, LayerNorm) {
  const Tensor x = zeros({2, 3}), w = zeros({3}), b = zeros({3}), none;
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      Misuse{"ShapeError", "layer_norm", "x must end with the sizes of normalized_shape, [2]",
             [=] { layer_norm(x, 2); }},
      Misuse{"ShapeError", "layer_norm", shown, [=] { layer_norm(x, Shape{}); }},
      Misuse{"ShapeError", "layer_norm", "[1, 2, 3]",
             [=] {
               layer_norm(x, {1, 2, 3});
             }},
      Misuse{"ShapeError", "layer_norm", "float32[] on cpu", [=] { layer_norm(zeros({}), 1); }},
      Misuse{"ShapeError", "layer_norm", "weight  float32[2, 3]", [=] { layer_norm(x, 3, x); }},
      Misuse{"ShapeError", "layer_norm", "bias    float32[1]", [=] { layer_norm(x, 3, w, zeros({1})); }},
      Misuse{"ShapeError", "layer_norm", "here [3], or none at all", [=] { layer_norm(x, 3, none, zeros({4})); }},
      Misuse{"DTypeError", "layer_norm", "float64[3] on cpu", [=] { layer_norm(x, 3, w, b.to(DType::float64)); }},
      Misuse{"DTypeError", "layer_norm", "int64[2, 3] on cpu", [=] { layer_norm(x.to(DType::int64), 3); }},
      Misuse{"DeviceError", "layer_norm", "float32[3] on sim:0", [=] { layer_norm(x, 3, none, b.to("sim:0")); }},
      Misuse{"ValueError", "layer_norm", "eps must not be negative, got -1", [=] { layer_norm(x, 3, w, b, -1); }},
      Misuse{"ValueError", "layer_norm", "got nan", [=] { layer_norm(x, 3, w, b, std::nan("")); }},
      Misuse{"ValueError", "layer_norm", kUndefined, [=] { layer_norm(none, 3, w); }},
  });
}

TEST(Errors, Convolution) {
  const Tensor x = zeros({1, 2, 5, 5}), w = zeros({3, 2, 3, 3}), none, b = zeros({3});
  const Tensor far = w.to("sim:0"), wide = w.to(DType::float64);
  const char* const shown = "float32[1, 2, 5, 5] on cpu";
  expect_errors({
      Misuse{"ShapeError", "conv2d", "float32[5, 5] on cpu",
             [=] {
               conv2d(zeros({5, 5}), w);
             }},
      Misuse{"ShapeError", "conv2d", "float32[3, 3] on cpu",
             [=] {
               conv2d(x, zeros({3, 3}));
             }},
      Misuse{"ShapeError", "conv2d", "float32[3, 1, 3, 3] on cpu",
             [=] {
               conv2d(x, zeros({3, 1, 3, 3}));
             }},
      Misuse{"ShapeError", "conv2d", "float32[4] on cpu", [=] { conv2d(x, w, zeros({4})); }},
      Misuse{"ShapeError", "conv2d", shown,
             [=] {
               conv2d(x, zeros({3, 2, 6, 3}));
             }},
      Misuse{"ShapeError", "conv2d", shown, [=] { conv2d(x, w, {}, {.groups = 2}); }},
      Misuse{"ValueError", "conv2d", shown, [=] { conv2d(x, w, b, {.stride = 0}); }},
      Misuse{"ValueError", "conv2d", shown, [=] { conv2d(x, w, b, {.padding = -1}); }},
      Misuse{"ValueError", "conv2d", shown,
             [=] {
               conv2d(x, w, b, {.dilation = {1, 0}});
             }},
      Misuse{"ValueError", "conv2d", shown, [=] { conv2d(x, w, b, {.groups = 0}); }},
      Misuse{"ValueError", "conv2d", "stride {2147483648, 2147483648}",
             [=] { conv2d(x, w, b, {.stride = std::int64_t{1} << 31}); }},
      Misuse{"ValueError", "conv2d", "dilation {9223372036854775807, 9223372036854775807}",
             [=] { conv2d(x, w, b, {.dilation = INT64_MAX}); }},
      Misuse{"ValueError", "conv2d", "padding {4611686018427387904, 4611686018427387904}",
             [=] { conv2d(x, w, b, {.padding = std::int64_t{1} << 62}); }},
      Misuse{"ShapeError", "conv2d", shown, [=] { conv2d(x, w, b, {.dilation = 2147483647}); }},
      Misuse{"DTypeError", "conv2d", "float64[3, 2, 3, 3] on cpu", [=] { conv2d(x, wide); }},
      Misuse{"DTypeError", "conv2d", "float64[3] on cpu", [=] { conv2d(x, w, b.to(DType::float64)); }},
      Misuse{"DeviceError", "conv2d", "float32[3, 2, 3, 3] on sim:0", [=] { conv2d(x, far); }},
      Misuse{"ValueError", "conv2d", kUndefined, [=] { conv2d(x, none); }},
  });
}

TEST(Errors, AnOperandIsListedOnce) {
  const Tensor x = zeros({2, 3}, {DType::float64}), image = zeros({1, 1, 3, 3}, {DType::float64});
  for (const std::string& text : {test::error_of<DTypeError>([&] {
                                    linear(x, zeros({4, 3}));
                                  }),
                                  test::error_of<DTypeError>([&] {
                                    conv2d(image, zeros({1, 1, 3, 3}));
                                  })}) {
    const auto first = text.find("weight");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("\n  weight", first), std::string::npos) << text;
  }
}

TEST(Errors, Pooling) {
  const Tensor x = zeros({1, 2, 5, 5}), flat = zeros({5, 5}), ints = zeros({1, 2, 5, 5}, {DType::int64}), none;
  const char* const shown = "float32[1, 2, 5, 5] on cpu";
  expect_errors({
      Misuse{"ShapeError", "max_pool2d", "float32[5, 5] on cpu", [=] { max_pool2d(flat, 2); }},
      Misuse{"ShapeError", "max_pool2d", shown, [=] { max_pool2d(x, 6); }},
      Misuse{"DTypeError", "max_pool2d", "bool[1, 2, 5, 5] on cpu", [=] { max_pool2d(ints.to(bool_), 2); }},
      Misuse{"ValueError", "max_pool2d", shown, [=] { max_pool2d(x, 0); }},
      Misuse{"ValueError", "max_pool2d", shown, [=] { max_pool2d(x, 2, {.padding = 2}); }},
      Misuse{"ValueError", "max_pool2d", shown, [=] { max_pool2d(x, 2, {.stride = -1}); }},
      Misuse{"ValueError", "max_pool2d", "kernel {0, 0}, stride {0, 0}, padding {0, 0}, dilation {1, 1} were given",
             [=] { max_pool2d(x, 0); }},
      Misuse{"ValueError", "max_pool2d", "max_pool2d(x, 2)", [=] { max_pool2d(x, 0); }},
      Misuse{"ShapeError", "max_pool2d", "dilation {9223372036854775807, 9223372036854775807} were given",
             [=] { max_pool2d(x, 2, {.dilation = INT64_MAX}); }},
      Misuse{"ShapeError", "max_pool2d", "kernel {3, 3}", [=] { max_pool2d(x, 3, {.dilation = INT64_MAX}); }},
      Misuse{"ShapeError", "max_pool2d", "kernel {9223372036854775807, 9223372036854775807}",
             [=] { max_pool2d(x, INT64_MAX); }},
      Misuse{"ValueError", "max_pool2d", kUndefined, [=] { max_pool2d(none, 2); }},
      Misuse{"ShapeError", "avg_pool2d", "float32[5, 5] on cpu", [=] { avg_pool2d(flat, 2); }},
      Misuse{"ShapeError", "avg_pool2d", shown,
             [=] {
               avg_pool2d(x, {2, 6});
             }},
      Misuse{"DTypeError", "avg_pool2d", "int64[1, 2, 5, 5] on cpu", [=] { avg_pool2d(ints, 2); }},
      Misuse{"ValueError", "avg_pool2d", shown, [=] { avg_pool2d(x, 2, {.padding = -1}); }},
      Misuse{"ValueError", "avg_pool2d", kUndefined, [=] { avg_pool2d(none, 2); }},
  });
}

}  // namespace
}  // namespace minnow
