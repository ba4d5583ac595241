#include <cmath>
#include <gtest/gtest.h>
#include <numbers>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/fft.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/index.h>
#include <minnow/tensor/random.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

using Transform = Tensor (*)(const In&, std::optional<std::int64_t>, int, FftNorm);

const std::initializer_list<std::pair<std::string, FftNorm>> kNorms{
    {"backward", FftNorm::backward}, {"ortho", FftNorm::ortho}, {"forward", FftNorm::forward}};

OpCase fft_row(const std::string& function, const std::string& golden, const Function& call,
               const std::vector<Inputs>& inputs) {
  return {.function = function,
          .variant = golden,
          .call = call,
          .inputs = inputs,
          .dtypes = {DType::float32, DType::float64},
          .golden = {"fft: " + function + "/" + golden},
          .tolerance = {1e-5, 1e-5}};
}

OpCases transforms() {
  OpCases cases;
  const std::initializer_list<std::pair<std::string, Transform>> functions{
      {"fft", fft}, {"ifft", ifft}, {"rfft", rfft}, {"irfft", irfft}};
  for (const auto& [function, f] : functions) {
    const Transform transform = f;
    const bool real = function == "rfft";
    const auto shape = [real](Shape s) {
      if (!real) s.push_back(2);
      return Inputs{values(s, -1, 1)};
    };
    for (const auto& [name, norm] : kNorms) {
      const FftNorm n = norm;
      cases.push_back(fft_row(function, name, one([=](const Tensors& x) { return transform(x[0], {}, -1, n); }),
                              {shape({2, 6}), shape({5}), shape({0, 4})}));
    }
    for (const std::int64_t n : {1, 2, 4, 5, 9, 16, 17, 26})
      cases.push_back(fft_row(function, "n" + std::to_string(n),
                              one([=](const Tensors& x) { return transform(x[0], n, -1, FftNorm::backward); }),
                              {shape({2, 7}), shape({3})}));
    cases.push_back(fft_row(function, "dim0",
                            one([=](const Tensors& x) { return transform(x[0], {}, 0, FftNorm::ortho); }),
                            {shape({6, 3}), shape({4, 2, 3})}));
    cases.push_back(fft_row(function, "dim1",
                            one([=](const Tensors& x) { return transform(x[0], 8, 1, FftNorm::ortho); }),
                            {shape({2, 5, 3})}));
  }
  cases.push_back(fft_row("fft2", "backward", one([](const Tensors& x) { return fft2(x[0]); }),
                          {{values({2, 3, 4, 2}, -1, 1)}, {values({5, 2, 2}, -1, 1)}}));
  cases.push_back(fft_row("fft2", "ortho", one([](const Tensors& x) {
                            return fft2(x[0], {}, {-2, -1}, FftNorm::ortho);
                          }),
                          {{values({3, 4, 2}, -1, 1)}}));
  cases.push_back(
      fft_row("ifft2", "backward", one([](const Tensors& x) { return ifft2(x[0]); }), {{values({2, 3, 4, 2}, -1, 1)}}));
  cases.push_back(fft_row("rfft2", "backward", one([](const Tensors& x) { return rfft2(x[0]); }),
                          {{values({2, 3, 4}, -1, 1)}, {values({5, 3}, -1, 1)}}));
  cases.push_back(fft_row("irfft2", "ortho", one([](const Tensors& x) {
                            return irfft2(x[0], {}, {-2, -1}, FftNorm::ortho);
                          }),
                          {{values({2, 3, 4, 2}, -1, 1)}}));
  // Sizes: longer and shorter ones, of the last dimensions, and of given ones.
  const auto sized_row = [&](const std::string& function, const Function& call, const Input& x) {
    cases.push_back(fft_row(function, "sizes", call, {{x}}));
    cases.back().golden = {"composed: " + function + "/sizes"};
  };
  const Input complex = values({2, 3, 4, 2}, -1, 1), real = values({3, 4, 5}, -1, 1);
  sized_row("fft2", one([](const Tensors& x) { return fft2(x[0], {5, 2}); }), complex);
  sized_row("ifft2", one([](const Tensors& x) { return ifft2(x[0], {5, 2}, {0, 1}); }), complex);
  sized_row("rfft2", one([](const Tensors& x) { return rfft2(x[0], {5, 7}); }), real);
  sized_row("irfft2", one([](const Tensors& x) { return irfft2(x[0], {2, 9}); }), complex);
  sized_row("fftn", one([](const Tensors& x) { return fftn(x[0], {2, 5}); }), complex);
  sized_row("ifftn", one([](const Tensors& x) { return ifftn(x[0], {4, 2}, {2, 0}, FftNorm::ortho); }), complex);
  sized_row("rfftn", one([](const Tensors& x) { return rfftn(x[0], {-1, 4}, {0, 2}); }), real);
  sized_row("irfftn", one([](const Tensors& x) { return irfftn(x[0], {2, 2, 5}); }), complex);
  return cases;
}

