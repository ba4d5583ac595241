#include <gtest/gtest.h>
#include <limits>
#include <minnow/autograd/engine.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/embedding_bag.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"

// What the host computes in one call, or by loops of its own, beside the same composed of other operations.

namespace minnow {
namespace {

Tensor normal(const Shape& shape, DType dtype, RandomGenerator& generator) {
  return randn(shape, {dtype, {}, &generator});
}

class HostCalls : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, HostCalls, test::all_devices(), test::device_test_name);

/// A gradient that is to have one is that of the composed function, which is linear in x.
void expect_as_composed(const Tensor& image, const Tensor& grid, const GridSampleOptions& o, double tolerance) {
  RandomGenerator generator(3);
  const Tensor x = image.detach().requires_grad_(), at = grid.detach().requires_grad_();
  const Tensor y = grid_sample(x, at, o);
  const Tensor g = rand(y.shape(), {y.dtype(), {}, &generator}).to(y.device());
  const std::vector<Tensor> once = grad({y}, {x, at}, {.retain_graph = true, .grad_outputs = {g}}),
                            composed = grad({y}, {x, at}, {.create_graph = true, .grad_outputs = {g}});
  for (int i = 0; i < 2; ++i) {
    const Tensor& want = composed[static_cast<std::size_t>(i)];
    EXPECT_TRUE(allclose(once[static_cast<std::size_t>(i)], want.detach(), tolerance, tolerance))
        << i << " " << x.shape().str() << " " << static_cast<int>(o.mode) << static_cast<int>(o.padding_mode)
        << o.align_corners;
  }
  EXPECT_NEAR(sum(g * y).item<double>(), sum(composed[0] * x).item<double>(), tolerance * 100) << x.shape().str();
}

TEST_P(HostCalls, GridSampleIsTheComposedFunction) {
  RandomGenerator generator(1);
  for (const DType dtype : {DType::float64, DType::float32}) {
    const double tolerance = dtype == DType::float64 ? 1e-9 : 3e-3;
    const auto made = [&](const Shape& shape) { return normal(shape, dtype, generator).to(device()); };
    const Tensor images[] = {made({2, 17, 5, 6}), made({1, 3, 1, 7}), made({2, 5, 3, 4}).transpose(1, 3),
                             made({1, 2, 3, 4, 5})};
    for (const Tensor& x : images) {
      const bool deep = x.dim() == 5;
      const Shape places = deep ? Shape{x.size(0), 3, 5, 9, 3} : Shape{x.size(0), 9, 15, 2};
      for (const Interpolation mode : {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic})
        for (const GridPadding padding : {GridPadding::zeros, GridPadding::border, GridPadding::reflection})
          for (const bool corners : {false, true})
            if (!deep || mode != Interpolation::bicubic)
              expect_as_composed(x, made(places) * 1.5, {mode, padding, corners}, tolerance);
    }
  }
}

TEST_P(HostCalls, GridSampleFarOutside) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor x = ones({1, 1, 3, 4}, {DType::float32, device()});
  const Tensor grid =
      tensor({nan, 0.0, 1e30, 0.0, 0.0, -inf, 0.0, 0.0}, {DType::float32, device()}).reshape({1, 1, 4, 2});
  EXPECT_EQ(grid_sample(x, grid).to_vector<float>(), (std::vector<float>{0, 0, 0, 1}));
  const auto border = grid_sample(x, grid, {.padding_mode = GridPadding::border}).to_vector<float>();
  EXPECT_TRUE(border[0] != border[0]);
  EXPECT_EQ(border[1], 1);
  EXPECT_EQ(grid_sample(x, zeros({1, 0, 4, 2}, {DType::float32, device()})).shape(), (Shape{1, 1, 0, 4}));
}

