// Cached plans: several threads can use one plan, and every different call gets its own.

#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/runtime/threads.h>
#include "numbers.h"

namespace minnow {
namespace {

/// A convolution and its gradients, in the dtype of its operands.
struct Results {
  Tensor y, grad_x, grad_w, grad_bias;

  Results(const Conv2dParams& params, const Shape& x_shape, const Shape& w_shape, const Shape& y_shape, DType dtype,
          std::uint64_t seed) {
    const auto format = dtype == DType::float32 ? MemoryFormat::channels_last : MemoryFormat::contiguous;
    const Tensor x = test::random(x_shape, dtype, seed, format), w = test::random(w_shape, dtype, seed + 1),
                 bias = test::random({w_shape[0]}, dtype, seed + 2),
                 grad = test::random(y_shape, dtype, seed + 3, format);
    y = test::scratch(y_shape, dtype, format);
    grad_x = test::scratch(x_shape, dtype, format);
    grad_w = test::scratch(w_shape, dtype);
    grad_bias = test::scratch({w_shape[0]}, dtype);
    cpu::execute(calls::Conv2d{x, w, bias, y, params});
    cpu::execute(calls::Conv2dBackwardInput{grad, w, grad_x, params});
    cpu::execute(calls::Conv2dBackwardWeight{grad, x, grad_w, grad_bias, params});
  }
  double difference(const Results& other) const {
    return std::max({test::largest_difference(y, other.y), test::largest_difference(grad_x, other.grad_x),
                     test::largest_difference(grad_w, other.grad_w),
                     test::largest_difference(grad_bias, other.grad_bias)});
  }
};

TEST(CpuPlan, ConvolutionsThatDifferInOneParameterHaveTheirOwn) {
  const Shape x{5, 4, 9, 9}, w{6, 4, 3, 3}, y{5, 6, 9, 9};
  // All have the same shapes: padding compensates for dilation.
  for (const Conv2dParams& params :
       {Conv2dParams{{1, 1}, {1, 1}, {1, 1}, 1}, Conv2dParams{{1, 1}, {2, 2}, {2, 2}, 1},
        Conv2dParams{{1, 1}, {2, 1}, {2, 1}, 1}, Conv2dParams{{1, 1}, {1, 2}, {1, 2}, 1}}) {
    const Results got(params, x, w, y, DType::float32, 1), want(params, x, w, y, DType::float64, 1);
    EXPECT_LE(got.difference(want), test::sum_bound(5 * 81, DType::float32))
        << params.padding[0] << ", " << params.padding[1];
  }
}

TEST(CpuPlan, ProductsThatDifferInStridesHaveTheirOwn) {
  const std::int64_t n = 160;  // beyond our own kernel for small products
  const auto transposed = [](const Tensor& t) {
    return Tensor(t.storage(), t.dtype(), {1, 2 * n, 2 * n}, {0, 1, 2 * n}, t.storage_offset());
  };
  const Shape shape{1, 2 * n, 2 * n};
  const Tensor a = test::random(shape, DType::float32, 1), b = test::random(shape, DType::float32, 2);
  const Tensor a64 = test::random(shape, DType::float64, 1), b64 = test::random(shape, DType::float64, 2);
  for (const int flipped : {0, 1, 2, 3, 0}) {
    const Tensor got = test::scratch(shape, DType::float32), want = test::scratch(shape, DType::float64);
    cpu::execute(calls::Matmul{flipped & 1 ? transposed(a) : a, flipped & 2 ? transposed(b) : b, View(), got});
    cpu::execute(calls::Matmul{flipped & 1 ? transposed(a64) : a64, flipped & 2 ? transposed(b64) : b64, View(), want});
    EXPECT_LE(test::largest_difference(got, want), test::sum_bound(2 * n, DType::float32)) << flipped;
  }
}

TEST(CpuPlan, SeveralThreadsUseOneAtTheSameTime) {
  constexpr std::size_t kThreads = 4;
  const Conv2dParams params{{1, 1}, {1, 1}, {1, 1}, 1};
  const Shape x{1, 16, 4, 4}, w{16, 16, 3, 3};
  const auto last = MemoryFormat::channels_last;
  std::vector<Tensor> xs, ws, got, want;
  for (std::size_t i = 0; i < kThreads; ++i) {
    xs.push_back(test::random(x, DType::float32, 10 * i, last));
    ws.push_back(test::random(w, DType::float32, 10 * i + 1));
    got.push_back(test::scratch(x, DType::float32, last));
    want.push_back(test::scratch(x, DType::float32, last));
    cpu::execute(calls::Conv2d{xs[i], ws[i], View(), want[i], params});
  }
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5000; ++round) {
        cpu::execute(calls::Conv2d{xs[i], ws[i], View(), got[i], params});
        if (std::memcmp(got[i].raw_data(), want[i].raw_data(), static_cast<std::size_t>(want[i].nbytes())) != 0)
          ++wrong[i];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

}  // namespace
}  // namespace minnow
