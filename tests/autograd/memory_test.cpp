#include <functional>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"

/// The memory of backward, without the graph, does not grow with the number of uses of a tensor.
namespace minnow {
namespace {

constexpr std::int64_t kElements = 1 << 16;
constexpr double kSize = 4.0 * kElements;  // bytes of the tensor whose uses are counted

class Memory : public test::DeviceTest {
 protected:
  /// The most bytes in use during f, beyond those before it.
  static std::int64_t peak_of(const std::function<void()>& f) {
    const std::int64_t before = memory_stats(device()).allocated;
    reset_peak_memory(device());
    f();
    return memory_stats(device()).peak - before;
  }

  /// The same for backward of a graph that uses a tensor 128 times, in sizes of the tensor.
  static double peak_of_uses(const Tensor& x, const std::function<Tensor(const Tensor& x, int i)>& use,
                             BackwardOptions options = {}) {
    Tensor loss = zeros({}, {.device = device()});
    for (int i = 0; i < 128; ++i) loss = loss + sum(use(x, i));
    return static_cast<double>(peak_of([&] { loss.backward(options); })) / kSize;
  }

  static Tensor leaf(const Shape& shape) { return ones(shape, {.device = device()}).requires_grad_(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Memory, test::all_devices(), test::device_test_name);

TEST_P(Memory, OfUsesOfOneTensorIsTwiceItsSize) {
  const auto scaled = [](const Tensor& x, int i) { return x * i; };
  Tensor x = leaf({kElements});
  EXPECT_LT(peak_of_uses(x, scaled), 2.2);
  EXPECT_EQ(x.grad()(0).item(), 127 * 128 / 2);
  EXPECT_LT(peak_of_uses(leaf({kElements}) * 2, scaled), 2.2);
  EXPECT_LT(peak_of_uses(leaf({kElements}) * 2, scaled, {.retain_graph = true}), 2.2);
}

TEST_P(Memory, OfHundredsOfUsesOfOneWeight) {
  nn::Linear layer(256, 256);
  layer.to(device());
  Tensor x = ones({1, 256}, {.device = device()});
  for (int i = 0; i < 256; ++i) x = layer(x);
  const Tensor loss = sum(x);
  EXPECT_LT(peak_of([&] { loss.backward(); }), 3 << 18);  // the weight has 256 KiB
}

TEST_P(Memory, OfAllPartsOfATensorIsTwiceItsSize) {
  const Shape shape{128, kElements / 128};
  EXPECT_LT(peak_of_uses(leaf(shape) * 2, [](const Tensor& x, int i) { return x(i) * i; }), 2.2);
  EXPECT_LT(peak_of_uses(leaf(shape) * 2, [](const Tensor& x, int i) { return x.narrow(0, i, 1) * i; }), 2.2);
  EXPECT_LT(peak_of_uses(leaf(shape) * 2, [](const Tensor& x, int i) { return x(all, i) * i; }), 2.2);
  Tensor loss = zeros({}, {.device = device()});
  for (const Tensor& part : unbind(leaf(shape) * 2)) loss = loss + sum(part * part);
  EXPECT_LT(static_cast<double>(peak_of([&] { loss.backward(); })), 2.2 * kSize);
}

TEST_P(Memory, OfRowsOfATensorIsItsSize) {
  const Tensor few = tensor({5, 3, 5}).to(device());
  const auto rows = [&](const Tensor& x, int) { return embedding(few, x); };
  EXPECT_LT(peak_of_uses(leaf({1024, 64}), rows), 1.1);
  EXPECT_LT(peak_of_uses(leaf({1024, 64}), [&](const Tensor& x, int) { return index_select(x, 0, few); }), 1.1);
  const auto one = [&](const Tensor& x, int) { return gather(x, 1, few.unsqueeze(0)); };
  EXPECT_LT(peak_of_uses(leaf({64, 1024}), one), 1.1);
  const Tensor weight = leaf({1024, 64});  // also of the last layer
  const Tensor loss = sum(linear(embedding(few, weight), weight));
  EXPECT_LT(static_cast<double>(peak_of([&] { loss.backward(); })), 1.2 * kSize);
}

TEST_P(Memory, OfPartsOfAPartIsThatOfThePart) {
  const Tensor x = leaf({2, 64, kElements / 128}) * 2;
  Tensor loss = zeros({}, {.device = device()});
  for (int i = 0; i < 64; ++i)
    for (const Tensor& half : chunk(x(1)(i), 2)) loss = loss + sum(half * i);
  EXPECT_LT(static_cast<double>(peak_of([&] { loss.backward(); })), 2.2 * kSize);
}

TEST_P(Memory, OfActivationsIsReleasedAsBackwardGoes) {
  constexpr int kLayers = 16;
  const double before = static_cast<double>(memory_stats(device()).allocated);
  const auto held = [&] { return (static_cast<double>(memory_stats(device()).allocated) - before) / kSize; };
  std::vector<double> at;  // sizes in use when the gradient of each layer's result arrives
  std::vector<HookHandle> hooks;
  Tensor x = leaf({kElements});
  for (int i = 0; i < kLayers; ++i) {
    x = sin(x);  // keeps its input
    hooks.push_back(register_hook(x, [&](const Tensor&) {
      at.push_back(held());
      return Tensor();
    }));
  }
  const Tensor loss = sum(x);
  x = Tensor();
  const double forward = held();
  reset_peak_memory(device());
  loss.backward();
  ASSERT_EQ(at.size(), static_cast<std::size_t>(kLayers));
  for (int i = 1; i < kLayers; ++i) EXPECT_LT(at[static_cast<std::size_t>(i)], at[static_cast<std::size_t>(i) - 1]);
  EXPECT_LT(at.back(), 5);
  EXPECT_LT((static_cast<double>(max_memory(device())) - before) / kSize, forward + 2.1);
}

}  // namespace
}  // namespace minnow
