#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "errors.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Recurrent, LearnsToRememberTheFirstElement) {
  manual_seed(4);
  struct Net : nn::Module {
    nn::LSTM lstm = child("lstm", nn::LSTM(1, 12, {.batch_first = true}));
    nn::Linear head = child("head", nn::Linear(12, 1));
    Tensor forward(const Tensor& x) override {
      const auto [y, h, c] = lstm(x);
      return head(h[0]);
    }
  } net;
  optim::Adam adam(net.parameters(), {.lr = 2e-2});
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    const Tensor x = randn({32, 6, 1});
    const Tensor l = mean(square(net(x) - x.select(1, 0)));
    adam.zero_grad();
    l.backward();
    adam.step();
    loss = l.item();
  }
  EXPECT_LT(loss, 0.15);
}

TEST(Recurrent, HasPyTorchsNames) {
  const nn::LSTM net(2, 3, {.num_layers = 2, .bidirectional = true});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : net.state_dict()) names.push_back(name);
  ASSERT_EQ(names.size(), 16U);
  EXPECT_EQ(names[0], "weight_ih_l0");
  EXPECT_EQ(names[7], "bias_hh_l0_reverse");
  EXPECT_EQ(net.state_dict().at("weight_ih_l1").shape(), (Shape{12, 6}));
  EXPECT_EQ(net.describe(), "LSTM(2, 3, 2 layers, bidirectional)");
  EXPECT_EQ(nn::GRU(2, 3, {.bias = false, .batch_first = true}).describe(), "GRU(2, 3, no bias, batch first)");
  const nn::LSTM copy = nn::clone(net);
  const Tensor x = randn({4, 1, 2});
  EXPECT_TRUE(std::get<0>(copy(x)).equal(std::get<0>(net(x))));
  EXPECT_FALSE(copy.parameters()[0].is_same(net.parameters()[0]));
}

TEST(Recurrent, ASequenceInTwoPartsIsTheWhole) {
  const nn::GRU net(2, 3);
  const Tensor x = randn({7, 2, 2});
  const auto [whole, last] = net(x);
  const auto [first, state] = net(x.narrow(0, 0, 4));
  const auto [second, end] = net(x.narrow(0, 4, 3), state);
  EXPECT_TRUE(whole.detach().allclose(cat({first, second}).detach()));
  EXPECT_TRUE(last.detach().allclose(end.detach()));
}

TEST(Recurrent, DropoutIsBetweenLayersInTrainMode) {
  nn::LSTM net(2, 3, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = randn({4, 1, 2});
  EXPECT_FALSE(std::get<0>(net(x)).equal(std::get<0>(net(x))));
  net.eval();
  EXPECT_TRUE(std::get<0>(net(x)).equal(std::get<0>(net(x))));
}

TEST(Recurrent, RefusesWhatCannotWork) {
  const nn::LSTM lstm(2, 3);
  const nn::GRU gru(2, 3);
  const nn::LSTMCell cell(2, 3);
  expect_errors({
      Misuse{"ValueError", "LSTM", "must be positive, got 0 and 3", [] { nn::LSTM(0, 3); }},
      Misuse{"ValueError", "GRU", "num_layers must be positive, got 0", [] { nn::GRU(2, 3, {.num_layers = 0}); }},
      Misuse{"ValueError", "RNN", "dropout must be in [0, 1], got 2", [] { nn::RNN(2, 3, {.dropout = 2}); }},
      Misuse{"ValueError", "GRUCell", "must be positive, got 2 and -1", [] { nn::GRUCell(2, -1); }},
      Misuse{"ShapeError", "LSTM", "x must be [T, N, 2] or [T, 2]",
             [=] {
               lstm(ones({5, 4, 3}));
             }},
      Misuse{"ShapeError", "LSTM", "x has no steps",
             [=] {
               lstm(ones({0, 4, 2}));
             }},
      Misuse{"ShapeError", "GRU", "a state must be [1, 4, 3]",
             [=] {
               gru(ones({5, 4, 2}), ones({4, 3}));
             }},
      Misuse{"ValueError", "LSTM", "belong together",
             [=] {
               lstm(ones({5, 4, 2}), ones({1, 4, 3}), Tensor());
             }},
      Misuse{"ShapeError", "LSTMCell", "x must be [N, 2] and a state [N, 3]",
             [=] {
               cell(ones({4, 2}), ones({4, 2}), ones({4, 3}));
             }},
  });
}

}  // namespace
}  // namespace minnow
