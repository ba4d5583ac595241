#include <gtest/gtest.h>

#include <minnow/tensor/cpu/cpu_backend.h>
#include "numbers.h"

namespace minnow {
namespace {

std::int64_t pooled(std::int64_t in, const Pool2dParams& p, int d) {
  return (in + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1) / p.stride[d] + 1;
}

const Pool2dParams kPools[] = {
    {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true},  {{3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
    {{3, 2}, {1, 2}, {1, 0}, {1, 1}, false}, {{2, 3}, {2, 1}, {0, 1}, {2, 1}, true},
    {{5, 7}, {1, 3}, {2, 3}, {1, 1}, true},
};
constexpr MemoryFormat kFormats[] = {MemoryFormat::contiguous, MemoryFormat::channels_last};

/// Calls f(output index, input index, ih * W + iw) for every tap inside the image, windows in order.
template <class F> void for_taps(const Pool2dParams& p, const Shape& x, const Shape& y, const F& f) {
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (std::int64_t oh = 0; oh < y[2]; ++oh)
      for (std::int64_t ow = 0; ow < y[3]; ++ow)
        for (std::int64_t kh = 0; kh < p.kernel[0]; ++kh)
          for (std::int64_t kw = 0; kw < p.kernel[1]; ++kw) {
            const std::int64_t ih = oh * p.stride[0] - p.padding[0] + kh * p.dilation[0];
            const std::int64_t iw = ow * p.stride[1] - p.padding[1] + kw * p.dilation[1];
            if (ih >= 0 && ih < x[2] && iw >= 0 && iw < x[3])
              f(static_cast<std::size_t>((plane * y[2] + oh) * y[3] + ow),
                static_cast<std::size_t>((plane * x[2] + ih) * x[3] + iw), ih * x[3] + iw);
          }
}

TEST(CpuPool, MaxAndItsGradientAgreeWithPlainLoops) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const MemoryFormat format : kFormats)
      for (const Pool2dParams& p : kPools)
        for (const std::int64_t channels : {1, 5, 37}) {
          const Shape xs = {2, channels, 7, 8}, ys = {2, channels, pooled(7, p, 0), pooled(8, p, 1)};
          const Tensor x = test::random(xs, dtype, 1, format), grad = test::random(ys, dtype, 2, format);
          const Tensor y = test::scratch(ys, dtype, format), index = test::scratch(ys, DType::int32, format);
          const Tensor grad_x = test::scratch(xs, dtype, format);
          cpu::execute(calls::MaxPool2d{x, y, index, p});
          cpu::execute(calls::MaxPool2dBackward{grad, index, grad_x, p});
          const auto xv = test::values_of(x), g = test::values_of(grad), at = test::values_of(index);
          std::vector<double> best(g.size(), -INFINITY), place(g.size(), -1), gx(xv.size(), 0.0);
          for_taps(p, xs, ys, [&](std::size_t o, std::size_t i, std::int64_t position) {
            if (xv[i] > best[o]) best[o] = xv[i], place[o] = static_cast<double>(position);
          });
          for_taps(p, xs, ys, [&](std::size_t o, std::size_t i, std::int64_t position) {
            if (place[o] == static_cast<double>(position)) gx[i] += g[o];
          });
          EXPECT_EQ(test::values_of(y), best);
          EXPECT_EQ(at, place);
          const auto got = test::values_of(grad_x);
          for (std::size_t i = 0; i < gx.size(); ++i) ASSERT_NEAR(got[i], gx[i], 4 * test::epsilon(dtype));
        }
}

TEST(CpuPool, NanWins) {
  for (const DType dtype : {DType::float32, DType::bfloat16})
    for (const MemoryFormat format : kFormats) {
      const Tensor x = test::random({1, 2, 2, 2}, dtype, 1, format);
      if (dtype == DType::float32) static_cast<float*>(x.raw_data())[2] = NAN;
      else static_cast<std::uint16_t*>(x.raw_data())[2] = 0x7fc0;
      const Tensor y = test::scratch({1, 2, 1, 1}, dtype, format),
                   index = test::scratch({1, 2, 1, 1}, DType::int32, format);
      cpu::execute(calls::MaxPool2d{x, y, index, kPools[0]});
      const auto values = test::values_of(y);
      EXPECT_EQ(std::isnan(values[0]) + std::isnan(values[1]), 1);
    }
}

TEST(CpuPool, AverageAndItsGradientAgreeWithPlainLoops) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const MemoryFormat format : kFormats)
      for (const Pool2dParams& p : kPools) {
        if (p.dilation[0] != 1) continue;
        const Shape xs = {2, 5, 7, 8}, ys = {2, 5, pooled(7, p, 0), pooled(8, p, 1)};
        const Tensor x = test::random(xs, dtype, 1, format), grad = test::random(ys, dtype, 2, format);
        const Tensor y = test::scratch(ys, dtype, format), grad_x = test::scratch(xs, dtype, format);
        cpu::execute(calls::AvgPool2d{x, y, p});
        cpu::execute(calls::AvgPool2dBackward{grad, grad_x, p});
        const auto xv = test::values_of(x), g = test::values_of(grad);
        std::vector<double> sum(g.size(), 0.0), count(g.size(), 0.0), gx(xv.size(), 0.0);
        for_taps(p, xs, ys, [&](std::size_t o, std::size_t i, std::int64_t) { sum[o] += xv[i], count[o] += 1; });
        // The windows of these cases do not pass the padding's far end.
        for (double& c : count) c = p.count_include_pad ? static_cast<double>(p.kernel[0] * p.kernel[1]) : c;
        for_taps(p, xs, ys, [&](std::size_t o, std::size_t i, std::int64_t) { gx[i] += g[o] / count[o]; });
        const auto got = test::values_of(y), got_x = test::values_of(grad_x);
        for (std::size_t i = 0; i < g.size(); ++i) ASSERT_NEAR(got[i], sum[i] / count[i], 4 * test::epsilon(dtype));
        for (std::size_t i = 0; i < gx.size(); ++i) ASSERT_NEAR(got_x[i], gx[i], 4 * test::epsilon(dtype));
      }
}

