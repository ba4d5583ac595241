#include <minnow/nn/recurrent/recurrent.h>

#include <gtest/gtest.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using Tensors = std::vector<Tensor>;

template <class... T> Tensors listed(const std::tuple<T...>& results) {
  return std::apply([](const auto&... t) { return Tensors{t...}; }, results);
}
Tensors listed(const Tensor& result) { return {result}; }

class GoldenRecurrent : public DeviceTest {
 protected:
  /// The module with PyTorch's weights gives its results, and the gradients of the sum of their squares.
  template <class M, class Call>
  void expect_as_in_pytorch(const std::string& name, M module, const Call& call, const char* file = "recurrent") {
    const Book book(file, device());
    module.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : module.state_dict()) weights.set(key, book[name + "/net." + key]);
    module.load_state_dict(weights);
    Tensors inputs;
    for (int i = 0; i < 3; ++i)
      if (book.contains(name + "/in" + std::to_string(i)))
        inputs.push_back(book[name + "/in" + std::to_string(i)].clone().requires_grad_());
    const Tensors results = listed(call(module, inputs));
    Tensor total = zeros({}, {results[0].dtype(), device()});
    for (std::size_t i = 0; i < results.size(); ++i) {
      expect_close(results[i], book[name + "/out" + std::to_string(i)], name, {1e-5, 1e-5});
      total = total + sum(square(results[i]));
    }
    total.backward();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect_close(inputs[i].grad(), book[name + "/grad" + std::to_string(i)], name, {1e-4, 1e-4});
    for (const auto& [key, p] : module.named_parameters())
      expect_close(p.grad(), book[name + "/grad." + key], name + " " + key, {1e-4, 1e-4});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenRecurrent, all_devices(), device_test_name);

const auto kFromZeros = [](auto& net, const Tensors& x) { return net(x[0]); };
const auto kFromOne = [](auto& net, const Tensors& x) { return net(x[0], x[1]); };
const auto kFromTwo = [](auto& net, const Tensors& x) { return net(x[0], x[1], x[2]); };

TEST_P(GoldenRecurrent, Lstm) {
  expect_as_in_pytorch("lstm", nn::LSTM(4, 6), kFromZeros);
  expect_as_in_pytorch("lstm/states", nn::LSTM(4, 6), kFromTwo);
  expect_as_in_pytorch("lstm/all", nn::LSTM(4, 6, {.num_layers = 2, .bidirectional = true}), kFromTwo);
  expect_as_in_pytorch("lstm/no bias", nn::LSTM(4, 6, {.bias = false, .batch_first = true}), kFromZeros);
  expect_as_in_pytorch("lstm/alone", nn::LSTM(4, 6), kFromZeros);
  expect_as_in_pytorch("lstm cell", nn::LSTMCell(4, 6), kFromTwo);
  expect_as_in_pytorch("lstm cell/zeros", nn::LSTMCell(4, 6), kFromZeros);
}

TEST_P(GoldenRecurrent, Gru) {
  expect_as_in_pytorch("gru", nn::GRU(4, 6), kFromZeros);
  expect_as_in_pytorch("gru/all", nn::GRU(4, 6, {.num_layers = 2, .bidirectional = true}), kFromOne);
  expect_as_in_pytorch("gru/no bias", nn::GRU(4, 6, {.bias = false}), kFromOne);
  expect_as_in_pytorch("gru cell", nn::GRUCell(4, 6), kFromOne);
  expect_as_in_pytorch("gru cell/zeros", nn::GRUCell(4, 6), kFromZeros);
}

TEST_P(GoldenRecurrent, Rnn) {
  expect_as_in_pytorch("rnn", nn::RNN(4, 6), kFromOne);
  expect_as_in_pytorch("rnn cell", nn::RNNCell(4, 6), kFromOne);
  expect_as_in_pytorch("rnn cell/relu, zeros", nn::RNNCell(4, 6, false, nn::Nonlinearity::relu), kFromZeros);
  expect_as_in_pytorch("rnn/relu", nn::RNN(4, 6, {.num_layers = 2}, nn::Nonlinearity::relu), kFromZeros);
}

