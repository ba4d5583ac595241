#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;

class BatchNormCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, BatchNormCpu, test::every_isa(), test::isa_name);

constexpr double kEps = 1e-3;

double tolerance(DType dtype) { return dtype == DType::float16 ? 2e-3 : dtype == DType::bfloat16 ? 1.6e-2 : 3e-6; }

void expect_near(const Tensor& t, std::int64_t i, double expected, double absolute, const char* what) {
  ASSERT_TRUE(test::close(get(t, i), expected, tolerance(t.dtype()), absolute))
      << what << " " << t.shape().str() << " " << i << ": " << get(t, i) << ", expected " << expected;
}

void check(const Shape& shape, DType dtype, bool training) {
  const std::int64_t channels = shape[1], inner = shape[2], n = shape[0] * inner;
  const Tensor x = test::reals(shape, dtype, test::Lay::kContiguous, 3),
               g = test::reals(shape, dtype, test::Lay::kContiguous, 7);
  const Tensor w = test::reals({channels}), b = test::reals({channels}), none;
  const Tensor mean = test::reals({channels}), variance = blank({channels});
  for (std::int64_t c = 0; c < channels; ++c) test::set(variance, c, 0.5 + static_cast<double>(c % 5));
  const Tensor y = blank(shape, dtype), stats = blank({2, channels}, DType::float64), dx = blank(shape, dtype),
               dw = blank({channels}), db = blank({channels});
  const Tensor old_mean = mean.clone(), old_variance = variance.clone();
  backend().run(calls::BatchNorm{x, w, b, mean, variance, y, stats, training, 0.25, kEps});
  backend().run(calls::BatchNormBackward{g, x, w, stats, dx, dw, db, training});
  const double absolute = 5 * tolerance(dtype), count = static_cast<double>(n);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto for_channel = [&](const auto& f) {
      for (std::int64_t o = 0; o < shape[0]; ++o)
        for (std::int64_t k = 0; k < inner; ++k) f((o * channels + c) * inner + k);
    };
    double average = get(old_mean, c), var = get(old_variance, c);
    if (training) {
      average = var = 0;
      for_channel([&](std::int64_t i) { average += get(x, i) / count; });
      for_channel([&](std::int64_t i) { var += std::pow(get(x, i) - average, 2) / count; });
      expect_near(mean, c, 0.75 * get(old_mean, c) + 0.25 * average, 1e-6, "running_mean");
      expect_near(variance, c, 0.75 * get(old_variance, c) + 0.25 * var * count / (count - 1), 1e-6, "running_var");
    }
    const double rstd = 1 / std::sqrt(var + kEps);
    ASSERT_TRUE(test::close(get(stats, c), average, 1e-6, 1e-6) && test::close(get(stats, channels + c), rstd, 1e-6));
    double sum = 0, product = 0;
    for_channel([&](std::int64_t i) {
      const double h = (get(x, i) - average) * rstd;
      expect_near(y, i, h * get(w, c) + get(b, c), absolute, "y");
      sum += get(g, i);
      product += get(g, i) * h;
    });
    expect_near(dw, c, product, absolute * std::sqrt(count), "dw");
    expect_near(db, c, sum, absolute * std::sqrt(count), "db");
    for_channel([&](std::int64_t i) {
      const double h = (get(x, i) - average) * rstd;
      const double centered = training ? get(g, i) - sum / count - h * product / count : get(g, i);
      expect_near(dx, i, get(w, c) * rstd * centered, absolute * (1 + rstd), "dx");
    });
  }
}

TEST_P(BatchNormCpu, ChannelsAroundTheWidthsOfVectorsAndBuffers) {
  for (const Shape& shape : {Shape{3, 2, 2}, Shape{2, 3, 7}, Shape{2, 3, 16}, Shape{3, 2, 33}, Shape{1, 2, 130},
                             Shape{2, 1, 4097}, Shape{1, 3, 9000}, Shape{40, 5, 9}, Shape{7, 1, 1}, Shape{5, 3, 1},
                             Shape{33, 17, 1}, Shape{700, 16, 1}, Shape{100, 70, 1}, Shape{20, 5000, 1}})
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
      for (const bool training : {true, false}) check(shape, dtype, training);
}

/// In evaluation the gradient does not depend on x, in training it does.
TEST_P(BatchNormCpu, InfinityOfXDoesNotReachTheGradientOfEvaluation) {
  const Tensor x = test::reals({4, 2, 5}), g = test::reals({4, 2, 5}), none;
  test::set(x, 3, INFINITY);
  const Tensor mean = test::reals({2}), variance = test::reals({2}), stats = blank({2, 2}, DType::float64),
               y = blank({4, 2, 5}), dx = blank({4, 2, 5});
  for (std::int64_t c = 0; c < 2; ++c) test::set(variance, c, 1);
  backend().run(calls::BatchNorm{x, none, none, mean, variance, y, stats, false, 0.1, kEps});
  backend().run(calls::BatchNormBackward{g, x, none, stats, dx, none, none, false});
  for (std::int64_t i = 0; i < dx.numel(); ++i) ASSERT_TRUE(std::isfinite(get(dx, i))) << i;
}

TEST(BatchNormThreads, AnyNumberGivesTheSameBits) {
  for (const Shape& shape : {Shape{3000, 70, 1}, Shape{9, 20, 700}, Shape{2, 3, 50000}}) {
    const Tensor x = test::reals(shape), w = test::reals({shape[1]}), none;
    const Tensor stats = blank({2, shape[1]}, DType::float64);
    test::expect_thread_invariant([&] {
      const Tensor y = blank(shape);
      backend().run(calls::BatchNorm{x, w, w, none, none, y, stats, true, 0.1, kEps});
      return y;
    });
    for (const int which : {0, 1, 2})
      test::expect_thread_invariant([&] {
        const Tensor out[] = {blank(shape), blank({shape[1]}), blank({shape[1]})};
        backend().run(calls::BatchNormBackward{x, x, w, stats, out[0], out[1], out[2], true});
        return out[which];
      });
  }
}

}  // namespace
}  // namespace minnow
