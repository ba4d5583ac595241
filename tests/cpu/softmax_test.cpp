#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;
using test::set;

class SoftmaxCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, SoftmaxCpu, test::every_isa(), test::isa_name);

/// The indices of one row of [outer, n, inner].
struct Line {
  std::int64_t first, step, n;
};
std::vector<Line> lines(const Shape& shape, int dim) {
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < shape.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  std::vector<Line> all;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) all.push_back({o * shape[dim] * inner + i, inner, shape[dim]});
  }
  return all;
}

double log_sum_exp(const Tensor& x, const Line& l) {
  double most = -INFINITY, sum = 0;
  for (std::int64_t k = 0; k < l.n; ++k) most = std::fmax(most, get(x, l.first + k * l.step));
  if (!std::isfinite(most)) most = 0;
  for (std::int64_t k = 0; k < l.n; ++k) sum += std::exp(get(x, l.first + k * l.step) - most);
  return most + std::log(sum);
}

double tolerance(DType dtype) { return dtype == DType::float16 ? 2e-3 : dtype == DType::bfloat16 ? 1.6e-2 : 1.3e-6; }

void check_forward(const Tensor& x, int dim, bool log) {
  const Tensor y = blank(x.shape(), x.dtype());
  backend().run(calls::Softmax{x, y, dim, log});
  for (const Line& l : lines(x.shape(), dim)) {
    const double whole = log_sum_exp(x, l);
    for (std::int64_t k = 0; k < l.n; ++k) {
      const std::int64_t i = l.first + k * l.step;
      const double expected = log ? get(x, i) - whole : std::exp(get(x, i) - whole);
      ASSERT_TRUE(test::close(get(y, i), expected, tolerance(x.dtype()), log ? 1e-5 : 1e-7))
          << x.shape().str() << " dim " << dim << (log ? " log " : " ") << i << ": " << get(y, i) << ", expected "
          << expected;
    }
  }
}

void check_backward(const Tensor& g, const Tensor& y, int dim, bool log) {
  const Tensor dx = blank(y.shape(), y.dtype());
  backend().run(calls::SoftmaxBackward{g, y, dx, dim, log});
  for (const Line& l : lines(y.shape(), dim)) {
    double sum = 0;
    for (std::int64_t k = 0; k < l.n; ++k) {
      const std::int64_t i = l.first + k * l.step;
      sum += log ? get(g, i) : get(g, i) * get(y, i);
    }
    for (std::int64_t k = 0; k < l.n; ++k) {
      const std::int64_t i = l.first + k * l.step;
      const double expected = log ? get(g, i) - std::exp(get(y, i)) * sum : get(y, i) * (get(g, i) - sum);
      ASSERT_TRUE(test::close(get(dx, i), expected, tolerance(y.dtype())))
          << y.shape().str() << " dim " << dim << (log ? " log " : " ") << i << ": " << get(dx, i) << ", expected "
          << expected;
    }
  }
}

TEST_P(SoftmaxCpu, RowsAndColumnsOfEveryLengthAndDtype) {
  const Shape shapes[] = {{7, 1},       {5, 10},     {3, 1000},  {2, 100000},
                          {1000, 3, 2}, {100000, 2}, {4, 9, 70}, {2, 65, 3, 5}};
  for (const Shape& shape : shapes) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
        if (is_half(dtype) && shape.numel() > 10000) continue;
        for (const bool log : {false, true}) {
          const Tensor x = test::reals(shape, dtype, test::Lay::kContiguous, 6);
          check_forward(x, dim, log);
          const Tensor y = blank(shape, dtype);
          backend().run(calls::Softmax{x, y, dim, log});
          check_backward(test::reals(shape, dtype), y, dim, log);
        }
      }
    }
  }
}

