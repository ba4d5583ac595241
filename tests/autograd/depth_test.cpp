#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "sanitizer.h"

/// Graphs of any length are recorded, run and destroyed with a small stack.
namespace minnow {
namespace {

/// Runs f in a thread with a stack of 256 KiB: recursion over the nodes of the graphs below would overflow it.
void with_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread;
  const auto call = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

class Depth : public test::DeviceTest {
 protected:
  /// On an emulated GPU a kernel takes a thousand times as long.
  static int length() { return device().is_cuda() ? 1000 : 20000; }

  void SetUp() override { nodes_ = autograd::live_nodes(); }
  void TearDown() override { EXPECT_EQ(autograd::live_nodes(), nodes_); }

  static Tensor leaf() { return ones({1}, {.device = device()}).requires_grad_(); }
  /// Each node saves its input: the saved value holds the previous node, as the edge does.
  static Tensor chain(Tensor y, int nodes = length()) {
    for (int i = 0; i < nodes; ++i) y = sin(y);
    return y;
  }

 private:
  std::int64_t nodes_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Devices, Depth, test::all_devices(), test::device_test_name);

TEST_P(Depth, OfAGraphThatIsDropped) {
  with_small_stack([] { chain(leaf()); });
}

TEST_P(Depth, OfAGraphThatAnExceptionLeaves) {
  with_small_stack([] {
    const auto step = [](const Tensor& x) {
      const Tensor y = chain(x);
      (void)(y + ones({3, 7}));
      (void)matmul(y, ones({5, 5}, {.device = device()}));
    };
    EXPECT_THROW(step(leaf()), Error);
  });
}

TEST_P(Depth, OfAGraphThatRuns) {
  with_small_stack([] {
    for (const bool retain : {false, true}) {
      Tensor x = leaf();
      const Tensor y = chain(x);
      y.backward({.retain_graph = retain});
      EXPECT_TRUE(x.grad().defined());
    }
  });
}

TEST_P(Depth, OfAGraphOfGradients) {
  with_small_stack([] {
    const Tensor x = leaf();
    const Tensor first = grad(chain(x, length() / 4), x, {.create_graph = true});
    grad(first, x, {.retain_graph = true});
  });
}

TEST_P(Depth, OfAGraphWhoseFunctionsHoldTensors) {
  with_small_stack([] {
    Tensor y = leaf();
    for (int i = 0; i < length(); ++i)
      y = record("own", y.detach() * 1, {y}, [y](const Tensor& g) { return g * y.detach(); });
  });
}

TEST_P(Depth, OfAGraphOfPartsThatJoin) {
  with_small_stack([] {
    Tensor y = ones({2}, {.device = device()}).requires_grad_();
    for (int i = 0; i < length() / 4; ++i) y = cat({y(slice(1, 2)) * y(1), y(slice(0, 1))});
  });
}

TEST(DepthOfAMillion, NeedsNoStack) {
  Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  const int length = test::kSpeedCounts ? 1000000 : 100000;
  for (int i = 0; i < length; ++i) y = sin(y);
  y.backward({.retain_graph = true});
  y = Tensor();
  EXPECT_TRUE(x.grad().defined());
}

}  // namespace
}  // namespace minnow