/// The input has the dtype and device of the result.
OpCase frequencies(const std::string& function, const std::string& golden, std::int64_t n, double d) {
  const auto make = function == "fftfreq" ? fftfreq : rfftfreq;
  return {.function = function,
          .variant = golden,
          .call = one([=](const Tensors& like) {
            like[0].require_defined("case", SourceLocation::current());
            return make(n, d, {like[0].dtype(), like[0].device()}, SourceLocation::current());
          }),
          .inputs = {{values({})}},
          .gradient = Gradient::kNone,
          .golden = {"fft: " + function + "/" + golden}};
}

OpCases all_frequencies() {
  return {frequencies("fftfreq", "1", 1, 1), frequencies("fftfreq", "5", 5, 1), frequencies("fftfreq", "8", 8, 0.25),
          frequencies("rfftfreq", "5", 5, 0.1), frequencies("rfftfreq", "8", 8, 1)};
}

const Register kFftTables[] = {Register(transforms), Register(all_frequencies)};

/// Sizes with each kind of factors, against the sums themselves; there and back.
TEST(Fft, AnySize) {
  manual_seed(3);
  for (const std::int64_t n : {1, 3, 8, 12, 13, 19, 30, 64, 97, 101, 210, 289, 1001, 1024}) {
    SCOPED_TRACE(n);
    const Tensor x = randn({n, 2}, {DType::float64}), k = arange(n);
    const Tensor angle =
        remainder(k.unsqueeze(1) * k, n).to(DType::float64) * (2 * std::numbers::pi / static_cast<double>(n));
    const Tensor c = cos(angle), s = sin(angle), re = x(all, 0), im = x(all, 1);
    const Tensor want = stack({matmul(c, re) + matmul(s, im), matmul(c, im) - matmul(s, re)}, -1);
    for (const Device& device : test_devices()) {
      const Tensor there = x.to(device), y = fft(there);
      EXPECT_TRUE(allclose(y.cpu(), want, 1e-10, 1e-10)) << device;
      EXPECT_TRUE(allclose(ifft(y).cpu(), x, 1e-12, 1e-12)) << device;
      const Tensor real = there(all, 0), half = rfft(real);
      EXPECT_EQ(half.shape(), (Shape{n / 2 + 1, 2}));
      EXPECT_TRUE(allclose(half, fft(stack({real, zeros_like(real)}, -1)).narrow(0, 0, n / 2 + 1), 1e-10, 1e-10));
      EXPECT_TRUE(allclose(irfft(half, n), real, 1e-12, 1e-12)) << device;
    }
  }
}

TEST(Fft, DimensionsOfSizeOneAreNotTransformed) {
  const Tensor x = randn({3, 1, 4, 2});
  EXPECT_TRUE(equal(fftn(x, {}, {1, 2}), fft(x, {}, 2)));
  EXPECT_TRUE(equal(fftn(x, {1, -1}, {0, 2}), fft(x.narrow(0, 0, 1), {}, 2)));
  EXPECT_TRUE(equal(ifftn(x, {}, {1}, FftNorm::ortho), x));
  EXPECT_EQ(rfftn(x, {1, 1}, {2, 3}).shape(), (Shape{3, 1, 1, 1, 2}));
  Tensor one = x.narrow(0, 0, 1).narrow(2, 0, 1).clone().requires_grad_();
  const Tensor y = fftn(one);  // a copy
  EXPECT_NE(y.raw_data(), one.raw_data());
  sum(y * y).backward();
  EXPECT_TRUE(equal(one.grad(), 2 * one.detach()));
}

