#include <minnow/training/early_stopping.h>

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::test {
namespace {

using training::Best, training::EarlyStopping;

TEST(EarlyStopping, StopsWhenNothingImproves) {
  EarlyStopping stopping({.patience = 2});
  EXPECT_TRUE(std::isnan(stopping.best()));
  EXPECT_TRUE(stopping.update(3));
  EXPECT_TRUE(stopping.update(2));
  EXPECT_FALSE(stopping.update(2));
  EXPECT_FALSE(stopping.stops());
  EXPECT_TRUE(stopping.update(1.5));
  EXPECT_FALSE(stopping.update(std::nan("")));
  EXPECT_FALSE(stopping.update(4));
  EXPECT_TRUE(stopping.stops());
  EXPECT_EQ(stopping.best(), 1.5);
}

TEST(EarlyStopping, TakesTheLargestAndSmallImprovementsForNone) {
  EarlyStopping stopping({.best = Best::max, .patience = 3, .min_delta = 0.1});
  EXPECT_FALSE(stopping.update(std::nan("")));
  EXPECT_TRUE(stopping.update(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(stopping.update(0.5));
  EXPECT_FALSE(stopping.update(0.55));
  EXPECT_FALSE(stopping.update(0.59));
  EXPECT_TRUE(stopping.update(0.61));
  EXPECT_EQ(stopping.updates_without_improvement(), 0);
}

TEST(EarlyStopping, GoesOnFromItsState) {
  EarlyStopping stopping({.patience = 2}), other({.patience = 2});
  stopping.update(0.1), stopping.update(0.2);
  other.load_state_dict(stopping.state_dict());
  EXPECT_EQ(other.best(), 0.1);
  EXPECT_FALSE(other.stops());
  EXPECT_FALSE(other.update(0.15));
  EXPECT_TRUE(other.stops());
  EXPECT_THROW(other.load_state_dict({}), ValueError);
  StateDict bad = stopping.state_dict();
  bad.set("without", tensor({1, 2}));
  EXPECT_THROW(other.load_state_dict(bad), ValueError);
  EXPECT_EQ(other.best(), 0.1);
}

TEST(EarlyStopping, RefusesOptionsOutOfRange) {
  EXPECT_THROW(EarlyStopping({.patience = 0}), ValueError);
  EXPECT_THROW(EarlyStopping({.min_delta = -1}), ValueError);
  EXPECT_THROW(EarlyStopping({.min_delta = std::nan("")}), ValueError);
}

}  // namespace
}  // namespace minnow::test
