// Destroying a graph does not allocate: a failed allocation in a destructor would end the program.

#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include "steady/heap.h"

namespace {

using namespace minnow;

Tensor graph() {
  Tensor y = ones({4}).requires_grad_();
  for (int i = 0; i < 200; ++i) y = sin(y) * exp(y) + cat(split(y, 2));
  return y;
}

TEST(Graph, DestructionDoesNotAllocate) {
  if (!test::heap_is_counted()) GTEST_SKIP() << "malloc is not counted in this build";
  for (int i = 0; i < 2; ++i) graph();  // the allocator's lists have their final length
  Tensor y = graph();
  test::reset_heap();
  y = Tensor();
  EXPECT_EQ(test::heap_use().calls, 0u);
}

}  // namespace