/// 7 x 8 to 3 x 5, windows of unequal sizes that share rows and columns.
TEST(CpuPool, AdaptiveWindowsAgreeWithPlainLoops) {
  Pool2dParams p{{3, 5}};
  p.adaptive = true;
  const Shape xs = {2, 5, 7, 8}, ys = {2, 5, 3, 5};
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16})
    for (const MemoryFormat format : kFormats) {
      const Tensor x = test::random(xs, dtype, 1, format), grad = test::random(ys, dtype, 2, format);
      const Tensor y = test::scratch(ys, dtype, format), index = test::scratch(ys, DType::int32, format);
      const Tensor mean = test::scratch(ys, dtype, format), gx = test::scratch(xs, dtype, format),
                   mean_gx = test::scratch(xs, dtype, format);
      cpu::execute(calls::MaxPool2d{x, y, index, p});
      cpu::execute(calls::MaxPool2dBackward{grad, index, gx, p});
      cpu::execute(calls::AvgPool2d{x, mean, p});
      cpu::execute(calls::AvgPool2dBackward{grad, mean_gx, p});
      const auto xv = test::values_of(x), g = test::values_of(grad), most = test::values_of(y),
                 at = test::values_of(index), means = test::values_of(mean);
      std::vector<double> want(xv.size()), want_mean(xv.size());
      for (std::size_t o = 0; o < g.size(); ++o) {
        const std::size_t ow = o % 5, oh = o / 5 % 3, plane = o / 15 * 56;
        const std::size_t h0 = oh * 7 / 3, h1 = (oh * 7 + 9) / 3, w0 = ow * 8 / 5, w1 = (ow * 8 + 12) / 5;
        double best = -INFINITY, sum = 0;
        std::size_t place = 0;
        for (std::size_t h = h0; h < h1; ++h)
          for (std::size_t w = w0; w < w1; ++w) {
            const double value = xv[plane + h * 8 + w];
            if (value > best) best = value, place = h * 8 + w;
            sum += value;
            want_mean[plane + h * 8 + w] += g[o] / static_cast<double>((h1 - h0) * (w1 - w0));
          }
        EXPECT_EQ(most[o], best);
        EXPECT_EQ(at[o], static_cast<double>(place));
        EXPECT_NEAR(means[o], sum / static_cast<double>((h1 - h0) * (w1 - w0)), 4 * test::epsilon(dtype));
        want[plane + place] += g[o];
      }
      const auto got = test::values_of(gx), got_mean = test::values_of(mean_gx);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 4 * test::epsilon(dtype));
        ASSERT_NEAR(got_mean[i], want_mean[i], 4 * test::epsilon(dtype));
      }
    }
}

