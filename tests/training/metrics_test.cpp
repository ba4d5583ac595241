#include <minnow/training/metrics.h>

#include <cmath>
#include <limits>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/random/sample.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/captured_step.h>

#include "devices.h"
#include "support/thrown.h"

namespace minnow::test {
namespace {

using namespace minnow::metrics;

class Metrics : public ::testing::TestWithParam<Device> {
 protected:
  Device device = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Devices, Metrics, all_devices(), device_test_name);

TEST_P(Metrics, OfNothingAreNaN) {
  EXPECT_TRUE(std::isnan(Mean().value()));
  EXPECT_TRUE(std::isnan(Accuracy().value()));
  EXPECT_TRUE(std::isnan(Perplexity().value()));
  EXPECT_TRUE(std::isnan(Regression().r2()));
  EXPECT_TRUE(std::isnan(Regression().mean_squared_error()));
  EXPECT_TRUE(std::isnan(BinaryScores().roc_auc()));
  EXPECT_TRUE(std::isnan(BinaryScores().average_precision()));
  EXPECT_TRUE(std::isnan(ConfusionMatrix(3).accuracy()));
  EXPECT_EQ(ConfusionMatrix(2).precision().to_vector<double>(), (std::vector<double>{0, 0}));
  // Batches without samples, e.g. all of them ignored.
  Accuracy accuracy({.ignore_index = -1});
  accuracy.update(zeros({2, 3}, device), tensor({-1, -1}, {DType::int64, device}));
  EXPECT_TRUE(std::isnan(accuracy.value()));
  Regression regression;
  regression.update(zeros({0, 2}, device), zeros({0, 2}, device));
  EXPECT_TRUE(std::isnan(regression.mean_absolute_error()));
}

TEST_P(Metrics, OfOneClass) {
  BinaryScores scores;
  scores.update(tensor({0.1, 0.9}, device), ones({2}, device));
  EXPECT_TRUE(std::isnan(scores.roc_auc()));
  EXPECT_EQ(scores.average_precision(), 1);
  scores.reset();
  scores.update(tensor({0.1, 0.9}, device), zeros({2}, {DType::bool_, device}));
  EXPECT_TRUE(std::isnan(scores.roc_auc()));
  EXPECT_EQ(scores.average_precision(), 0);
}

TEST_P(Metrics, RefuseScoresWithoutAnOrder) {
  BinaryScores scores;
  scores.update(tensor({0.1, std::numeric_limits<double>::quiet_NaN()}, device), zeros({2}, device));
  EXPECT_THROW((void)scores.roc_auc(), ValueError);
  scores.reset();
  scores.update(tensor({0.1, 0.2}, device), tensor({0, 2}, {DType::int64, device}));
  EXPECT_THROW((void)scores.average_precision(), ValueError);
}

TEST_P(Metrics, OfPixelsLeaveOutTheIgnoredOnes) {
  // [1, 3, 2, 2]: the classes 0 1 / 2 1
  const Tensor scores = tensor({5, 1, 0, 0, 0, 2, 1, 9, 1, 0, 3, 8}, {DType::float32, device}).reshape({1, 3, 2, 2});
  const Tensor target = tensor({0, 2, 255, 1}, {DType::int64, device}).reshape({1, 2, 2});
  ConfusionMatrix matrix(3, {.ignore_index = 255});
  matrix.update(scores, target);
  EXPECT_EQ(matrix.counts().to_vector<int>(), (std::vector<int>{1, 0, 0, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(matrix.iou().to_vector<double>(), (std::vector<double>{1, 0.5, 0}));
  Accuracy accuracy({.ignore_index = 255});
  accuracy.update(scores, target);
  EXPECT_DOUBLE_EQ(accuracy.value(), 2.0 / 3);
  accuracy.update(target, target);  // class numbers
  EXPECT_DOUBLE_EQ(accuracy.value(), 5.0 / 6);
}

TEST_P(Metrics, NameClassesOutOfRange) {
  for (const int stray : {3, -1}) {
    ConfusionMatrix matrix(3);
    const Tensor good = tensor({0, 1}, {DType::int64, device}), bad = tensor({0, stray}, {DType::int64, device});
    for (const bool as_target : {false, true}) {
      const auto count = [&] {
        matrix.update(as_target ? good : bad, as_target ? bad : good);
        (void)matrix.counts();
      };
      EXPECT_THROW(count(), IndexError) << stray;
    }
  }
}

TEST_P(Metrics, RefuseWhatDoesNotFit) {
  const Tensor scores = zeros({4, 3}, device), target = zeros({4}, {DType::int64, device});
  EXPECT_THROW(Accuracy({.top_k = 0}), ValueError);
  EXPECT_THROW(Accuracy({.top_k = 4}).update(scores, target), ValueError);
  EXPECT_THROW(Accuracy().update(scores, target.narrow(0, 0, 3)), ShapeError);
  EXPECT_THROW(Accuracy().update(zeros({4, 0}, device), target), ShapeError);
  EXPECT_THROW(Accuracy().update(zeros({4, 1}, device), target), ShapeError);
  EXPECT_THROW(Accuracy().update(zeros({4}, device), target), ShapeError);
  EXPECT_THROW(Accuracy().update(scores, target.to(DType::float32)), DTypeError);
  EXPECT_THROW(Accuracy({.top_k = 2}).update(target, target), DTypeError);
  EXPECT_THROW(ConfusionMatrix(4).update(scores, target), ShapeError);
  EXPECT_THROW(ConfusionMatrix(32'769), ValueError);
  EXPECT_THROW(Perplexity().update(scores, scores), DTypeError);
  EXPECT_THROW(ConfusionMatrix(0), ValueError);
  EXPECT_THROW(BinaryScores().update(scores, target), ShapeError);
  EXPECT_THROW(BinaryScores().update(target, target), DTypeError);
  EXPECT_THROW(Regression().update(scores, zeros({3, 4}, device)), ShapeError);
  EXPECT_THROW(Regression().update(target, target), DTypeError);
}

TEST_P(Metrics, MeanIsOfAllElementsByTheirWeight) {
  Mean loss;
  loss.update(tensor(2.0, device), 30);
  loss.update(std::numeric_limits<double>::infinity(), 0);
  loss.update(tensor({5, 7}, {DType::bfloat16, device}));
  EXPECT_DOUBLE_EQ(loss.value(), (60 + 12) / 32.0);
  Mean many;  // in float64
  for (int i = 0; i < 3; ++i) many.update(full({1 << 13}, 16'777'217.0 / 3, {DType::float64, device}));
  EXPECT_NEAR(many.value(), 16'777'217.0 / 3, 1e-6);
}

TEST_P(Metrics, CopiesGoOnAloneAndResetForgets) {
  Mean a;
  a.update(tensor(1.0, device));
  Mean b = a;
  b.update(tensor(3.0, device));
  EXPECT_EQ(a.value(), 1);
  EXPECT_EQ(b.value(), 2);
  b.reset();
  b.update(tensor(7.0, device));
  EXPECT_EQ(b.value(), 7);
}

TEST_P(Metrics, OfAThresholdTakeBools) {
  const Tensor scores = tensor({3, -2, 5, 1}, {DType::float32, device}),
               target = tensor({1, 0, 1, 0}, {DType::uint8, device});
  Accuracy accuracy;
  accuracy.update(scores > 0, target);
  accuracy.update(scores > 2, target == 1);
  EXPECT_DOUBLE_EQ(accuracy.value(), 7.0 / 8);
  ConfusionMatrix matrix(2);
  matrix.update(scores > 0, target);
  EXPECT_EQ(matrix.counts().to_vector<int>(), (std::vector<int>{1, 1, 0, 2}));
}

TEST_P(Metrics, LeaveAnIgnoredClassOutOfAverages) {
  ConfusionMatrix matrix(3, {.ignore_index = 0});
  const Tensor classes = tensor({0, 1, 2, 2}, {DType::int64, device});
  matrix.update(classes, classes);
  EXPECT_EQ(matrix.f1(Average::macro), 1);
  EXPECT_EQ(matrix.iou(Average::weighted), 1);
  EXPECT_EQ(matrix.counts().to_vector<int>(), (std::vector<int>{0, 0, 0, 0, 1, 0, 0, 0, 2}));
}

TEST_P(Metrics, MergeWhatFits) {
  ConfusionMatrix five(5), two(2);
  const Tensor classes = tensor({0, 1, 1}, {DType::int64, device});
  five.update(classes, classes);
  EXPECT_THROW(two.merge(five.state()), ValueError);
  BinaryScores scores;
  EXPECT_THROW(scores.merge(zeros({3}, device)), ValueError);
  Regression regression;
  EXPECT_THROW(regression.merge(zeros({2}, device)), ValueError);
  for (const std::string& text :
       {error_of<ValueError>([&] { two.merge(five.state()); }), error_of<ValueError>([] { ConfusionMatrix m(0); }),
        error_of<ValueError>([] { Accuracy a({.top_k = 0}); }),
        error_of<ValueError>([&] { regression.merge(zeros({2}, device)); }),
        error_of<ValueError>([&] { scores.merge(zeros({3}, device)); })})
    expect_contains(text, "metrics_test.cpp:");
  const Tensor before = five.state();
  five.update(classes, classes);  // in place
  EXPECT_EQ(sum(before).item<int>(), 3);
  EXPECT_EQ(sum(five.counts()).item<int>(), 6);
}

TEST_P(Metrics, ArePartsOfACheckpoint) {
  Accuracy accuracy, other;
  other.load_state_dict(accuracy.state_dict());
  EXPECT_TRUE(std::isnan(other.value()));
  accuracy.update(tensor({1, 2}, {DType::int64, device}), tensor({1, 3}, {DType::int64, device}));
  other.load_state_dict(accuracy.state_dict());
  EXPECT_EQ(other.value(), 0.5);
}

TEST_P(Metrics, R2OfEqualTargetsIsNoQuotientOfRoundings) {
  Regression right, wrong;
  const Tensor target = full({3}, 0.1, {DType::float64, device});
  for (int i = 0; i < 5; ++i) right.update(target, target), wrong.update(target + 0.1, target);
  EXPECT_EQ(right.r2(), 1);
  EXPECT_EQ(wrong.r2(), 0);
}

TEST_P(Metrics, AreRefusedInACapturedStep) {
  Mean mean_of;
  BinaryScores scores;
  const Tensor x = ones({2}, device);
  CapturedStep step([&](const Tensor& t) { return mean_of.update(t), sum(t); }, {.device = device});
  const auto run = [&](CapturedStep& s) {  // a GPU captures it after some runs
    for (int i = 0; i < 6; ++i) s(x);
  };
  EXPECT_THROW(run(step), BackendError);
  CapturedStep other([&](const Tensor& t) { return scores.update(t, t), sum(t); }, {.device = device});
  EXPECT_THROW(run(other), BackendError);
}

TEST_P(Metrics, PerplexityIsOfTheTargetsThatCount) {
  manual_seed(1);
  const Tensor logits = randn({2, 5, 3}, device),
               target = tensor({0, 4, -100, 2, 2, 1}, {DType::int64, device}).reshape({2, 3});
  Perplexity perplexity;
  perplexity.update(logits.narrow(0, 0, 1), target.narrow(0, 0, 1));
  perplexity.update(logits.narrow(0, 1, 1), target.narrow(0, 1, 1));
  EXPECT_NEAR(perplexity.value(), std::exp(nn::cross_entropy(logits, target).item<double>()), 1e-5);
  Perplexity of_halves;
  const Tensor halves = logits.to(DType::bfloat16);
  of_halves.update(halves, target);
  EXPECT_NEAR(of_halves.value(), std::exp(nn::cross_entropy(halves.to(DType::float32), target).item<double>()), 1e-5);
}

TEST_P(Metrics, RecordNothing) {
  const Tensor scores = zeros({4, 3}, device).requires_grad_();
  Accuracy accuracy;
  accuracy.update(scores, zeros({4}, {DType::int64, device}));
  EXPECT_FALSE(accuracy.state().requires_grad());
  Mean mean_of;
  mean_of.update(sum(scores));
  EXPECT_FALSE(mean_of.state().requires_grad());
}

}  // namespace
}  // namespace minnow::test
