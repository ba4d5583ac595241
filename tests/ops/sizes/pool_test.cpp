#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/raw/view.h>

#include "rows.h"

namespace minnow::test {
namespace {

class RowsPool : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsPool, all_devices(), device_test_name);

struct PoolCase {
  Shape image;
  Pool2dParams params;
};

std::vector<PoolCase> cases(bool average) {
  std::vector<PoolCase> all{{{2, 3, 8, 10}, {{2, 2}, {2, 2}}},
                            {{2, 3, 9, 7}, {{3, 2}, {1, 1}, {1, 1}}},
                            {{1, 5, 11, 13}, {{3, 3}, {2, 3}, {1, 0}}},
                            {{3, 1, 6, 6}, {{6, 6}, {6, 6}}},
                            {{2, 5, 7, 4}, {{7, 4}, {7, 4}}},
                            {{2, 4, 5, 5}, {{1, 1}, {3, 3}}},
                            {{2, 4, 1, 1}, {{1, 1}, {1, 1}}}};
  if (!average) all.push_back({{2, 3, 12, 12}, {{3, 2}, {2, 1}, {1, 1}, {2, 3}}});
  for (PoolCase c : std::vector<PoolCase>(all)) {
    c.params.count_include_pad = false;
    if (average) all.push_back(c);
  }
  return all;
}

/// The image in either order of memory.
Tensor image(const Shape& shape, DType dtype, bool channels_last, double (*from)(std::int64_t)) {
  if (!channels_last) return made(shape, dtype, from);
  return raw::permute(made({shape[0], shape[2], shape[3], shape[1]}, dtype, from), {0, 3, 1, 2});
}

/// Many equal elements, some of them NaN.
double coarse(std::int64_t i) { return i % 37 == 11 ? std::nan("") : std::floor(3 * mixed(i)); }
double low(std::int64_t) { return -HUGE_VAL; }

TEST_P(RowsPool, Max) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const PoolCase& c : cases(false))
      for (const bool last : {false, true})
        for (double (*from)(std::int64_t) : {mixed, coarse, low}) {
          const std::string name = "max_pool2d " + std::string(name_of(dtype)) + c.image.str() + (last ? " last" : "");
          const Tensor x = image(c.image, dtype, last, from);
          const auto want = raw::max_pool2d(x, c.params);
          const auto got = raw::max_pool2d(on(x, device()), c.params);
          expect_close(to_host(got.values), want.values, name, {0, 0});
          expect_close(to_host(got.indices), want.indices, name, {0, 0});
          EXPECT_EQ(got.values.strides(), want.values.strides()) << name;
          const Tensor g = image(want.values.shape(), dtype, last, mixed);
          expect_close(to_host(raw::max_pool2d_backward(on(g, device()), got.indices, on(x, device()), c.params)),
                       raw::max_pool2d_backward(g, want.indices, x, c.params), name + " backward", {0, 0});
        }
}

TEST_P(RowsPool, Average) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const PoolCase& c : cases(true))
      for (const bool last : {false, true}) {
        const std::string name = "avg_pool2d " + std::string(name_of(dtype)) + c.image.str() + (last ? " last" : "");
        const Tensor x = image(c.image, dtype, last, mixed);
        const Tensor want = raw::avg_pool2d(x, c.params);
        expect_close(to_host(raw::avg_pool2d(on(x, device()), c.params)), want, name);
        const Tensor g = image(want.shape(), dtype, last, mixed);
        expect_close(to_host(raw::avg_pool2d_backward(on(g, device()), on(x, device()), c.params)),
                     raw::avg_pool2d_backward(g, x, c.params), name + " backward");
      }
}

/// Windows that hold the whole image, wherever they stand, and are nearly all padding: only the image is walked.
TEST_P(RowsPool, KernelsFarLargerThanTheImage) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Pool2dParams whole{{5, 4}, {1, 1}};
  for (const bool last : {false, true}) {
    const Tensor x = image({2, 3, 5, 4}, DType::float32, last, mixed), there = on(x, device());
    const Tensor g = image({2, 3, 6, 5}, DType::float32, last, mixed), far = on(g, device());
    Pool2dParams params{{kHuge, kHuge}, {1, 1}, {kHuge / 2, kHuge / 2}};
    const auto got = raw::max_pool2d(there, params);
    ASSERT_EQ(got.values.shape(), (Shape{2, 3, 6, 5}));
    expect_close(to_host(got.values), raw::expand(raw::max_pool2d(x, whole).values, {2, 3, 6, 5}), "max_pool2d",
                 {0, 0});
    const Tensor shares = raw::reduce(raw::kReduce<kernels::Sum>, g, {2, 3}, true);
    const Tensor back = to_host(raw::max_pool2d_backward(far, got.indices, there, params));
    expect_close(raw::reduce(raw::kReduce<kernels::Sum>, back, {2, 3}, true), shares, "max_pool2d_backward");
    params.count_include_pad = false;
    expect_close(to_host(raw::avg_pool2d(there, params)), raw::expand(raw::avg_pool2d(x, whole), {2, 3, 6, 5}),
                 "avg_pool2d");
    expect_close(to_host(raw::avg_pool2d_backward(far, there, params)),
                 raw::expand(raw::avg_pool2d_backward(shares, x, whole), {2, 3, 5, 4}), "avg_pool2d_backward");
    params.count_include_pad = true;  // the padding outweighs the image
    for (const float mean : to_host(raw::avg_pool2d(there, params)).to_vector<float>())
      EXPECT_LT(std::abs(mean), 1e-30);
  }
}

TEST_P(RowsPool, GradientAndImageInDifferentOrders) {
  const Pool2dParams params{{3, 3}, {2, 2}, {1, 1}};
  const Tensor x = image({2, 3, 7, 9}, DType::float32, true, mixed);
  const auto pooled = raw::max_pool2d(x, params);
  const Tensor g = image(pooled.values.shape(), DType::float32, false, mixed);
  const Tensor want = raw::max_pool2d_backward(g, pooled.indices, x, params);
  const Tensor got = raw::max_pool2d_backward(on(g, device()), on(pooled.indices, device()), on(x, device()), params);
  expect_close(to_host(got), want, "max_pool2d_backward");
}

}  // namespace
}  // namespace minnow::test
