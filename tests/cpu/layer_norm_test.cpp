#include <minnow/tensor/raw/view.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;
using test::set;

class LayerNormCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormCpu, test::every_isa(), test::isa_name);

constexpr double kEps = 1e-3;

double tolerance(DType dtype) { return dtype == DType::float16 ? 2e-3 : dtype == DType::bfloat16 ? 1.6e-2 : 2e-6; }

struct Row {
  double mean = 0, rstd = 0;

  Row(const Tensor& x, std::int64_t first, std::int64_t n, bool centered) {
    double variance = 0;
    for (std::int64_t k = 0; centered && k < n; ++k) mean += get(x, first + k) / static_cast<double>(n);
    for (std::int64_t k = 0; k < n; ++k) variance += std::pow(get(x, first + k) - mean, 2) / static_cast<double>(n);
    rstd = 1 / std::sqrt(variance + kEps);
  }
};

void expect_near(const Tensor& t, std::int64_t i, double expected, double absolute, const char* what) {
  ASSERT_TRUE(test::close(get(t, i), expected, tolerance(t.dtype()), absolute))
      << what << " " << t.shape().str() << " " << i << ": " << get(t, i) << ", expected " << expected;
}

/// `first`, `all`: added to the first 16 elements of each row, and to all.
void check(std::int64_t rows, std::int64_t n, DType dtype, bool affine, bool centered, double first = 0,
           double all = 0) {
  const Tensor x = test::reals({rows, n}, dtype, test::Lay::kContiguous, 3), g = test::reals({n, rows}, dtype);
  for (std::int64_t i = 0; (first != 0 || all != 0) && i < rows * n; ++i)
    set(x, i, get(x, i) + all + (i % n < 16 ? first : 0));
  const Tensor w = affine ? test::reals({n}, dtype) : Tensor(), b = affine ? test::reals({n}, dtype) : Tensor();
  const Tensor y = blank({rows, n}, dtype), stats = blank({2, rows}, DType::float64), dx = blank({rows, n}, dtype),
               dw = blank({n}, dtype), db = blank({n}, dtype);
  backend().run(calls::LayerNorm{x, w, b, y, stats, kEps, centered});
  backend().run(calls::LayerNormBackward{g, x, w, stats, dx, dw, db, centered});
  const double absolute = 5 * tolerance(dtype);
  std::vector<double> to_weight(static_cast<std::size_t>(n)), to_bias = to_weight;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Row row(x, r * n, n, centered);
    ASSERT_TRUE(test::close(get(stats, r), row.mean, 1e-6, 1e-6) && test::close(get(stats, rows + r), row.rstd, 1e-6));
    const auto weight = [&](std::int64_t k) { return affine ? get(w, k) : 1.0; };
    double mean = 0, slope = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const double h = (get(x, r * n + k) - row.mean) * row.rstd, grad = get(g, r * n + k);
      expect_near(y, r * n + k, h * weight(k) + (affine ? get(b, k) : 0), absolute, "y");
      if (centered) mean += grad * weight(k) / static_cast<double>(n);
      slope += grad * weight(k) * h / static_cast<double>(n);
      to_weight[static_cast<std::size_t>(k)] += grad * h;
      to_bias[static_cast<std::size_t>(k)] += grad;
    }
    for (std::int64_t k = 0; k < n; ++k) {
      const double h = (get(x, r * n + k) - row.mean) * row.rstd;
      expect_near(dx, r * n + k, row.rstd * (get(g, r * n + k) * weight(k) - mean - h * slope),
                  absolute * (1 + row.rstd), "dx");
    }
  }
  const double sums = absolute * std::sqrt(static_cast<double>(rows));
  for (std::int64_t k = 0; k < n; ++k) {
    expect_near(dw, k, to_weight[static_cast<std::size_t>(k)], sums, "dw");
    expect_near(db, k, to_bias[static_cast<std::size_t>(k)], sums, "db");
  }
}

TEST_P(LayerNormCpu, RowsAroundTheWidthsOfVectorsAndBuffers) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 129, 1000, 4095, 4097})
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{9}, n < 40 ? std::int64_t{900} : std::int64_t{20}})
      for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
        for (const bool affine : {true, false})
          for (const bool centered : {true, false}) check(rows, n, dtype, affine, centered);
}

TEST_P(LayerNormCpu, RowsWhoseBeginningIsNotLikeTheRest) {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const std::int64_t n : {15, 17, 100, 768, 4097}) {
      check(20, n, dtype, true, true, 1e4);
      check(20, n, dtype, true, true, -1e3);
    }
  check(20, 768, DType::float64, true, true, 10, 1e4);
}

