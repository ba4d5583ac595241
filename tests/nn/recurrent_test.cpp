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

// Without a gradient the maps of x are made some steps at a time: here 128 of 130.
TEST(Recurrent, GivesTheSameWithoutGradients) {
  const Tensor x = randn({130, 64, 16});
  const auto close = [](const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-5, 1e-6); };
  nn::LSTM lstm(16, 64);
  nn::GRU gru(16, 86);
  nn::RNN rnn(16, 260);
  const auto [y, h, c] = lstm(x);
  const auto [gru_y, gru_h] = gru(x);
  const auto [rnn_y, rnn_h] = rnn(x);
  const NoGradGuard guard;
  const auto [y2, h2, c2] = lstm(x);
  EXPECT_TRUE(y.requires_grad() && !y2.requires_grad());
  EXPECT_TRUE(close(y, y2) && close(h, h2) && close(c, c2));
  const auto [gru_y2, gru_h2] = gru(x);
  const auto [rnn_y2, rnn_h2] = rnn(x);
  EXPECT_TRUE(close(gru_y, gru_y2) && close(gru_h, gru_h2));
  EXPECT_TRUE(close(rnn_y, rnn_y2) && close(rnn_h, rnn_h2));
}

// Weights are in panels for the batch of 32, and not for 4.
TEST(Recurrent, ABatchGivesWhatItsPartsGive) {
  const NoGradGuard guard;
  const Tensor x = randn({5, 32, 16}), h0 = randn({1, 32, 32}), c0 = randn({1, 32, 32});
  const nn::LSTM lstm(16, 32);
  const auto [y, h, c] = lstm(x, h0, c0);
  for (std::int64_t i = 0; i < 32; i += 4) {
    const auto part = [i](const Tensor& t) { return t.narrow(1, i, 4); };
    const auto [y2, h2, c2] = lstm(part(x), part(h0).contiguous(), part(c0).contiguous());
    EXPECT_TRUE(allclose(part(y), y2, 1e-5, 1e-6) && allclose(part(c), c2, 1e-5, 1e-6));
  }
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

TEST(PackedSequences, ArePaddedAndCut) {
  const Tensor a = ones({3, 2}), b = full({1, 2}, 2.0);
  const Tensor padded = nn::pad_sequence({a, b}, {.batch_first = true, .padding_value = -1});
  EXPECT_TRUE(padded[1].equal(tensor({{2.0F, 2.0F}, {-1.0F, -1.0F}, {-1.0F, -1.0F}})));
  EXPECT_EQ(nn::pad_sequence({a, b}).shape(), (Shape{3, 2, 2}));
  const nn::PackedSequence packed = nn::pack_sequence({b, a});
  EXPECT_EQ(packed.lengths, (std::vector<std::int64_t>{1, 3}));
  const auto [again, lengths] =
      nn::pad_packed_sequence(packed, {.batch_first = true, .padding_value = 7, .total_length = 4});
  EXPECT_EQ(again.shape(), (Shape{2, 4, 2}));
  EXPECT_EQ(again[0][3].to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(lengths.to_vector<int>(), (std::vector<int>{1, 3}));
  EXPECT_EQ(nn::pack_padded_sequence(ones({5, 2, 1}), {2, 3}).padded.size(0), 3);  // as long as the longest
  const Tensor numbers =
      nn::pad_packed_sequence(nn::pack_padded_sequence(full({3, 2}, 16777217, int64), {3, 1})).output;
  EXPECT_EQ(numbers.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{16777217, 16777217, 16777217, 0, 16777217, 0}));
  // PyTorch's form of [0, 3, ...], [1, 4, ...], [2, 5, ...] with these lengths.
  Tensor steps = arange(12).view({4, 3}).to(float32).requires_grad_();
  const nn::PackedSequence three = nn::pack_padded_sequence(steps, {2, 4, 2});
  EXPECT_TRUE(three.data().equal(tensor({1.0F, 0.0F, 2.0F, 4.0F, 3.0F, 5.0F, 7.0F, 10.0F})));
  EXPECT_TRUE(three.batch_sizes().equal(tensor({3, 3, 1, 1})));
  EXPECT_TRUE(three.sorted_indices().equal(tensor({1, 0, 2})));
  EXPECT_TRUE(nn::pack_padded_sequence(steps, {3, 2, 4}).unsorted_indices().equal(tensor({1, 2, 0})));
  sum(three.data()).backward();
  EXPECT_TRUE(steps.grad()[3].equal(tensor({0.0F, 1.0F, 0.0F}))) << "padding gets no gradient";
  // What stands behind the ends has no effect, not even NaN.
  const nn::LSTM lstm(2, 3, {.bidirectional = true});
  Tensor x = full({4, 2, 2}, std::nan("")), y = zeros({4, 2, 2});
  for (const Tensor& t : {x, y}) {
    t(slice(0, 2), 0) = 0.5;
    t(all, 1) = 0.25;
  }
  x.requires_grad_();
  const auto [p, h, c] = lstm(nn::pack_padded_sequence(x, {2, 4}));
  const auto [q, g, d] = lstm(nn::pack_padded_sequence(y, {2, 4}));
  EXPECT_TRUE(nn::pad_packed_sequence(p).output.equal(nn::pad_packed_sequence(q).output));
  EXPECT_TRUE(h.equal(g));
  sum(h).backward();
  EXPECT_EQ(x.grad()(3, 0).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Recurrent, CellsTakeOneSequence) {
  const Tensor x = randn({2}), h = randn({3}), c = randn({3});
  const nn::LSTMCell lstm(2, 3);
  const auto [next_h, next_c] = lstm(x, h, c);
  const auto [rows_h, rows_c] = lstm(x.unsqueeze(0), h.unsqueeze(0), c.unsqueeze(0));
  EXPECT_TRUE(next_h.equal(rows_h[0]));
  EXPECT_TRUE(next_c.equal(rows_c[0]));
  EXPECT_EQ(std::get<1>(lstm(x)).shape(), Shape{3});
  const nn::GRUCell gru(2, 3);
  EXPECT_TRUE(gru(x, h).equal(gru(x.unsqueeze(0), h.unsqueeze(0))[0]));
  EXPECT_TRUE(gru(x).equal(gru(x.unsqueeze(0))[0]));
  const nn::RNNCell rnn(2, 3);
  EXPECT_TRUE(rnn(x, h).equal(rnn(x.unsqueeze(0), h.unsqueeze(0))[0]));
  EXPECT_TRUE(rnn(x).equal(rnn(x.unsqueeze(0))[0]));
}

TEST(Recurrent, HooksSeePackedSequences) {
  nn::GRU net(2, 3);
  int calls = 0;
  const auto hook = net.register_forward_hook([&](const nn::ForwardCall& call) {
    ++calls;
    EXPECT_EQ(call.outputs[0].shape(), (Shape{3, 2, 3}));
  });
  (void)net(nn::pack_padded_sequence(ones({3, 2, 2}), {3, 1}));
  EXPECT_EQ(calls, 1);
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
      Misuse{"ValueError", "LSTM", "proj_size must be", [] { nn::LSTM(2, 3, {.proj_size = 3}); }},
      Misuse{"ValueError", "GRU", "it has no projections", [] { nn::GRU(2, 3, {.proj_size = 2}); }},
      Misuse{"ValueError", "pad_sequence", "is empty", [] { (void)nn::pad_sequence({}); }},
      Misuse{"ShapeError", "LSTM", "x must be [T, N, 3]",
             [] {
               (void)nn::LSTM(3, 4)(nn::pack_padded_sequence(ones({3, 3}), {2, 3, 1}));
             }},
      Misuse{"ShapeError", "pack_padded_sequence", "1 lengths of 4 sequences",
             [] {
               (void)nn::pack_padded_sequence(ones({5, 4, 3}), {2});
             }},
      Misuse{"ValueError", "pack_padded_sequence", "in [1, 5], got 6",
             [] {
               (void)nn::pack_padded_sequence(ones({5, 2, 3}), {2, 6});
             }},
      Misuse{"ValueError", "LSTM", "in [1, 5], got 9",
             [] {
               (void)nn::LSTM(3, 4)(nn::PackedSequence{ones({5, 2, 3}), {2, 9}});
             }},
      Misuse{"ShapeError", "pad_packed_sequence", "1 lengths of 2 sequences",
             [] {
               (void)nn::pad_packed_sequence({ones({5, 2, 3}), {5}});
             }},
      Misuse{"ValueError", "pad_packed_sequence", "total_length 2 is below",
             [] {
               (void)nn::pad_packed_sequence({ones({5, 2, 3}), {5, 1}}, {.total_length = 2});
             }},
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