TEST(CpuConv, AgreesWithPlainLoops) {
  const Conv2dParams cases[] = {
      {}, {{2, 1}, {1, 2}, {1, 1}, 1}, {{1, 2}, {3, 0}, {2, 1}, 2}, {{1, 1}, {1, 1}, {1, 1}, 4}};
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const MemoryFormat format : kFormats)
      for (const Conv2dParams& p : cases) {
        const Shape xs = {3, 4, 6, 7}, ws = {8, 4 / p.groups, 3, 2};
        const std::int64_t oh = (6 + 2 * p.padding[0] - p.dilation[0] * 2 - 1) / p.stride[0] + 1;
        const std::int64_t ow = (7 + 2 * p.padding[1] - p.dilation[1] - 1) / p.stride[1] + 1;
        const Shape ys = {3, 8, oh, ow};
        const Tensor x = test::random(xs, dtype, 1, format), w = test::random(ws, dtype, 2);
        const Tensor grad = test::random(ys, dtype, 3, format), bias = test::random({8}, dtype, 4);
        const Tensor y = test::scratch(ys, dtype, format), gx = test::scratch(xs, dtype, format);
        const Tensor gw = test::scratch(ws, dtype), gb = test::scratch({8}, dtype);
        cpu::execute(calls::Conv2d{x, w, bias, y, p});
        cpu::execute(calls::Conv2dBackwardInput{grad, w, gx, p});
        cpu::execute(calls::Conv2dBackwardWeight{grad, x, gw, gb, p});
        const auto xv = test::values_of(x), wv = test::values_of(w), bv = test::values_of(bias);
        std::vector<double> want(static_cast<std::size_t>(ys.numel())), want_x(xv.size()), want_w(wv.size()), want_b(8);
        const auto g = test::values_of(grad);
        const std::int64_t per = 8 / p.groups, in = ws[1];
        for (std::int64_t e = 0; e < ys.numel(); ++e) {
          const std::int64_t j = e % ow, i = e / ow % oh, o = e / ow / oh % 8, n = e / ow / oh / 8;
          double sum = bv[static_cast<std::size_t>(o)];
          want_b[static_cast<std::size_t>(o)] += g[static_cast<std::size_t>(e)];
          for (std::int64_t c = 0; c < in; ++c)
            for (std::int64_t kh = 0; kh < 3; ++kh)
              for (std::int64_t kw = 0; kw < 2; ++kw) {
                const std::int64_t ih = i * p.stride[0] - p.padding[0] + kh * p.dilation[0];
                const std::int64_t iw = j * p.stride[1] - p.padding[1] + kw * p.dilation[1];
                if (ih < 0 || ih >= 6 || iw < 0 || iw >= 7) continue;
                const auto xi = static_cast<std::size_t>(((n * 4 + o / per * in + c) * 6 + ih) * 7 + iw);
                const auto wi = static_cast<std::size_t>(((o * in + c) * 3 + kh) * 2 + kw);
                sum += xv[xi] * wv[wi];
                want_x[xi] += g[static_cast<std::size_t>(e)] * wv[wi];
                want_w[wi] += g[static_cast<std::size_t>(e)] * xv[xi];
              }
          want[static_cast<std::size_t>(e)] = sum;
        }
        const auto near = [&](const Tensor& got, const std::vector<double>& expected, const char* what) {
          const auto values = test::values_of(got);
          for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(values[i], expected[i],
                        test::sum_bound(128, DType::float32) + test::epsilon(dtype) * (1 + std::fabs(expected[i])))
                << what << " " << name_of(dtype);
        };
        near(y, want, "y");
        near(gx, want_x, "grad_x");
        near(gw, want_w, "grad_w");
        near(gb, want_b, "grad_bias");
      }
}

/// oneDNN gets a second channel of zeros beside a single one: 0 times what was in that memory may be NaN.
TEST(CpuConv, OneChannelIsFreeOfWhatWasInItsMemory) {
  const Shape xs = {2, 1, 6, 7}, ws = {4, 1, 3, 3}, ys = {2, 4, 4, 5};
  for (const MemoryFormat format : kFormats) {
    const Tensor x = test::random(xs, DType::float32, 1, format), w = test::random(ws, DType::float32, 2);
    const Tensor y = test::scratch(ys, DType::float32, format), gx = test::scratch(xs, DType::float32, format),
                 gw = test::scratch(ws, DType::float32);
    for (std::int64_t n = 8; n <= 1024; n += 8) {  // free blocks of all sizes that the call may take
      std::vector<Tensor> blocks;
      for (int i = 0; i < 4; ++i) {
        blocks.push_back(test::scratch({n}, DType::float32));
        std::fill_n(blocks.back().data<float>(), n, NAN);
      }
    }
    cpu::execute(calls::Conv2d{x, w, {}, y, {}});
    cpu::execute(calls::Conv2dBackwardInput{y, w, gx, {}});
    cpu::execute(calls::Conv2dBackwardWeight{y, x, gw, {}, {}});
    for (const Tensor& t : {y, gx, gw})
      for (const double value : test::values_of(t)) ASSERT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace minnow
