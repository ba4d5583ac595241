#include <gtest/gtest.h>
#include <limits>
#include <minnow/tensor/cpu/convolution/winograd.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/runtime/threads.h>
#include "numbers.h"

namespace minnow {
namespace {

struct Convolution {
  std::int64_t batch, channels, outputs, height, width, padding;
};
// One image and many, in one part and in several, equal or not; sides that are no multiple of a tile of 4 x 4.
const Convolution kConvolutions[] = {{1, 48, 32, 61, 46, 1},
                                     {5, 32, 64, 17, 14, 0},
                                     {8, 48, 32, 15, 18, 1},
                                     {9, 32, 48, 13, 14, 1},
                                     {67, 16, 16, 12, 12, 0}};

struct Tensors {
  Conv2dParams params;
  Tensor x, w, bias, grad;

  Tensors(const Convolution& c, DType dtype)
      : params{{1, 1}, {c.padding, c.padding}, {1, 1}, 1},
        x(test::random({c.batch, c.channels, c.height, c.width}, dtype, 1, format(dtype))),
        w(test::random({c.outputs, c.channels, 3, 3}, dtype, 2)),
        bias(test::random({c.outputs}, dtype, 3)),
        grad(test::random({c.batch, c.outputs, c.height + 2 * c.padding - 2, c.width + 2 * c.padding - 2}, dtype, 4,
                          format(dtype))) {}

  struct Results {
    Tensor y, grad_x, grad_w, grad_bias;
  };
  Results run() const {
    const DType dtype = x.dtype();
    const Results r{test::scratch(grad.shape(), dtype, format(dtype)), test::scratch(x.shape(), dtype, format(dtype)),
                    test::scratch(w.shape(), dtype), test::scratch(bias.shape(), dtype)};
    cpu::execute(calls::Conv2d{x, w, bias, r.y, params});
    cpu::execute(calls::Conv2dBackwardInput{grad, w, r.grad_x, params});
    cpu::execute(calls::Conv2dBackwardWeight{grad, x, r.grad_w, r.grad_bias, params});
    return r;
  }

 private:
  static MemoryFormat format(DType dtype) {
    return dtype == DType::float32 ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  }
};

TEST(CpuWinograd, AgreesWithThePlainSums) {
  for (const Convolution& c : kConvolutions) {
    const Tensors single(c, DType::float32), exact(c, DType::float64);
    ASSERT_TRUE(cpu::suits_winograd(single.params, single.w.shape(), single.grad.shape()));
    const auto got = single.run(), want = exact.run();
    const auto bound = [](std::int64_t terms) { return 6 * test::sum_bound(terms, DType::float32); };
    EXPECT_LE(test::largest_difference(got.y, want.y), bound(9 * c.channels));
    EXPECT_LE(test::largest_difference(got.grad_x, want.grad_x), bound(9 * c.outputs));
    const std::int64_t pixels = single.grad.numel() / c.outputs;
    EXPECT_LE(test::largest_difference(got.grad_w, want.grad_w), bound(pixels));
    EXPECT_LE(test::largest_difference(got.grad_bias, want.grad_bias), bound(pixels));
  }
}

/// As float32 of the same numbers, rounded at the end.
TEST(CpuWinograd, ReadsAndWritesBFloat16) {
  const auto last = MemoryFormat::channels_last;
  const auto rounded = [&](const Tensor& t) {
    const Tensor r = test::scratch(t.shape(), DType::bfloat16, last);
    cpu::execute(calls::Copy{t, r});
    return r;
  };
  const auto widened = [&](const Tensor& t) {
    const Tensor w = test::scratch(t.shape(), DType::float32, last);
    cpu::execute(calls::Copy{t, w});
    return w;
  };
  for (const Convolution& c : kConvolutions) {
    const Tensors t(c, DType::float32);
    static_cast<float*>(t.x.raw_data())[3] = std::numeric_limits<float>::quiet_NaN();
    static_cast<float*>(t.grad.raw_data())[1] = std::numeric_limits<float>::infinity();
    const Tensor x = rounded(t.x), grad = rounded(t.grad), wide_x = widened(x), wide_grad = widened(grad);
    const Tensor y = rounded(t.grad), wide_y = test::scratch(y.shape(), DType::float32, last);
    cpu::winograd_forward(t.params, x, t.w, t.bias, y, Activation::relu);
    cpu::winograd_forward(t.params, wide_x, t.w, t.bias, wide_y, Activation::relu);
    EXPECT_TRUE(test::same_bits(y, rounded(wide_y)));
    const Tensor grad_x = rounded(t.x), wide_grad_x = test::scratch(x.shape(), DType::float32, last);
    cpu::winograd_backward_input(t.params, grad, t.w, grad_x);
    cpu::winograd_backward_input(t.params, wide_grad, t.w, wide_grad_x);
    EXPECT_TRUE(test::same_bits(grad_x, rounded(wide_grad_x)));
    const Tensor grad_w[] = {test::scratch(t.w.shape(), DType::float32), test::scratch(t.w.shape(), DType::float32)},
                 grad_bias[] = {test::scratch(t.bias.shape(), DType::float32),
                                test::scratch(t.bias.shape(), DType::float32)};
    cpu::winograd_backward_weight(t.params, grad, x, grad_w[0], grad_bias[0]);
    cpu::winograd_backward_weight(t.params, wide_grad, wide_x, grad_w[1], grad_bias[1]);
    EXPECT_TRUE(test::same_bits(grad_w[0], grad_w[1]) && test::same_bits(grad_bias[0], grad_bias[1]));
  }
}

TEST(CpuWinograd, SameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const Convolution& c : kConvolutions) {
    const Tensors t(c, DType::float32);
    set_num_threads(1);
    const auto alone = t.run();
    for (const int threads : {2, 3, 5}) {
      set_num_threads(threads);
      const auto many = t.run();
      EXPECT_TRUE(test::same_bits(alone.y, many.y) && test::same_bits(alone.grad_x, many.grad_x) &&
                  test::same_bits(alone.grad_w, many.grad_w) && test::same_bits(alone.grad_bias, many.grad_bias))
          << c.batch << " images on " << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(CpuWinograd, OtherConvolutionsDoNotUseIt) {
  const Shape w{32, 32, 3, 3}, y{8, 32, 14, 14};
  EXPECT_TRUE(cpu::suits_winograd({}, w, y));
  EXPECT_TRUE(cpu::suits_winograd({}, {512, 512, 3, 3}, {1, 512, 28, 28}));   // one image
  EXPECT_FALSE(cpu::suits_winograd({}, {512, 512, 3, 3}, {1, 512, 14, 14}));  // too few tiles for the weights
  EXPECT_FALSE(cpu::suits_winograd({{2, 2}, {0, 0}, {1, 1}, 1}, w, {8, 32, 7, 7}));
  EXPECT_FALSE(cpu::suits_winograd({{1, 1}, {0, 0}, {2, 2}, 1}, w, {8, 32, 12, 12}));
  EXPECT_FALSE(cpu::suits_winograd({}, {32, 3, 3, 3}, y));
  EXPECT_FALSE(cpu::suits_winograd({}, {32, 32, 5, 5}, y));
}

}  // namespace
}  // namespace minnow
