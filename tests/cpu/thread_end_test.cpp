#include <gtest/gtest.h>
#include <thread>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>

namespace minnow {
namespace {

/// Computes in its destructor at thread end, which runs after those of the thread-locals of operations: it was made
/// first.
struct Last {
  ~Last() {
    if (!result) return;
    const Tensor p = ones({3}).requires_grad_();
    p.set_grad(ones({3}));
    optim::SGD({p}, {.lr = 1}).step();
    *result = sum(matmul(ones({100, 70}), ones({70, 90}))).item() + mean(ones({70, 50, 3}), {0, 2}).sum().item() +
              linear(ones({5, 784}), ones({30, 784})).sum().item() + p.sum().item();
  }
  double* result = nullptr;
};

TEST(ThreadEnd, OperationsWorkInTheLastDestructors) {
  double first = 0, second = 0;
  for (double* result : {&first, &second})
    std::thread([result] {
      thread_local Last last;
      last.result = result;
      EXPECT_EQ(sum(matmul(ones({100, 70}), ones({70, 90}))).item(), 100 * 70 * 90);
      EXPECT_EQ(mean(ones({70, 50, 3}), {0, 2}).sum().item(), 50);
      EXPECT_EQ(linear(ones({5, 784}), ones({30, 784})).sum().item(), 5 * 784 * 30);
    }).join();
  EXPECT_EQ(first, 100 * 70 * 90 + 50 + 5 * 784 * 30);
  EXPECT_EQ(second, first);
}

}  // namespace
}  // namespace minnow