TEST_P(GoldenRecurrent, Projections) {
  expect_as_in_pytorch("lstm/projections", nn::LSTM(4, 6, {.proj_size = 2}), kFromZeros, "packed");
  expect_as_in_pytorch("lstm/projections, all",
                       nn::LSTM(4, 6, {.num_layers = 2, .bidirectional = true, .proj_size = 2}), kFromTwo, "packed");
}

TEST_P(GoldenRecurrent, PackedSequences) {
  const auto check = [&](const std::string& name, auto net, bool batch_first = false) {
    const Book book("packed", device());
    const Tensor lengths = book[name + "/lengths"];
    expect_as_in_pytorch(
        name, net,
        [&](auto& module, const Tensors& x) {
          const nn::PackedSequence packed = nn::pack_padded_sequence(x[0], lengths, {.batch_first = batch_first});
          const auto padded = [&](const nn::PackedSequence& p) {
            return nn::pad_packed_sequence(p, {.batch_first = batch_first}).output;
          };
          if constexpr (std::is_same_v<decltype(net), nn::LSTM>) {
            auto [y, h, c] = x.size() == 3 ? module(packed, x[1], x[2]) : module(packed);
            return std::tuple(padded(y), h, c);
          } else {
            auto [y, h] = x.size() == 2 ? module(packed, x[1]) : module(packed);
            return std::tuple(padded(y), h);
          }
        },
        "packed");
  };
  const nn::RecurrentOptions both{.num_layers = 2, .bidirectional = true};
  check("lstm/lengths", nn::LSTM(4, 6));
  check("lstm/lengths, all", nn::LSTM(4, 6, both));
  check("lstm/lengths and projections", nn::LSTM(4, 6, {.num_layers = 2, .bidirectional = true, .proj_size = 2}));
  check("lstm/lengths, batch first", nn::LSTM(4, 6, {.batch_first = true}), true);
  check("gru/lengths", nn::GRU(4, 6));
  check("gru/lengths, all", nn::GRU(4, 6, {.num_layers = 2, .bias = false, .bidirectional = true}));
  check("rnn/lengths, all", nn::RNN(4, 6, both));
  check("rnn/relu, lengths", nn::RNN(4, 6, {}, nn::Nonlinearity::relu));
}

/// First and second derivatives, of all weights too.
TEST_P(GoldenRecurrent, DerivativesMatchDifferences) {
  const auto check = [&](auto net, const auto& call, const Tensors& inputs) {
    net.to(device(), float64);
    Tensors all;
    for (const Tensor& t : inputs) all.push_back(t.to(device()).clone().requires_grad_());
    for (const Tensor& p : net.parameters()) all.push_back(p);
    const auto f = [&](const Tensors& t) { return listed(call(net, t))[0]; };
    gradcheck(f, all);
    gradgradcheck(f, all);
  };
  const Tensor x = randn({3, 2, 2}, float64), h = randn({1, 2, 3}, float64) * 0.5, c = randn({1, 2, 3}, float64) * 0.5;
  check(nn::LSTM(2, 3), kFromTwo, {x, h, c});
  check(nn::GRU(2, 3), kFromOne, {x, h});
  check(nn::RNN(2, 3), kFromOne, {x, h});
  const auto packed = [](auto& net, const Tensors& t) {
    auto [y, last] = net(nn::pack_padded_sequence(t[0], {3, 1}), t[1]);
    return cat({nn::pad_packed_sequence(y).output.flatten(), last.flatten()});
  };
  check(nn::GRU(2, 3), packed, {x, h});
  check(nn::RNN(2, 3), packed, {x, h});
  check(nn::LSTM(2, 3),
        [](auto& net, const Tensors& t) {
          auto [y, last_h, last_c] = net(nn::pack_padded_sequence(t[0], {3, 1}), t[1], t[2]);
          return cat({nn::pad_packed_sequence(y).output.flatten(), last_h.flatten(), last_c.flatten()});
        },
        {x, h, c});
}

}  // namespace
}  // namespace minnow::test