TEST_P(LayerNormCpu, ARowOfNanOrInfinitiesLeavesItsNeighborsAlone) {
  for (const std::int64_t n : {3, 16, 70}) {
    const Tensor x = test::reals({40, n}), y = blank({40, n});
    set(x, 5 * n + n - 1, NAN);
    set(x, 17 * n, INFINITY);
    backend().run(calls::LayerNorm{x, Tensor(), Tensor(), y, Tensor(), kEps, true});
    for (std::int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(std::isnan(get(y, i)), i / n == 5 || i / n == 17) << n;
  }
}

TEST_P(LayerNormCpu, OnlyTheGradientsThatAreWanted) {
  const Tensor x = test::reals({300, 40}, DType::float16), w = test::reals({40}, DType::float16), none;
  const Tensor stats = blank({2, 300}, DType::float64), y = blank({300, 40}, DType::float16);
  backend().run(calls::LayerNorm{x, w, none, y, stats, kEps, true});
  const auto run = [&](bool input, bool weight, bool bias) {
    std::vector<Tensor> out{input ? blank({300, 40}, DType::float16) : none,
                            weight ? blank({40}, DType::float16) : none, bias ? blank({40}, DType::float16) : none};
    backend().run(calls::LayerNormBackward{y, x, w, stats, out[0], out[1], out[2], true});
    return out;
  };
  const std::vector<Tensor> whole = run(true, true, true);
  for (int wanted = 1; wanted < 7; ++wanted) {
    const std::vector<Tensor> some = run(wanted & 1, wanted & 2, wanted & 4);
    for (std::size_t i = 0; i < 3; ++i)
      if (some[i].defined()) { EXPECT_TRUE(test::same_bits(some[i], whole[i])) << wanted << " " << i; }
  }
}

TEST_P(LayerNormCpu, RowsOfALargeTensorAreThoseOfASmallOne) {
  const Tensor none;
  for (const std::int64_t n : {768, 1004, 1001}) {
    for (const std::int64_t offset : {0, 1}) {  // of the results in their memory, which then has no vectors' alignment
      const std::int64_t rows = (16 << 20) / (n * 4), some = 40;
      const auto part = [n](const Tensor& t, std::int64_t first, std::int64_t count) {
        return raw::alias(t, {count, n}, {n, 1}, t.storage_offset() + first * n);
      };
      const Tensor x = test::reals({rows, n}), g = test::reals({rows, n}, DType::float32, test::Lay::kContiguous, 3),
                   w = test::reals({n});
      const auto make = [&](std::int64_t count) {
        return raw::alias(blank({count * n + 1}), {count, n}, {n, 1}, offset);
      };
      const Tensor y = make(rows), dx = make(rows), stats = blank({2, rows}, DType::float64);
      backend().run(calls::LayerNorm{x, w, w, y, stats, kEps, true});
      backend().run(calls::LayerNormBackward{g, x, w, stats, dx, none, none, true});
      for (std::int64_t r = 0; r + some <= rows; r += 997) {
        const Tensor few = blank({some, n}), few_dx = blank({some, n}), few_stats = blank({2, some}, DType::float64);
        backend().run(calls::LayerNorm{part(x, r, some), w, w, few, few_stats, kEps, true});
        backend().run(
            calls::LayerNormBackward{part(g, r, some), part(x, r, some), w, few_stats, few_dx, none, none, true});
        ASSERT_TRUE(test::same_bits(few, part(y, r, some))) << n << " " << offset << " " << r;
        ASSERT_TRUE(test::same_bits(few_dx, part(dx, r, some))) << n << " " << offset << " " << r;
      }
    }
  }
}

TEST(LayerNormThreads, AnyNumberGivesTheSameBits) {
  for (const DType dtype : {DType::float32, DType::float16})
    for (const Shape& shape : {Shape{3000, 70}, Shape{70, 3000}}) {
      const Tensor x = test::reals(shape, dtype), w = test::reals({shape[1]}, dtype);
      const Tensor stats = blank({2, shape[0]}, DType::float64);
      test::expect_thread_invariant([&] {
        const Tensor y = blank(shape, dtype);
        backend().run(calls::LayerNorm{x, w, w, y, stats, kEps, true});
        return y;
      });
      for (const int which : {0, 1, 2})
        test::expect_thread_invariant([&] {
          const Tensor out[] = {blank(shape, dtype), blank({shape[1]}, dtype), blank({shape[1]}, dtype)};
          backend().run(calls::LayerNormBackward{x, x, w, stats, out[0], out[1], out[2], true});
          return out[which];
        });
    }
}

}  // namespace
}  // namespace minnow
