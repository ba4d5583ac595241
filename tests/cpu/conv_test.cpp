#include <algorithm>
#include <gtest/gtest.h>

#include <minnow/tensor/cpu/cpu_backend.h>
#include "../kernels/isa_support.h"
#include "numbers.h"
#include "reference_conv.h"

// Convolutions of channels-last float32 by the library (tensor/cpu/runtime/library.h), whichever it is.

namespace minnow {
namespace {

struct Case {
  Conv2dParams params;
  Shape x, w;
};
const Case kCases[] = {
    {{}, {2, 7, 6, 5}, {5, 7, 1, 1}},
    {{.stride = {2, 2}}, {2, 8, 7, 9}, {130, 8, 1, 1}},  // no tap reaches some of x
    {{.stride = {2, 1}, .padding = {1, 2}}, {3, 20, 9, 8}, {70, 20, 3, 2}},
    {{.stride = {3, 2}, .padding = {2, 3}, .dilation = {2, 1}}, {2, 17, 12, 11}, {18, 17, 3, 5}},
    {{.stride = {2, 2}, .padding = {3, 3}}, {2, 3, 21, 18}, {64, 3, 7, 7}},  // few channels: joined taps
    {{.padding = {0, 1}}, {2, 6, 5, 9}, {16, 6, 5, 4}},
    {{}, {3, 2, 6, 6}, {4, 2, 6, 6}},                                   // one position
    {{}, {1, 700, 4, 3}, {9, 700, 1, 1}},                               // a depth in blocks
    {{.padding = {1, 1}}, {1, 300, 5, 5}, {200, 300, 3, 3}},            // many weights
    {{.padding = {4, 4}}, {1, 16, 3, 3}, {16, 16, 3, 3}},               // windows of padding
    {{.padding = {1, 1}, .groups = 37}, {2, 37, 6, 7}, {37, 1, 3, 3}},  // a group for each channel
    {{.stride = {2, 3}, .padding = {2, 1}, .dilation = {1, 2}, .groups = 150}, {2, 150, 9, 8}, {150, 1, 5, 2}},
    {{.padding = {1, 1}, .groups = 8}, {2, 32, 6, 7}, {32, 4, 3, 3}},
    {{.stride = {INT32_MAX, 9}, .padding = {3, 1}}, {2, 5, 5, 3}, {6, 5, 3, 4}},
    {{.stride = {2, 2}, .padding = {1, 1}, .groups = 3}, {2, 21, 8, 5}, {33, 7, 3, 3}},
    {{.groups = 5}, {2, 5, 4, 4}, {10, 1, 3, 3}},            // two outputs of each channel
    {{.padding = {0, 4}}, {2, 40, 1, 300}, {24, 40, 1, 9}},  // a line
    {{.padding = {4, 0}}, {2, 40, 300, 1}, {24, 40, 9, 1}}};

class ConvCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, ConvCpu, test::every_isa(), test::isa_name);

std::int64_t out_size(const Case& c, int d) {
  const Conv2dParams& p = c.params;
  return (c.x[2 + d] + 2 * p.padding[d] - p.dilation[d] * (c.w[2 + d] - 1) - 1) / p.stride[d] + 1;
}

TEST_P(ConvCpu, AgreesWithThePlainSums) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::Message() << "x " << c.x.str() << ", w " << c.w.str());
    const Shape y_shape{c.x[0], c.w[0], out_size(c, 0), out_size(c, 1)};
    Tensor y[2], grad_x[2], grad_w[2], grad_bias[2];
    for (int i = 0; i < 2; ++i) {
      const DType dtype = i == 0 ? DType::float32 : DType::float64;
      const auto format = i == 0 ? MemoryFormat::channels_last : MemoryFormat::contiguous;
      const Tensor x = test::random(c.x, dtype, 1, format), w = test::random(c.w, dtype, 2),
                   bias = test::random({c.w[0]}, dtype, 3), grad = test::random(y_shape, dtype, 4, format);
      y[i] = test::scratch(y_shape, dtype, format);
      grad_x[i] = test::scratch(c.x, dtype, format);
      grad_w[i] = test::scratch(c.w, dtype);
      grad_bias[i] = test::scratch({c.w[0]}, dtype);
      for (const Tensor& t : {y[i], grad_x[i], grad_w[i], grad_bias[i]}) test::randomise(t, 5);  // is not read
      if (i == 0) {
        cpu::execute(calls::Conv2d{x, w, bias, y[i], c.params, Activation::relu});
        cpu::execute(calls::Conv2dBackwardInput{grad, w, grad_x[i], c.params});
        cpu::execute(calls::Conv2dBackwardWeight{grad, x, grad_w[i], grad_bias[i], c.params});
      } else {
        test::conv2d<double>(c.params, x, w, bias, y[i]);
        auto* const values = static_cast<double*>(y[i].raw_data());
        for (std::int64_t k = 0; k < y[i].numel(); ++k) values[k] = std::max(values[k], 0.0);
        test::conv2d_backward_input<double>(c.params, grad, w, grad_x[i]);
        test::conv2d_backward_weight<double>(c.params, grad, x, grad_w[i], grad_bias[i]);
      }
    }
    const std::int64_t taps = c.w[2] * c.w[3], pixels = y[0].numel() / c.w[0];
    const auto bound = [](std::int64_t terms) { return test::sum_bound(terms, DType::float32); };
    EXPECT_LE(test::largest_difference(y[0], y[1]), bound(taps * c.w[1] + 1));
    EXPECT_LE(test::largest_difference(grad_x[0], grad_x[1]), bound(taps * c.w[0] / c.params.groups));
    EXPECT_LE(test::largest_difference(grad_w[0], grad_w[1]), bound(pixels));
    EXPECT_LE(test::largest_difference(grad_bias[0], grad_bias[1]), bound(pixels));
  }
}

}  // namespace
}  // namespace minnow
