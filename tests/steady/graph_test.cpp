// A graph that is dropped takes nothing from the heap: destructors that need memory end a program that has none left.

#include <gtest/gtest.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/index.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/create.h>
#include "steady/heap.h"

namespace {

using namespace minnow;

Tensor graph() {
  Tensor y = ones({4}).requires_grad_();
  for (int i = 0; i < 200; ++i) y = sin(y) * exp(y) + cat(split(y, 2));
  return y;
}

TEST(Graph, IsDroppedWithoutTheHeap) {
  if (!test::heap_is_counted()) GTEST_SKIP() << "malloc is not counted in this build";
  for (int i = 0; i < 2; ++i) graph();  // the allocator's lists are as long as they get
  Tensor y = graph();
  test::reset_heap();
  y = Tensor();
  EXPECT_EQ(test::heap_use().calls, 0u);
}

}  // namespace
