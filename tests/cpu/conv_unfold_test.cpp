#include <gtest/gtest.h>

#include <minnow/minnow.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/convolution/conv_unfold.h>
#include <minnow/tensor/runtime/threads.h>
#include "numbers.h"
#include "reference_conv.h"

namespace minnow {
namespace {

struct Case {
  Conv2dParams params;
  Shape x, w;
};
// Some have blocks of channels, and of positions that begin within a line; the windows of one are all padding.  Small
// images are unfolded together; the last ones are too large for that, or have several blocks so.
const Case kCases[] = {{{}, {2, 3, 9, 8}, {4, 3, 1, 1}},
                       {{.stride = {2, 1}, .padding = {1, 2}}, {2, 4, 9, 8}, {6, 4, 3, 2}},
                       {{.padding = {3, 3}, .dilation = {2, 3}, .groups = 2}, {3, 4, 5, 6}, {6, 2, 3, 3}},
                       {{.stride = {2, 2}, .groups = 3}, {1, 3, 7, 6}, {3, 1, 1, 1}},
                       {{.stride = {1, 5}, .padding = {0, 9}}, {2, 1, 1, 4}, {2, 1, 1, 3}},
                       {{.padding = {1, 1}}, {1, 60, 37, 29}, {5, 60, 3, 3}},
                       {{}, {2, 300, 5, 5}, {7, 300, 1, 1}},
                       {{.stride = {1, 2}, .padding = {0, 1}}, {1, 2, 1, 1300}, {3, 2, 1, 5}},
                       {{.stride = {2, 1}, .padding = {1, 2}, .groups = 3}, {3, 6, 19, 12}, {3, 2, 3, 2}},
                       {{.padding = {1, 1}, .groups = 2}, {40, 62, 4, 4}, {6, 31, 3, 3}}};

struct Results {
  Tensor y, grad_x, grad_w, grad_bias;
};

struct Tensors {
  Conv2dParams params;
  Tensor x, w, bias, grad;

  Tensors(const Case& c, DType dtype)
      : params(c.params),
        x(test::random(c.x, dtype, 1)),
        w(test::random(c.w, dtype, 2)),
        bias(test::random({c.w[0]}, dtype, 3)),
        grad(test::random({c.x[0], c.w[0], out(c, 0), out(c, 1)}, dtype, 4)) {}

  static std::int64_t out(const Case& c, int d) {
    const Conv2dParams& p = c.params;
    return (c.x[2 + d] + 2 * p.padding[d] - p.dilation[d] * (c.w[2 + d] - 1) - 1) / p.stride[d] + 1;
  }
  template <class Forward, class BackwardInput, class BackwardWeight>
  Results run(const Forward& forward, const BackwardInput& backward_input,
              const BackwardWeight& backward_weight) const {
    const auto like = [](const Tensor& t) { return test::scratch(t.shape(), t.dtype()); };
    Results r{like(grad), like(x), like(w), like(bias)};
    for (const Tensor& t : {r.y, r.grad_x, r.grad_w, r.grad_bias}) test::randomise(t, 5);  // is not read
    forward(params, x, w, bias, r.y);
    backward_input(params, grad, w, r.grad_x);
    backward_weight(params, grad, x, r.grad_w, r.grad_bias);
    return r;
  }
  Results unfolded() const { return run(cpu::unfold_forward, cpu::unfold_backward_input, cpu::unfold_backward_weight); }
};

TEST(CpuConvUnfold, AgreesWithThePlainSums) {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Case& c : kCases) {
      SCOPED_TRACE(::testing::Message() << "x " << c.x.str() << ", w " << c.w.str());
      const Results got = Tensors(c, dtype).unfolded();
      const Results want =
          Tensors(c, DType::float64)
              .run(test::conv2d<double>, test::conv2d_backward_input<double>, test::conv2d_backward_weight<double>);
      const std::int64_t taps = c.w[2] * c.w[3], pixels = want.y.numel() / c.w[0];
      const auto bound = [&](std::int64_t terms) { return test::sum_bound(terms, dtype); };
      EXPECT_LE(test::largest_difference(got.y, want.y), bound(taps * c.w[1] + 1));
      EXPECT_LE(test::largest_difference(got.grad_x, want.grad_x), bound(taps * c.w[0] / c.params.groups));
      EXPECT_LE(test::largest_difference(got.grad_w, want.grad_w), bound(pixels));
      EXPECT_LE(test::largest_difference(got.grad_bias, want.grad_bias), bound(pixels));
    }
}

TEST(CpuConvUnfold, ThreadsDoNotChangeTheBits) {
  const int before = num_threads();
  for (const Case& c : kCases) {
    const Tensors single(c, DType::float32);
    set_num_threads(1);
    const Results alone = single.unfolded();
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      const Results many = single.unfolded();
      EXPECT_TRUE(test::same_bits(many.y, alone.y) && test::same_bits(many.grad_x, alone.grad_x) &&
                  test::same_bits(many.grad_w, alone.grad_w) && test::same_bits(many.grad_bias, alone.grad_bias))
          << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(CpuConvUnfold, ServesManyWeightsOnFewPositions) {
  const auto run = [](DType dtype) {
    Tensor x = test::random({3, 60, 4, 3}, float64, 1).to(dtype).contiguous(MemoryFormat::channels_last);
    Tensor w = test::random({520, 60, 3, 3}, float64, 2).to(dtype), b = test::random({520}, float64, 3).to(dtype);
    for (Tensor* t : {&x, &w, &b}) t->requires_grad_();
    const Tensor y = conv2d(x, w, b, {.padding = 1});
    y.backward(test::random(y.shape(), float64, 4).to(dtype));
    return std::vector{y.detach(), x.grad(), w.grad(), b.grad()};
  };
  for (const auto direction :
       {cpu::ConvDirection::forward, cpu::ConvDirection::backward_input, cpu::ConvDirection::backward_weight})
    EXPECT_EQ(cpu::conv_implementations(direction, float32, {.padding = {1, 1}}, {3, 60, 4, 3}, {520, 60, 3, 3},
                                        {3, 520, 4, 3}),
              std::vector<std::string>{"few positions"});
  const auto got = run(float32), want = run(float64);
  const std::int64_t terms[] = {541, 9 * 520, 36, 36};
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(test::largest_difference(got[i], want[i]), 2 * test::sum_bound(terms[i], float32)) << i;
}

TEST(CpuConvUnfold, LargeKernelsTakeLittleMemory) {
  const int before = num_threads();
  set_num_threads(2);
  const Tensors t({{}, {64, 1, 207, 207}, {1, 1, 200, 200}}, DType::float64);
  reset_peak_memory(Device("cpu"));
  const std::int64_t allocated = memory_stats(Device("cpu")).allocated;
  cpu::unfold_forward(t.params, t.x, t.w, t.bias, t.grad);
  EXPECT_LT(memory_stats(Device("cpu")).peak - allocated, 4 * t.x.nbytes());
  set_num_threads(before);
}

}  // namespace
}  // namespace minnow
