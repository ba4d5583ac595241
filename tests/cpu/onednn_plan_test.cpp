#include <gtest/gtest.h>

#include <minnow/tensor/cpu/onednn/onednn_plan.h>

namespace minnow {
namespace {

TEST(OneDnnPlan, KeysDifferByEveryNumber) {
  using Key = cpu::onednn::PlanKey;
  const auto key = [] { return Key(); };
  EXPECT_EQ(key().add(1, 2).add(Shape{3, 4}), key().add(1, 2).add(Shape{3, 4}));
  EXPECT_EQ(key().add(1).hash(), key().add(1).hash());
  EXPECT_FALSE(key().add(1, 2) == key().add(2, 1));
  EXPECT_FALSE(key().add(Shape{3}).add(Shape{4}) == key().add(Shape{3, 4}));
  EXPECT_FALSE(key().add(0.5) == key().add(0.25));
  EXPECT_FALSE(key().add(0) == key());
}

}  // namespace
}  // namespace minnow