TEST_P(SoftmaxCpu, RowsAroundTheWidthsOfVectorsAndBuffers) {
  for (const std::int64_t n :
       {1, 2, 3, 4, 5, 8, 9, 10, 15, 16, 17, 31, 33, 63, 64, 65, 129, 255, 256, 1023, 1024, 1025})
    for (const std::int64_t rows : {1, 5, n < 20 ? 600 : 9})
      for (const DType dtype : {float32, DType::float64, DType::bfloat16})
        for (const bool log : {false, true}) {
          const Tensor x = test::reals({rows, n}, dtype, test::Lay::kContiguous, 6), y = blank({rows, n}, dtype);
          check_forward(x, 1, log);
          backend().run(calls::Softmax{x, y, 1, log});
          check_backward(test::reals({rows, n}, dtype), y, 1, log);
        }
}

TEST_P(SoftmaxCpu, NanAndInfinitiesDoNotSpreadToOtherRows) {
  for (const std::int64_t n : {3, 10, 16, 20, 64, 70})
    for (const bool log : {false, true}) {
      const Tensor x = test::reals({40, n}), y = blank({40, n});
      set(x, 5 * n + n - 1, NAN);
      set(x, 17 * n, INFINITY);
      for (std::int64_t k = 0; k < n; ++k) set(x, 30 * n + k, -INFINITY);
      for (std::int64_t k = 1; k < n; ++k) set(x, 33 * n + k, -INFINITY);
      backend().run(calls::Softmax{x, y, 1, log});
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        const std::int64_t r = i / n;
        ASSERT_EQ(std::isnan(get(y, i)), r == 5 || r == 17 || r == 30) << n << " row " << r;
        if (r == 33) { ASSERT_EQ(get(y, i), i % n == 0 ? (log ? 0 : 1) : (log ? -INFINITY : 0)); }
      }
    }
}

/// A logarithm near 0 is accurate.
TEST_P(SoftmaxCpu, LogOfAlmostOne) {
  const Tensor x = blank({20, 2}), y = blank({20, 2});
  for (std::int64_t r = 0; r < 20; ++r) set(x, 2 * r, 20);
  backend().run(calls::Softmax{x, y, 1, true});
  for (std::int64_t r = 0; r < 20; ++r) ASSERT_TRUE(test::close(get(y, 2 * r), -std::log1p(std::exp(-20.0)), 1e-6, 0));
}

TEST_P(SoftmaxCpu, LargeLogitsInfinitiesAndNan) {
  for (const int dim : {0, 1}) {
    for (const bool log : {false, true}) {
      const Tensor x = test::reals({130, 130}, float32, test::Lay::kContiguous, 3e4);
      set(x, 5 * 130 + 5, -INFINITY);
      check_forward(x, dim, log);
      const Tensor y = blank(x.shape());
      for (std::int64_t k = 0; k < 130; ++k) set(x, dim == 1 ? 130 + k : k * 130 + 1, -INFINITY);
      set(x, 3 * 130 + 3, NAN);
      backend().run(calls::Softmax{x, y, dim, log});
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        const std::int64_t line = dim == 1 ? i / 130 : i % 130;
        ASSERT_EQ(std::isnan(get(y, i)), line == 1 || line == 3) << dim << " " << i;
      }
    }
  }
}

