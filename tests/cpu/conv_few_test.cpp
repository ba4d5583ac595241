#include <gtest/gtest.h>

#include <minnow/tensor/cpu/convolution/conv_few.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/runtime/threads.h>
#include "numbers.h"

namespace minnow {
namespace {

struct Case {
  Conv2dParams params;
  std::int64_t batch, outputs, height, width, kernel_h, kernel_w;
};
// Rows and columns of padding alone; more and fewer outputs than a tile has columns.
const Case kCases[] = {{{{1, 1}, {0, 0}, {1, 1}, 1}, 5, 32, 28, 28, 3, 3},
                       {{{2, 1}, {2, 1}, {1, 1}, 1}, 9, 80, 7, 9, 3, 3},
                       {{{1, 2}, {3, 0}, {2, 3}, 1}, 2, 16, 5, 9, 2, 3},
                       {{{1, 3}, {4, 4}, {1, 1}, 1}, 1, 48, 3, 2, 9, 9}};

struct Results {
  Tensor y, grad_w, grad_bias;
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
    x = test::random({c.batch, 1, c.height, c.width}, dtype, 1, format);
    w = test::random({c.outputs, 1, c.kernel_h, c.kernel_w}, dtype, 2);
    bias = test::random({c.outputs}, dtype, 3);
    grad =
        test::random({c.batch, c.outputs, out(c.height, c.kernel_h, 0), out(c.width, c.kernel_w, 1)}, dtype, 4, format);
  }
  Results run(const Tensor& bias_or_none, Activation activation) const {
    const DType dtype = x.dtype();
    const Results r{test::scratch(grad.shape(), dtype, format), test::scratch(w.shape(), dtype),
                    bias_or_none.defined() ? test::scratch(bias.shape(), dtype) : Tensor()};
    cpu::execute(calls::Conv2d{x, w, bias_or_none, r.y, params, activation});
    cpu::execute(calls::Conv2dBackwardWeight{grad, x, r.grad_w, r.grad_bias, params});
    return r;
  }
};

TEST(CpuConvFew, AgreesWithThePlainSums) {
  const cpu::Isa before = cpu::current_isa();
  for (const cpu::Isa isa : {cpu::Isa::kBaseline, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    if (!cpu::use_isa(isa)) continue;
    for (const Case& c : kCases) {
      const Tensors single(c, DType::float32), exact(c, DType::float64);
      ASSERT_TRUE(cpu::suits_few(single.params, single.x.shape(), single.w.shape()));
      const std::int64_t taps = c.kernel_h * c.kernel_w, pixels = single.grad.numel() / c.outputs;
      const auto bound = [](std::int64_t terms) { return test::sum_bound(terms, DType::float32); };
      for (const Activation activation : {Activation::none, Activation::relu})
        for (const bool with_bias : {true, false}) {
          const Results got = single.run(with_bias ? single.bias : Tensor(), activation),
                        want = exact.run(with_bias ? exact.bias : Tensor(), activation);
          EXPECT_LE(test::largest_difference(got.y, want.y), bound(taps + 1));
          EXPECT_LE(test::largest_difference(got.grad_w, want.grad_w), bound(pixels));
          if (!with_bias) continue;
          EXPECT_LE(test::largest_difference(got.grad_bias, want.grad_bias), bound(pixels));
        }
    }
  }
  cpu::use_isa(before);
}

TEST(CpuConvFew, ThreadsDoNotChangeTheBits) {
  const int before = num_threads();
  for (const Case& c : kCases) {
    const Tensors single(c, DType::float32);
    set_num_threads(1);
    const Results alone = single.run(single.bias, Activation::relu);
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      const Results many = single.run(single.bias, Activation::relu);
      EXPECT_TRUE(test::same_bits(many.y, alone.y) && test::same_bits(many.grad_w, alone.grad_w) &&
                  test::same_bits(many.grad_bias, alone.grad_bias))
          << threads << " threads";
    }
  }
  set_num_threads(before);
}

Tensor as(const Tensor& t, DType dtype, MemoryFormat format = MemoryFormat::contiguous) {
  const Tensor out = test::scratch(t.shape(), dtype, format);
  cpu::execute(calls::Copy{t, out});
  return out;
}

/// The same numbers, rounded to bfloat16, in another dtype.
Tensors rounded(const Tensors& t, DType dtype) {
  Tensors r = t;
  for (Tensor* x : {&r.x, &r.grad}) *x = as(as(*x, DType::bfloat16, t.format), dtype, t.format);
  for (Tensor* x : {&r.w, &r.bias}) *x = as(as(*x, DType::bfloat16), dtype);
  return r;
}

TEST(CpuConvFew, HalvesAreRoundedOnce) {
  for (const Case& c : kCases) {
    const Tensors t(c, DType::float32), half = rounded(t, DType::bfloat16), single = rounded(t, DType::float32);
    const Results got = half.run(half.bias, Activation::relu), want = single.run(single.bias, Activation::relu);
    EXPECT_TRUE(test::same_bits(got.y, as(want.y, DType::bfloat16, t.format)));
    EXPECT_TRUE(test::same_bits(got.grad_w, as(want.grad_w, DType::bfloat16)));
    EXPECT_TRUE(test::same_bits(got.grad_bias, as(want.grad_bias, DType::bfloat16)));
  }
}

TEST(CpuConvHalves, WeightGradientsAreSumsInFloat32) {
  const Conv2dParams params{{1, 1}, {1, 1}, {1, 1}, 1};
  const auto half = [](const Shape& shape, unsigned seed) {
    const MemoryFormat last = MemoryFormat::channels_last;
    return as(test::random(shape, DType::float32, seed, last), DType::bfloat16, last);
  };
  const Tensor x = half({10, 32, 9, 7}, 1), grad = half({10, 48, 9, 7}, 2);
  const auto run = [&](const Tensor& g, const Tensor& in, DType dtype) {
    const Results r{Tensor(), test::scratch({48, 32, 3, 3}, dtype), test::scratch({48}, dtype)};
    cpu::execute(calls::Conv2dBackwardWeight{g, in, r.grad_w, r.grad_bias, params});
    return r;
  };
  const Results got = run(grad, x, DType::float32),
                want = run(as(grad, DType::float64), as(x, DType::float64), DType::float64);
  const double bound = test::sum_bound(10 * 9 * 7, DType::float32);
  EXPECT_LE(test::largest_difference(got.grad_w, want.grad_w), bound);
  EXPECT_LE(test::largest_difference(got.grad_bias, want.grad_bias), bound);
}

TEST(CpuConvFew, ReadsImagesOfAnyStridesWhereTheyAre) {
  const Tensors t(kCases[1], DType::float32);
  const Shape& shape = t.x.shape();
  const Tensor memory = test::random({shape[0], 4, shape[3], shape[2]}, DType::float32, 5);
  const Tensor wide(memory.storage(), DType::float32, shape, {shape[2] * shape[3] * 4, 1, 2, shape[2] * 2});
  cpu::execute(calls::Copy{t.x, wide});
  const Tensor y = test::scratch(t.grad.shape(), DType::float32, MemoryFormat::channels_last),
               plain = test::scratch(t.grad.shape(), DType::float32, MemoryFormat::channels_last);
  const std::int64_t before = cpu::conv_copies().activations;
  cpu::execute(calls::Conv2d{wide, t.w, t.bias, y, t.params});
  EXPECT_EQ(cpu::conv_copies().activations, before);
  cpu::execute(calls::Conv2d{t.x, t.w, t.bias, plain, t.params});
  EXPECT_TRUE(test::same_bits(y, plain));
}

}  // namespace
}  // namespace minnow
