#include <algorithm>
#include <cmath>
#include <numbers>
#include <minnow/ops/detail/conv.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/runtime/cuda_math.h>
#include "devices.h"
#include "numbers.h"
#include "support/on_device.h"
#include "support/reference_conv.h"

namespace minnow {
namespace {

using test::random;

struct Case {
  Conv2dParams params;
  Shape x, w;
};

const Case kCases[] = {
    {{}, {2, 3, 9, 8}, {4, 3, 3, 3}},
    {{}, {2, 1, 9, 8}, {8, 1, 3, 3}},
    {{.stride = {2, 1}, .padding = {1, 2}}, {2, 4, 9, 8}, {6, 4, 3, 2}},
    {{.padding = {2, 2}, .dilation = {2, 1}}, {1, 4, 9, 8}, {5, 4, 3, 3}},
    {{.padding = {1, 1}, .groups = 2}, {2, 4, 7, 6}, {6, 2, 3, 3}},
    {{.stride = {2, 2}, .padding = {1, 1}, .groups = 4}, {2, 4, 7, 6}, {4, 1, 3, 3}},
    {{}, {3, 5, 4, 4}, {2, 5, 1, 1}},
    {{}, {2, 3, 4, 4}, {7, 3, 4, 4}},
    {{.stride = {3, 3}}, {2, 3, 8, 8}, {4, 3, 2, 2}},  // pixels that no window covers
    {{.stride = {1, 2}, .padding = {1, 4}}, {1, 40, 36, 33}, {5, 40, 3, 3}},
    {{.padding = {0, 3}, .dilation = {1, 3}}, {2, 3, 1, 700}, {4, 3, 1, 3}},
};

class ConvOnDevice : public test::DeviceTest {
 protected:
  /// An operand in either order, or as a view with gaps (order 2).
  static Tensor operand(const Shape& shape, DType dtype, std::uint64_t seed, int order) {
    if (order < 2)
      return random(shape, dtype, seed, order == 0 ? MemoryFormat::contiguous : MemoryFormat::channels_last);
    const Tensor out = test::strided_scratch(shape, dtype, {1, 0, 2, 3}, 1);
    test::randomise(out, seed);
    return out;
  }

  static void expect_near(const Tensor& on_device, const Tensor& want, std::int64_t terms, const char* what) {
    const DType dtype = on_device.dtype();
    double bound = test::sum_bound(terms, is_half(dtype) ? DType::float32 : dtype);
    if (is_half(dtype)) bound += test::epsilon(dtype) * (2 + std::sqrt(static_cast<double>(terms)) * 2);
    // cuDNN may choose Winograd's or Fourier's transforms, whose error is larger than that of a sum.
    if (dtype == DType::float32 && on_device.device().is_cuda()) bound *= 16;
    EXPECT_LE(test::largest_difference(test::on_host(on_device), want), bound) << what << " in " << name_of(dtype);
  }

