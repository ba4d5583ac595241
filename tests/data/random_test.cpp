#include <minnow/data/random.h>

#include <gtest/gtest.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/normal.h>

namespace minnow {
namespace {

/// So that its bits are those that tests of box_muller promise.
TEST(Random, NormalIsTheFirstOfBoxMuller) {
  data::Random a(5, 1, 2), b(5, 1, 2);
  for (int i = 0; i < 1000; ++i) {
    const double u = b.uniform();
    ASSERT_EQ(a.normal(), kernels::box_muller(u, b.uniform()).first);
  }
}

}  // namespace
}  // namespace minnow
