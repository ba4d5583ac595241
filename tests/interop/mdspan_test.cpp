#include <gtest/gtest.h>
#include <minnow/interop/mdspan.h>
#include <minnow/minnow.h>
#include "support/thrown.h"

// What an older standard library does not have is not tested: g++ 12 has no <mdspan>.
#ifdef __cpp_lib_mdspan
namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

TEST(Mdspan, IsTheTensorsMemoryWithAnyStrides) {
  const Tensor x = arange(12, {.dtype = float32}).reshape({3, 4});
  const auto whole = mdspan<float, 2>(x);
  EXPECT_EQ(whole.extent(0), 3);
  whole[2, 1] = 50;
  EXPECT_EQ(x(2, 1).item<float>(), 50);
  const auto columns = mdspan<const float, 2>(x.t());
  EXPECT_EQ((columns[1, 2]), 50);
  EXPECT_EQ((mdspan<float, 1>(x(1))[3]), 7);
  EXPECT_EQ((mdspan<float, 2>(zeros({0, 4})).extent(1)), 4);
}

TEST(Mdspan, RefusesWhatItCannotSay) {
  expect_contains(error_of<ShapeError>([] {
                    static_cast<void>(mdspan<float, 1>(zeros({2, 2})));
                  }),
                  "has 2 dimensions, not 1");
  expect_contains(error_of<ShapeError>([] {
                    static_cast<void>(mdspan<float, 2>(zeros({1, 2}).expand({3, 2})));
                  }),
                  "repeats its elements");
  EXPECT_THROW(static_cast<void>(mdspan<double, 1>(zeros({2}))), DTypeError);
}

TEST(Mdspan, IsSharedAsATensor) {
  std::array<float, 6> memory{0, 1, 2, 3, 4, 5};
  const std::mdspan<float, std::dextents<int, 2>, std::layout_left> columns(memory.data(), 2, 3);
  const Tensor x = share_mdspan(columns);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  x(1, 2) = 9;
  EXPECT_EQ(memory[5], 9);
  EXPECT_EQ(x(0, 1).item<float>(), 2);
}

}  // namespace
}  // namespace minnow
#endif