  static void check(const Case& c, DType dtype, int order) {
    const Tensor x = operand(c.x, dtype, 1, order), w = operand(c.w, dtype, 2, order);
    const Tensor bias = random({c.w[0]}, dtype, 3);
    const Tensor dx = test::on_device(x, device()), dw = test::on_device(w, device()),
                 db = test::on_device(bias, device());
    const Tensor y = raw::conv2d(dx, dw, db, c.params);
    const Tensor want_y = test::scratch(y.shape(), DType::float64);
    const Tensor x64 = test::packed(x, DType::float64), w64 = test::packed(w, DType::float64);
    test::conv2d<double>(c.params, x64, w64, test::packed(bias, DType::float64), want_y);
    expect_near(y, want_y, c.w[1] * c.w[2] * c.w[3], "y");

    const Tensor grad = operand(y.shape(), dtype, 4, order);
    const Tensor g64 = test::packed(grad, DType::float64), dgrad = test::on_device(grad, device());
    const Tensor want_x = test::scratch(c.x, DType::float64), want_w = test::scratch(c.w, DType::float64),
                 want_b = test::scratch({c.w[0]}, DType::float64);
    test::conv2d_backward_input<double>(c.params, g64, w64, want_x);
    expect_near(raw::conv2d_backward_input(dgrad, dw, c.x, c.params), want_x,
                c.w[0] / c.params.groups * c.w[2] * c.w[3], "grad_x");
    test::conv2d_backward_weight<double>(c.params, g64, x64, want_w, want_b);
    const auto both = raw::conv2d_backward_weight(dgrad, dx, c.w, true, c.params);
    const std::int64_t pixels = y.shape()[0] * y.shape()[2] * y.shape()[3];
    expect_near(both.weight, want_w, pixels, "grad_w");
    expect_near(both.bias, want_b, pixels, "grad_bias");
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ConvOnDevice, test::all_devices(), test::device_test_name);

TEST_P(ConvOnDevice, AllDirectionsDTypesAndOrders) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (int order = 0; order < 3; ++order)
      for (const Case& c : kCases) {
        SCOPED_TRACE(::testing::Message() << "x " << c.x.str() << ", w " << c.w.str() << ", order " << order);
        check(c, dtype, order);
      }
}

TEST_P(ConvOnDevice, TimedAndDeterministicAlgorithms) {
  const cuda::MathOptions before = cuda::math_options();
  for (const auto option : {&cuda::MathOptions::cudnn_benchmark, &cuda::MathOptions::deterministic}) {
    cuda::MathOptions options = before;
    options.*option = true;
    cuda::set_math_options(options);
    for (const DType dtype : {DType::float32, DType::bfloat16})
      for (const Case& c : {kCases[0], kCases[2], kCases[4]})
        for (int run = 0; run < 2; ++run) check(c, dtype, 0);  // the second run uses the cached plan
  }
  cuda::set_math_options(before);
}

// In one pass with the bias, and of the whole range of indices in memory order.
TEST_P(ConvOnDevice, ActivationsComeLastAndKeepNan) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const Activation activation : {Activation::relu, Activation::gelu_tanh})
      for (const bool with_bias : {true, false})
        for (const auto& [c, order] : {std::pair(kCases[0], 0), std::pair(kCases[0], 1), std::pair(kCases[7], 0)}) {
          const Tensor x = operand(c.x, dtype, 1, order), w = operand(c.w, dtype, 2, order);
          const Tensor first(x.storage(), dtype, {1, 1, 1, 1}, {1, 1, 1, 1}, x.storage_offset());
          const Tensor nan = test::scratch({1, 1, 1, 1}, DType::float64);
          *static_cast<double*>(nan.raw_data()) = NAN;
          cpu::convert(nan, first);
          const Tensor bias = with_bias ? test::on_device(random({c.w[0]}, dtype, 3), device()) : Tensor();
          const Tensor dx = test::on_device(x, device()), dw = test::on_device(w, device());
          const std::vector<double> plain = test::values_of(test::on_host(raw::conv2d(dx, dw, bias, c.params)));
          const std::vector<double> got =
              test::values_of(test::on_host(raw::conv2d(dx, dw, bias, c.params, activation)));
          std::size_t nans = 0;
          for (std::size_t i = 0; i < plain.size(); ++i) {
            nans += std::isnan(plain[i]) ? 1 : 0;
            ASSERT_EQ(std::isnan(got[i]), std::isnan(plain[i])) << i;
            if (std::isnan(plain[i])) continue;
            const double v = plain[i], inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
            const double want = activation == Activation::relu ? std::max(v, 0.0) : v / 2 * (1 + std::tanh(inner));
            const double bound = dtype == DType::float64 ? 1e-12 : is_half(dtype) ? 5e-2 : 1e-4;
            ASSERT_NEAR(got[i], want, bound) << name_of(dtype) << " at " << i;
          }
          EXPECT_GT(nans, 0u);
        }
}

