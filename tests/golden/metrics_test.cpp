#include <minnow/training/metrics.h>

#include <minnow/ops/indexing/index.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::metrics;

/// Updates with parts of both, the second metric alone with the last one, and joins them.
template <class M> M in_parts(M metric, const Tensor& a, const Tensor& b) {
  M other = metric;
  const std::int64_t n = a.size(0), first = n / 3, second = n / 2;
  metric.update(a.narrow(0, 0, first), b.narrow(0, 0, first));
  metric.update(a.narrow(0, first, second - first), b.narrow(0, first, second - first));
  other.update(a.narrow(0, second, n - second), b.narrow(0, second, n - second));
  metric.merge(other.state());
  return metric;
}

class MetricsGolden : public ::testing::TestWithParam<Device> {
 protected:
  Book book{"metrics", GetParam()};
  std::vector<double> want(const std::string& name) { return book[name].to_vector<double>(); }
  void expect_near(const std::vector<double>& got, const std::string& name) {
    const std::vector<double> wanted = want(name);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], 1e-12 * std::max(1.0, std::abs(wanted[i]))) << name << " " << i;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, MetricsGolden, all_devices(), device_test_name);

TEST_P(MetricsGolden, OfClasses) {
  for (const std::string name : {"classes/five", "classes/two", "classes/absent"}) {
    const Tensor scores = book[name + "/scores"], target = book[name + "/target"];
    const auto matrix = in_parts(ConfusionMatrix(scores.size(1)), scores, target);
    EXPECT_EQ(matrix.counts().to_vector<double>(), want(name + "/counts"));
    expect_near(
        {in_parts(Accuracy(), scores, target).value(), in_parts(Accuracy({.top_k = 2}), scores, target).value()},
        name + "/accuracy");
    EXPECT_DOUBLE_EQ(matrix.accuracy(), want(name + "/accuracy")[0]);
    expect_near(stack({matrix.precision(), matrix.recall(), matrix.f1(), matrix.iou()}).to_vector<double>(),
                name + "/of_class");
    std::vector<double> averages;
    using Of = double (ConfusionMatrix::*)(Average) const;
    for (const Of of : std::initializer_list<Of>{&ConfusionMatrix::precision, &ConfusionMatrix::recall,
                                                 &ConfusionMatrix::f1, &ConfusionMatrix::iou})
      for (const Average a : {Average::micro, Average::macro, Average::weighted}) averages.push_back((matrix.*of)(a));
    expect_near(averages, name + "/averages");
  }
}

TEST_P(MetricsGolden, OfBinaryScores) {
  for (const std::string name : {"binary/float32", "binary/ties", "binary/equal"}) {
    const auto scores = in_parts(BinaryScores(), book[name + "/scores"], book[name + "/target"]);
    expect_near({scores.roc_auc(), scores.average_precision()}, name + "/areas");
  }
}

TEST_P(MetricsGolden, OfRegression) {
  for (const std::string name : {"regression/near", "regression/worse than the mean"}) {
    const auto errors = in_parts(Regression(), book[name + "/predicted"], book[name + "/target"]);
    expect_near({errors.mean_squared_error(), errors.mean_absolute_error(), errors.r2()}, name + "/errors");
  }
  // float64 has six digits less at 1e6, and no more are lost.
  const std::string name = "regression/far from 0";
  const auto errors = in_parts(Regression(), book[name + "/predicted"], book[name + "/target"]);
  EXPECT_NEAR(errors.r2(), want(name + "/errors")[2], 1e-9);
}

}  // namespace
}  // namespace minnow::test