TEST_P(HostCalls, SumsOfBags) {
  RandomGenerator generator(2);
  for (const DType dtype : {DType::float32, DType::float64})
    for (const std::int64_t size : {0, 1, 63, 64, 65, 130})
      for (const std::int64_t length : {1, 7}) {
        const Tensor weight = normal({11, size}, dtype, generator).to(device()).requires_grad_();
        const Tensor index = randint(0, 11, {length, 20}, {DType::int64, {}, &generator}).to(device()).transpose(0, 1);
        const Tensor y = embedding_bag(index, weight, {}, {.mode = BagMode::sum}),
                     mean = embedding_bag(index, weight, {}, {.mode = BagMode::mean});
        const Tensor want = sum(embedding(index, weight), 1);
        EXPECT_TRUE(allclose(y, want, 1e-5, 1e-5));
        EXPECT_TRUE(allclose(mean, want / static_cast<double>(length), 1e-5, 1e-5));
        const Tensor g = normal({20, size}, dtype, generator).to(device());
        const GradOptions options{.grad_outputs = {g}};
        EXPECT_TRUE(allclose(grad(y, weight, options), grad(want, weight, options), 1e-5, 1e-5));
      }
  const Tensor outside = tensor(Nested{{3, 4}, {-1, 2}}, {DType::int64, device()});
  if (!device().is_cpu()) return;
  EXPECT_THROW((void)embedding_bag(outside, ones({5, 3})), IndexError);
}

TEST_P(HostCalls, MaskedSelectOfEachSize) {
  for (const DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::float64})
    for (const std::int64_t n : {0, 1, 7, 8, 9, 100}) {
      const Tensor x = arange(0, n, 1, {DType::float32, device()});
      const Tensor mask = ne(remainder(x, 3), 1);
      std::vector<float> want;
      for (std::int64_t i = 0; i < n; ++i)
        if (i % 3 != 1) want.push_back(static_cast<float>(i));
      EXPECT_EQ(masked_select(x.to(dtype), mask).to(DType::float32).to_vector<float>(), want);
      EXPECT_EQ(masked_select(x.to(dtype), zeros_like(mask)).numel(), 0);
    }
}

TEST_P(HostCalls, MedianOfALongRow) {
  RandomGenerator generator(4);
  for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::int64, DType::float64})
    for (const std::int64_t n : {2047, 2048, 5001}) {
      Tensor x = (normal({n}, DType::float64, generator) * 20 + 100).to(dtype).to(device());
      const Ordered sorted = sort(x, 0);
      const Ordered found = median(x, 0);
      const std::int64_t k = (n - 1) / 2;
      EXPECT_EQ(found.indices.item<std::int64_t>(), sorted.indices.narrow(0, k, 1).item<std::int64_t>());
      EXPECT_EQ(kthvalue(x, n, 0).values.item<double>(), sorted.values.narrow(0, n - 1, 1).item<double>());
      if (!is_floating_point(dtype)) continue;
      x.narrow(0, 0, 3).fill_(std::numeric_limits<double>::quiet_NaN());
      const Tensor numbers = x.narrow(0, 3, n - 3);
      EXPECT_EQ(nanmedian(x).item<double>(), median(numbers).item<double>());
    }
}

TEST_P(HostCalls, MaxPoolOfALine) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x =
      tensor({-inf, -inf, 1.0, 1.0, nan, 2.0, nan, -inf, -inf}, {DType::float32, device()}).reshape({1, 1, 9});
  for (const std::int64_t stride : {1, 2, 3}) {
    const MinMax found = max_pool1d_with_indices(x, 3, {.stride = stride, .padding = 1});
    // Of equal elements the first, of NaNs the last.
    const std::int64_t all[] = {0, 2, 2, 4, 4, 6, 6, 6, 7};
    std::vector<std::int64_t> want;
    for (std::int64_t i = 0; i < 9; i += stride) want.push_back(all[i]);
    EXPECT_EQ(found.indices.to_vector<std::int64_t>(), want);
  }
}

TEST_P(HostCalls, RepeatedElementsAndIndexFill) {
  const Tensor x = arange(0, 40, 1, {DType::int64, device()}).reshape({20, 2});
  for (const std::int64_t times : {1, 2, 3, 17}) {
    const auto y = repeat_interleave(x, times).to_vector<std::int64_t>();
    ASSERT_EQ(y.size(), static_cast<std::size_t>(40 * times));
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<std::int64_t>(i) / times);
  }
  const Tensor at = tensor({1, -1, 1}, {DType::int64, device()});
  const auto filled = index_fill(x, 0, at, 7).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 40; ++i) {
    const bool chosen = i / 2 == 1 || i / 2 == 19;
    EXPECT_EQ(filled[i], chosen ? 7 : static_cast<std::int64_t>(i));
  }
}

}  // namespace
}  // namespace minnow
