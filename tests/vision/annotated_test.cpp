#include <minnow/data/transform.h>
#include <minnow/tensor/create.h>
#include <minnow/vision/vision.h>
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::has;
using vision::Annotated;

/// An image [1, 6, 8] whose pixels are their numbers, the same as a mask, and two boxes.
Annotated sample() {
  return {.image = arange(48).view({1, 6, 8}).to(uint8),
          .masks = arange(48).view({1, 6, 8}),
          .boxes = tensor({{1.0F, 2.0F, 6.0F, 5.0F}, {5.0F, 0.0F, 8.0F, 3.0F}}),
          .labels = tensor({7, 9})};
}

// Numbers of torchvision 0.29's transforms.v2.functional.
TEST(Annotated, MovesMasksAndBoxesWithTheImage) {
  const Annotated flipped = vision::horizontal_flip(sample());
  EXPECT_TRUE(flipped.boxes.equal(tensor({{2.0F, 2.0F, 7.0F, 5.0F}, {0.0F, 0.0F, 3.0F, 3.0F}})));
  EXPECT_TRUE(flipped.masks.equal(flipped.image.to(int64)));
  EXPECT_EQ(flipped.masks[0][0][0].item(), 7);
  const Annotated part = vision::crop(sample(), 1, 2, 4, 3);
  EXPECT_TRUE(part.boxes.equal(tensor({{0.0F, 1.0F, 3.0F, 4.0F}, {3.0F, 0.0F, 3.0F, 2.0F}})));
  EXPECT_TRUE(part.masks.equal(part.image.to(int64)));
  EXPECT_EQ(part.masks[0][0][0].item(), 10);
  const Annotated wide = vision::resize(sample(), 3, 16), odd = vision::resize(sample(), 4, 5);
  EXPECT_TRUE(wide.boxes.equal(tensor({{2.0F, 1.0F, 12.0F, 2.5F}, {10.0F, 0.0F, 16.0F, 1.5F}})));
  EXPECT_TRUE(
      odd.masks[0].equal(tensor({{0, 1, 3, 4, 6}, {8, 9, 11, 12, 14}, {24, 25, 27, 28, 30}, {32, 33, 35, 36, 38}})));
  EXPECT_EQ(odd.image.shape(), (Shape{1, 4, 5}));
  EXPECT_TRUE(odd.labels.equal(tensor({7, 9})));
}

TEST(Annotated, ARandomWindowIsTheSameForAll) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    data::Random random(seed), again(seed);
    const vision::RandomResizedCrop crop{.height = 6, .width = 8, .scale = {0.3, 0.8}};
    const Annotated moved = crop(sample(), random);
    EXPECT_TRUE(moved.image.equal(crop(sample().image, again))) << "the image alone gets the same window";
    EXPECT_EQ(random.bits(), again.bits());
    data::Random third(seed);
    const auto [top, left, h, w] = crop.window(6, 8, third);
    EXPECT_EQ(moved.masks[0][0][0].item(), static_cast<double>(top * 8 + left));
    EXPECT_GE(moved.boxes.min().item(), 0);
    EXPECT_LE(moved.boxes.max().item(), 8);
  }
}

TEST(Annotated, IsASampleOfTransforms) {
  struct One {
    std::int64_t size() const { return 1; }
    Annotated get(std::int64_t) const { return sample(); }
  };
  const auto set = data::transform(One(), vision::RandomAnnotatedFlip{.p = 1}, data::ToFloat{});
  data::Random random(1);
  const Annotated got = set.get(0, random);
  EXPECT_EQ(got.image.dtype(), float32);
  EXPECT_EQ(got.boxes[0][0].item(), 2);
  const Annotated plain = vision::RandomAnnotatedFlip{.p = 1}({.image = sample().image}, random);
  EXPECT_FALSE(plain.boxes.defined());
}

TEST(Annotated, RefusesWhatDoesNotFit) {
  Annotated masks = sample(), boxes = sample(), whole = sample();
  masks.masks = zeros({6, 7});
  boxes.boxes = zeros({2, 5});
  whole.boxes = zeros({2, 4}, {.dtype = int64});
  EXPECT_TRUE(has(error_of<ShapeError>([&] { vision::crop(masks, 0, 0, 1, 1); }), "of the image's size"));
  EXPECT_TRUE(has(error_of<ShapeError>([&] { vision::horizontal_flip(boxes); }), "boxes must be [N, 4]"));
  EXPECT_TRUE(has(error_of<DTypeError>([&] { vision::resize(whole, 2, 2); }), "boxes must be floating-point"));
  EXPECT_TRUE(has(error_of<ShapeError>([&] { vision::resize(Annotated{}, 2, 2); }), "annotated_test.cpp"));
}

}  // namespace
}  // namespace minnow
