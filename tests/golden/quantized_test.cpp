#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/nn/module/quantize.h>
#include <minnow/tensor/cpu/runtime/library.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using Tensors = std::vector<Tensor>;

/// Of processors that round activations to 7 bits; the values were made with 8.
constexpr double kWithSevenBits = 0.08;

class GoldenQuantized : public DeviceTest {
 protected:
  /// The module with PyTorch's weights gives its results.  In a sequence an element that is rounded to the other byte
  /// changes what follows.
  template <class M, class Call>
  void expect_as_in_pytorch(const std::string& name, M module, const Call& call, double tolerance) {
    if (device().is_cuda()) GTEST_SKIP() << "int8 layers run on the CPU";
    const Book book("quantized", device());
    module.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : module.state_dict()) weights.set(key, book[name + "/net." + key]);
    module.load_state_dict(weights);
    nn::quantize_dynamic_(module);
    if (book.contains(name + "/weight")) {
      expect_close(module.state_dict().at("weight"), book[name + "/weight"], name);
      expect_close(module.state_dict().at("weight_scale"), book[name + "/scale"], name);
    }
    Tensors x;
    for (int i = 0; i < 3; ++i)
      if (book.contains(name + "/in" + std::to_string(i))) x.push_back(book[name + "/in" + std::to_string(i)]);
    if (!cpu::library::adds_bytes_exactly()) tolerance = kWithSevenBits;
    expect_close(call(module, x), book[name + "/out0"], name, {tolerance, tolerance});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenQuantized, all_devices(), device_test_name);

TEST_P(GoldenQuantized, Linear) {
  const auto call = [](auto& net, const Tensors& x) { return net(x[0]); };
  expect_as_in_pytorch("linear", nn::Linear(24, 10), call, 1e-5);
  expect_as_in_pytorch("linear/positive", nn::Linear(24, 10), call, 1e-5);
  expect_as_in_pytorch("linear/negative, no bias", nn::Linear(24, 7, false), call, 1e-5);
  expect_as_in_pytorch("linear/rows", nn::Linear(24, 7), call, 1e-5);
}

TEST_P(GoldenQuantized, Recurrent) {
  const auto first = [](const auto& results) { return std::get<0>(results); };
  expect_as_in_pytorch(
      "lstm", nn::LSTM(8, 16), [&](auto& net, const Tensors& x) { return first(net(x[0], x[1], x[2])); }, 2e-5);
  expect_as_in_pytorch(
      "lstm/zeros", nn::LSTM(8, 16, {.num_layers = 2, .bidirectional = true}),
      [&](auto& net, const Tensors& x) { return first(net(x[0])); }, 2e-5);
  expect_as_in_pytorch(
      "gru", nn::GRU(8, 16), [&](auto& net, const Tensors& x) { return first(net(x[0], x[1])); }, 2e-5);
}

}  // namespace
}  // namespace minnow::test
