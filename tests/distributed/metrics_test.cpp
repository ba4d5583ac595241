#include <minnow/distributed/metrics.h>

#include <minnow/distributed/process.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/random/sample.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/random.h>

#include "devices.h"

namespace minnow::dist {
namespace {

using namespace minnow::metrics;

class DistributedMetrics : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, DistributedMetrics, test::all_devices(), test::device_test_name);

/// Rank r has r * 20 of all samples, so that the first one has none.
TEST_P(DistributedMetrics, AreThoseOfAllSamples) {
  const std::int64_t ranks = size(), own = 20 * rank(), before = 10 * rank() * (rank() - 1),
                     n = 10 * ranks * (ranks - 1);
  if (n == 0) GTEST_SKIP() << "with one rank";
  manual_seed(5);
  const Tensor scores = randn({n, 3}).to(GetParam()), target = randint(0, 3, {n}).to(GetParam());
  const auto check = [&]<class M>(M all, const Tensor& a, const Tensor& b, auto value) {
    M part = all;
    all.update(a, b);
    if (own > 0) part.update(a.narrow(0, before, own), b.narrow(0, before, own));
    for (int twice = 0; twice < 2; ++twice) EXPECT_NEAR(value(joined(part)), value(all), 1e-12);
  };
  check(Accuracy(), scores, target, [](const Accuracy& m) { return m.value(); });
  check(ConfusionMatrix(3), scores, target, [](const ConfusionMatrix& m) { return m.f1(Average::macro); });
  const Tensor first = scores.select(1, 0), second = scores.select(1, 1);
  check(BinaryScores(), first, target == 1, [](const BinaryScores& m) { return m.roc_auc(); });
  check(Regression(), first, second, [](const Regression& m) { return m.r2(); });
}

}  // namespace
}  // namespace minnow::dist