void check_cross_entropy(const Shape& shape, DType dtype, std::int64_t ignored, bool one_gradient) {
  const std::int64_t inner = shape.rank() == 3 ? shape[2] : 1, rows = shape[0] * inner, n = shape[1];
  const auto at = [&](std::int64_t r, std::int64_t k) { return (r / inner * n + k) * inner + r % inner; };
  const Tensor x = test::reals(shape, dtype, test::Lay::kContiguous, 20);
  const Tensor target = blank({rows}, DType::int64);
  for (std::int64_t r = 0; r < rows; ++r) set(target, r, static_cast<double>(r % 4 == 1 ? ignored : r * 31 % n));
  const Tensor loss = blank({rows}, dtype), sums = blank({2, rows}, is_half(dtype) ? float32 : dtype),
               grad = test::reals({rows}, dtype, one_gradient ? test::Lay::kBroadcast : test::Lay::kContiguous);
  const Tensor dx = test::reals(shape, dtype);
  ASSERT_EQ(backend().run(calls::CrossEntropy{x, target, loss, View(), sums, ignored}), Outcome::ok);
  backend().run(calls::CrossEntropyBackward{grad, x, target, sums, dx, ignored});
  const double atol = is_half(dtype) ? 1e-2 : 1e-5;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t t = static_cast<std::int64_t>(get(target, r));
    const double whole = log_sum_exp(x, {at(r, 0), inner, n});
    ASSERT_TRUE(test::close(get(sums, r) + std::log(get(sums, rows + r)), whole, tolerance(dtype)));
    ASSERT_TRUE(test::close(get(loss, r), t == ignored ? 0 : whole - get(x, at(r, t)), tolerance(dtype))) << r;
    for (std::int64_t k = 0; k < n; ++k) {
      const double p = std::exp(get(x, at(r, k)) - whole) - (k == t ? 1 : 0);
      ASSERT_TRUE(test::close(get(dx, at(r, k)), t == ignored ? 0 : get(grad, r) * p, tolerance(dtype), atol)) << r;
    }
  }
}

TEST_P(SoftmaxCpu, CrossEntropy) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const Shape& shape : {Shape{9, 1}, Shape{64, 10}, Shape{33, 17}, Shape{5, 1000}, Shape{4, 1025},
                               Shape{2, 20000}, Shape{3, 3, 70}, Shape{2, 21, 1500}, Shape{1, 5000, 3}})
      check_cross_entropy(shape, dtype, -7, false);
    check_cross_entropy({64, 10}, dtype, 3, true);  // a class, and the gradient of a sum
  }
}

/// What an ignored row holds does not reach its gradient.
TEST_P(SoftmaxCpu, CrossEntropyOfIgnoredNan) {
  for (const Shape& shape : {Shape{4, 3}, Shape{1, 3, 4}}) {
    const Tensor x = test::reals(shape), target = blank({4}, DType::int64), loss = blank({4}), sums = blank({2, 4});
    const Tensor grad = test::reals({4}), dx = test::reals(shape);
    set(x, shape.rank() == 2 ? 3 : 1, NAN);  // class 0 of row 1
    set(target, 1, -100);
    ASSERT_EQ(backend().run(calls::CrossEntropy{x, target, loss, View(), sums, -100}), Outcome::ok);
    backend().run(calls::CrossEntropyBackward{grad, x, target, sums, dx, -100});
    EXPECT_EQ(get(loss, 1), 0);
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_FALSE(std::isnan(get(dx, i))) << i;
  }
}

TEST(SoftmaxRefuses, TargetsOutOfRange) {
  const Tensor x = test::reals({4, 3});
  const Tensor loss = blank({4}), sums = blank({2, 4}), target = blank({4}, DType::int64);
  EXPECT_EQ(backend().run(calls::CrossEntropy{x, target, loss, View(), sums, -100}), Outcome::ok);
  for (const double wrong : {3.0, -1.0, 1e15}) {
    set(target, 2, wrong);
    EXPECT_EQ(backend().run(calls::CrossEntropy{x, target, loss, View(), sums, -100}), Outcome::class_out_of_range)
        << wrong;
  }
}

TEST(SoftmaxThreads, AnyNumberGivesTheSameBits) {
  for (const DType dtype : {DType::float32, DType::float16}) {
    for (const int dim : {0, 1, 2}) {
      const Tensor x = test::reals({70, 90, 30}, dtype);
      test::expect_thread_invariant([&] {
        const Tensor y = blank(x.shape(), dtype);
        backend().run(calls::Softmax{x, y, dim, false});
        return y;
      });
      test::expect_thread_invariant([&] {
        const Tensor y = blank(x.shape(), dtype);
        backend().run(calls::SoftmaxBackward{x, x, y, dim, true});
        return y;
      });
    }
  }
}

}  // namespace
}  // namespace minnow