// Channels of many pixels are added by several blocks; sizes that vectors divide, and others.
TEST_P(ConvOnDevice, BiasGradientsOfManyPixels) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last})
      for (const Shape& shape : {Shape{3, 2, 64, 64}, Shape{5, 3, 61, 67}, Shape{40, 5, 1, 1}}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + shape.str());
        const Tensor grad = random(shape, dtype, 1, format), x = random({shape[0], 1, shape[2], shape[3]}, dtype, 2);
        const Tensor want_w = test::scratch({shape[1], 1, 1, 1}, DType::float64),
                     want_b = test::scratch({shape[1]}, DType::float64);
        test::conv2d_backward_weight<double>({}, test::packed(grad, DType::float64), test::packed(x, DType::float64),
                                             want_w, want_b);
        const Tensor dgrad = test::on_device(grad, device()), dx = test::on_device(x, device());
        const auto sums = [&] { return raw::conv2d_backward_weight(dgrad, dx, {shape[1], 1, 1, 1}, true, {}).bias; };
        const Tensor got = sums();
        expect_near(got, want_b, shape[0] * shape[2] * shape[3], "grad_bias");
        EXPECT_EQ(test::values_of(test::on_host(got)), test::values_of(test::on_host(sums())));
      }
}

TEST_P(ConvOnDevice, EmptyBatches) {
  const Tensor x = test::on_device(test::scratch({0, 3, 5, 5}, DType::float32), device());
  const Tensor w = test::on_device(random({4, 3, 3, 3}, DType::float32, 1), device());
  EXPECT_EQ(raw::conv2d(x, w, {}, {}).shape(), (Shape{0, 4, 3, 3}));
  const Tensor grad = test::on_device(test::scratch({0, 4, 3, 3}, DType::float32), device());
  EXPECT_EQ(raw::conv2d_backward_input(grad, w, x.shape(), {}).numel(), 0);
  const auto both = raw::conv2d_backward_weight(grad, x, w.shape(), true, {});
  for (const double v : test::values_of(test::on_host(both.weight))) EXPECT_EQ(v, 0);
  for (const double v : test::values_of(test::on_host(both.bias))) EXPECT_EQ(v, 0);
}

TEST_P(ConvOnDevice, WindowsOfPaddingGiveTheBias) {
  const Conv2dParams padded{{1, 1}, {1, 1}, {1, 1}, 1};
  const Tensor x = test::on_device(test::scratch({2, 3, 0, 2}, DType::float32), device());
  const Tensor w = test::on_device(random({2, 3, 2, 2}, DType::float32, 1), device());
  const Tensor bias = test::on_device(random({2}, DType::float32, 2), device());
  const auto b = test::values_of(test::on_host(bias));
  const Tensor y = raw::conv2d(x, w, bias, padded);
  ASSERT_EQ(y.shape(), (Shape{2, 2, 1, 3}));
  EXPECT_EQ(test::values_of(test::on_host(y)),
            (std::vector<double>{b[0], b[0], b[0], b[1], b[1], b[1], b[0], b[0], b[0], b[1], b[1], b[1]}));
  const auto both = raw::conv2d_backward_weight(y, x, w.shape(), true, padded);
  for (const double v : test::values_of(test::on_host(both.weight))) EXPECT_EQ(v, 0);
  for (std::size_t c = 0; c < 2; ++c)
    EXPECT_NEAR(test::values_of(test::on_host(both.bias))[c], 6 * b[c], 1e-5 * std::abs(b[c]));
}

TEST_P(ConvOnDevice, ChannelsLastStaysInBothDirections) {
  const Tensor x = test::on_device(random({2, 4, 6, 6}, DType::float32, 1, MemoryFormat::channels_last), device());
  const Tensor w = test::on_device(random({8, 4, 3, 3}, DType::float32, 2), device());
  const Tensor y = raw::conv2d(x, w, {}, {});
  EXPECT_TRUE(y.is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(raw::conv2d_backward_input(y, w, x.shape(), {}).is_contiguous(MemoryFormat::channels_last));
}

}  // namespace
}  // namespace minnow