/// Many lines along either dimension, in vectors of each instruction set, and lines so long that they are matrices.
TEST(Fft, ManyLines) {
  manual_seed(4);
  const cpu::Isa before = cpu::current_isa();
  for (const std::int64_t n : {1, 2, 3, 8, 13, 15, 34, 98, 400, 1077, 1500, 2062}) {
    const Tensor k = arange(n);
    const Tensor angle =
        remainder(k.unsqueeze(1) * k, n).to(DType::float64) * (2 * std::numbers::pi / static_cast<double>(n));
    const Tensor c = cos(angle), s = sin(angle);
    for (const std::int64_t lines : {1, 5, 37}) {
      const Tensor x = randn({n, lines, 2}, {DType::float64}), re = x(all, all, 0), im = x(all, all, 1);
      const Tensor c_re = matmul(c, re), s_re = matmul(s, re);
      const Tensor want = stack({c_re + matmul(s, im), matmul(c, im) - s_re}, -1);
      const Tensor real = stack({c_re, -s_re}, -1).narrow(0, 0, n / 2 + 1);
      for (const cpu::Isa isa : {cpu::Isa::kBaseline, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
        if (!cpu::use_isa(isa)) continue;
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(lines));
        const Tensor across = fft(x, {}, 0), along = fft(x.transpose(0, 1).contiguous()).transpose(0, 1);
        EXPECT_TRUE(allclose(across, want, 1e-10, 1e-10));
        EXPECT_TRUE(allclose(along, want, 1e-10, 1e-10));
        EXPECT_TRUE(allclose(ifft(across, {}, 0), x, 1e-12, 1e-12));
        const Tensor half = rfft(re.transpose(0, 1).contiguous());
        EXPECT_TRUE(allclose(half.transpose(0, 1), real, 1e-10, 1e-10));
        EXPECT_TRUE(allclose(rfft(re.contiguous(), {}, 0), real, 1e-10, 1e-10));
        EXPECT_TRUE(allclose(irfft(half, n).transpose(0, 1), re, 1e-12, 1e-12));
        EXPECT_TRUE(allclose(irfft(real, n, 0), re, 1e-12, 1e-12));
      }
      cpu::use_isa(before);
    }
  }
}

/// float32 is accurate to a few roundings of the largest results.
TEST(Fft, Float32IsAccurate) {
  manual_seed(5);
  for (const Device& device : test_devices()) {
    for (const std::int64_t n : {64, 400, 509, 1000, 4096}) {
      const Tensor x = randn({20, n, 2}, {DType::float32, device});
      const Tensor error = fft(x, {}, 1).to(DType::float64) - fft(x.to(DType::float64), {}, 1);
      EXPECT_LT(sqrt(mean(error * error)).item<double>(), 2e-7 * std::sqrt(static_cast<double>(n))) << n << device;
      EXPECT_LT(amax(abs(error)).item<double>(), 1e-6 * std::sqrt(static_cast<double>(n))) << n << device;
    }
  }
}

/// A NaN or an infinity changes no other line, though lines are transformed together.
TEST(Fft, LinesAreSeparate) {
  manual_seed(6);
  for (const std::int64_t n : {6, 15, 400, 1500}) {
    Tensor x = randn({40, n});
    const Tensor clean = rfft(x);
    x.select(0, 7).fill_(NAN), x.select(0, 23).fill_(INFINITY);
    const Tensor y = rfft(x), back = irfft(y, n), want = irfft(clean, n);
    for (std::int64_t line = 0; line < 40; ++line) {
      const bool bad = line == 7 || line == 23;
      EXPECT_EQ(equal(y.select(0, line), clean.select(0, line)), !bad) << n << " " << line;
      EXPECT_EQ(equal(back.select(0, line), want.select(0, line)), !bad) << n << " " << line;
    }
  }
}

}  // namespace
}  // namespace minnow::test
