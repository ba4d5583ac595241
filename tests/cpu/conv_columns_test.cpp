#include <gtest/gtest.h>

#include <minnow/tensor/cpu/conv_columns.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/threads.h>
#include "numbers.h"

namespace minnow {
namespace {

struct Case {
  Conv2dParams params;
  std::int64_t batch, channels, outputs, height, width, kernel_h, kernel_w;
};
const Case kCases[] = {{{{1, 1}, {1, 1}, {1, 1}, 1}, 4, 128, 128, 2, 2, 3, 3},
                       {{{2, 1}, {1, 0}, {1, 1}, 1}, 3, 96, 160, 5, 6, 3, 3},
                       {{{1, 2}, {2, 3}, {2, 3}, 1}, 2, 64, 256, 4, 7, 2, 4},
                       {{{2, 2}, {0, 0}, {1, 1}, 1}, 5, 512, 264, 4, 4, 1, 1}};

struct Results {
  Tensor y, grad_x, grad_w, grad_bias;
};

struct Tensors {
  Conv2dParams params;
  Tensor x, w, bias, grad;
  MemoryFormat format;

  Tensors(const Case& c, DType dtype)
      : params(c.params), format(dtype == DType::float32 ? MemoryFormat::channels_last : MemoryFormat::contiguous) {
    const auto out = [&](std::int64_t in, std::int64_t kernel, int d) {
      return (in + 2 * params.padding[d] - params.dilation[d] * (kernel - 1) - 1) / params.stride[d] + 1;
    };
    x = test::random({c.batch, c.channels, c.height, c.width}, dtype, 1, format);
    w = test::random({c.outputs, c.channels, c.kernel_h, c.kernel_w}, dtype, 2);
    bias = test::random({c.outputs}, dtype, 3);
    grad =
        test::random({c.batch, c.outputs, out(c.height, c.kernel_h, 0), out(c.width, c.kernel_w, 1)}, dtype, 4, format);
  }
  Results run() const {
    const DType dtype = x.dtype();
    const Results r{test::scratch(grad.shape(), dtype, format), test::scratch(x.shape(), dtype, format),
                    test::scratch(w.shape(), dtype), test::scratch(bias.shape(), dtype)};
    cpu::execute(calls::Conv2d{x, w, bias, r.y, params});
    cpu::execute(calls::Conv2dBackwardInput{grad, w, r.grad_x, params});
    cpu::execute(calls::Conv2dBackwardWeight{grad, x, r.grad_w, r.grad_bias, params});
    return r;
  }
};

TEST(CpuConvColumns, AgreesWithThePlainSums) {
  for (const Case& c : kCases) {
    const Tensors single(c, DType::float32), exact(c, DType::float64);
    ASSERT_TRUE(cpu::suits_columns(single.params, single.x.shape(), single.w.shape(), single.grad.shape()));
    const Results got = single.run(), want = exact.run();
    const std::int64_t taps = c.kernel_h * c.kernel_w, pixels = single.grad.numel() / c.outputs;
    const auto bound = [](std::int64_t terms) { return test::sum_bound(terms, DType::float32); };
    EXPECT_LE(test::largest_difference(got.y, want.y), bound(taps * c.channels + 1));
    EXPECT_LE(test::largest_difference(got.grad_x, want.grad_x), bound(taps * c.outputs));
    EXPECT_LE(test::largest_difference(got.grad_w, want.grad_w), bound(pixels));
    EXPECT_LE(test::largest_difference(got.grad_bias, want.grad_bias), bound(pixels));
  }
}

TEST(CpuConvColumns, ThreadsDoNotChangeTheBits) {
  const int before = num_threads();
  for (const Case& c : kCases) {
    const Tensors single(c, DType::float32);
    set_num_threads(1);
    const Results alone = single.run();
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      const Results many = single.run();
      EXPECT_TRUE(test::same_bits(many.y, alone.y) && test::same_bits(many.grad_x, alone.grad_x) &&
                  test::same_bits(many.grad_w, alone.grad_w) && test::same_bits(many.grad_bias, alone.grad_bias))
          << threads << " threads";
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace minnow
