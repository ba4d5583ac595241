#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "errors.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Transformer, LearnsToCopyThePositionBefore) {
  manual_seed(2);
  struct Net : nn::Module {
    nn::Embedding tokens = child("tokens", nn::Embedding(5, 16));
    nn::Embedding places = child("places", nn::Embedding(8, 16));
    nn::TransformerEncoder blocks = child(
        "blocks",
        nn::TransformerEncoder(nn::TransformerEncoderLayer(
                                   16, 2, {.dim_feedforward = 32, .dropout = 0, .norm_first = true, .is_causal = true}),
                               2));
    nn::Linear head = child("head", nn::Linear(16, 5));
    Tensor forward(const Tensor& x) override { return head(blocks(tokens(x) + places(arange(8)))); }
  } net;
  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    const Tensor x = randint(0, 5, {16, 8});
    const Tensor logits = net(x).narrow(1, 1, 7).reshape({16 * 7, 5});
    const Tensor l = nn::cross_entropy(logits, x.narrow(1, 0, 7).reshape({16 * 7}));
    adam.zero_grad();
    l.backward();
    adam.step();
    loss = l.item();
  }
  EXPECT_LT(loss, 0.3);
}

TEST(Transformer, LayersAreCopiesWithTheirOwnWeights) {
  const nn::TransformerEncoder net(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 8}), 3);
  const StateDict weights = net.state_dict();
  EXPECT_TRUE(weights.at("layers.0.linear1.weight").equal(weights.at("layers.2.linear1.weight")));
  EXPECT_FALSE(weights.at("layers.0.linear1.weight").is_same(weights.at("layers.2.linear1.weight")));
  EXPECT_EQ(net.parameters().size(), 3U * 12U);
  EXPECT_EQ(nn::MultiheadAttention(8, 2, {.is_causal = true}).describe(), "MultiheadAttention(8, 2 heads, causal)");
}

TEST(Transformer, TheLastNormIsBehindTheLayers) {
  const nn::TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 8, .dropout = 0, .norm_first = true});
  const nn::TransformerEncoder net(layer, 2, nn::LayerNorm(4));
  const Tensor x = randn({2, 3, 4});
  nn::TransformerEncoder without(layer, 2);
  StateDict weights = net.state_dict();
  nn::init::constant_(weights["norm.bias"], 5);
  weights.erase("norm.weight");
  EXPECT_TRUE(weights.erase("norm.bias"));
  without.load_state_dict(weights);
  EXPECT_TRUE(net(x).detach().allclose(layer_norm(without(x), 4) + 5));
  EXPECT_TRUE(nn::clone(net)(x).detach().equal(net(x).detach()));
  const nn::TransformerDecoder decoder(nn::TransformerDecoderLayer(4, 2, {.dim_feedforward = 8}), 1, nn::LayerNorm(4));
  EXPECT_TRUE(decoder.state_dict().contains("norm.weight"));
  EXPECT_LT(decoder(x, x).detach().mean(-1).abs().max().item(), 1e-5);
}

TEST(Transformer, ACausalLayerDoesNotSeeWhatFollows) {
  nn::TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 8, .is_causal = true});
  layer.eval();
  const Tensor x = randn({1, 6, 8});
  Tensor other = x.clone();
  other[0][5].fill_(3);
  const Tensor a = layer(x).detach(), b = layer(other).detach();
  EXPECT_TRUE(a.narrow(1, 0, 5).allclose(b.narrow(1, 0, 5)));
  EXPECT_FALSE(a.narrow(1, 5, 1).allclose(b.narrow(1, 5, 1)));
}

TEST(Transformer, WithoutABatchItGivesTheSame) {
  nn::MultiheadAttention attention(8, 2);
  const Tensor x = randn({5, 8});
  EXPECT_TRUE(attention(x).detach().allclose(attention(x.unsqueeze(0)).squeeze(0).detach()));
}

TEST(Transformer, RefusesWhatCannotWork) {
  nn::MultiheadAttention attention(8, 2);
  nn::TransformerEncoderLayer layer(8, 2);
  expect_errors({
      Misuse{"ValueError", "MultiheadAttention", "8 features are not divisible among 3 heads",
             [] { nn::MultiheadAttention(8, 3); }},
      Misuse{"ValueError", "MultiheadAttention", "dropout must be in [0, 1], got 2",
             [] { nn::MultiheadAttention(8, 2, {.dropout = 2}); }},
      Misuse{"ValueError", "TransformerEncoder", "num_layers must be positive, got 0",
             [=] { nn::TransformerEncoder(layer, 0); }},
      Misuse{"ShapeError", "MultiheadAttention", "[N, L, 8] or [L, 8]",
             [=]() mutable {
               attention(ones({2, 3, 4}));
             }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "mask(all, newaxis, newaxis)",
             [=]() mutable {
               attention(ones({2, 3, 8}), ones({2, 3}, bool_));
             }},
      Misuse{"DTypeError", "linear", "dtype",
             [=]() mutable {
               attention(ones({2, 3, 8}).to(float64));
             }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "different lengths",
             [] {
               static_cast<void>(scaled_dot_product_attention(ones({2, 3}), ones({4, 3}), ones({5, 3})));
             }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "vectors of different sizes",
             [] {
               static_cast<void>(scaled_dot_product_attention(ones({2, 3}), ones({4, 2}), ones({4, 3})));
             }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "leading dimensions differ",
             [] {
               static_cast<void>(scaled_dot_product_attention(ones({3, 2, 3}), ones({2, 4, 3}), ones({2, 4, 3})));
             }},
      Misuse{"ValueError", "scaled_dot_product_attention", "is_causal is a mask of its own",
             [] {
               static_cast<void>(scaled_dot_product_attention(ones({2, 3}), ones({2, 3}), ones({2, 3}),
                                                              ones({2, 2}, bool_), {.is_causal = true}));
             }},
      Misuse{"DTypeError", "scaled_dot_product_attention", "attn_mask must be bool",
             [] {
               static_cast<void>(
                   scaled_dot_product_attention(ones({2, 3}), ones({2, 3}), ones({2, 3}), ones({2, 2}, int64)));
             }},
  });
}

TEST(Transformer, ErrorsNameTheOperationAndTheLineOfTheUser) {
  nn::MultiheadAttention attention(8, 2);
  nn::TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 4});
  nn::TransformerEncoder encoder(layer, 1);
  nn::TransformerDecoderLayer decoder_layer(8, 2, {.dim_feedforward = 4});
  nn::TransformerDecoder decoder(decoder_layer, 1);
  nn::Transformer both(8, 2, {.num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 4});
  const Tensor x = ones({2, 3, 8}), narrow = ones({2, 3, 4}), wrong = ones({7, 7}, bool_), row = ones({3}, bool_);
  expect_errors({
      Misuse{"ValueError", "MultiheadAttention", "'query' is undefined", [=] { attention(Tensor()); }},
      Misuse{"ShapeError", "MultiheadAttention", "[N, L, 8]", [=] { encoder(narrow); }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "attn_mask", [=] { encoder(x, wrong); }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "attn_mask", [=] { layer(x, wrong); }},
      Misuse{"ShapeError", "MultiheadAttention", "[N, L, 8]", [=] { decoder(x, narrow); }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "attn_mask", [=] { decoder_layer(x, x, wrong); }},
      Misuse{"ShapeError", "TransformerDecoder", "tgt_mask is the mask of pairs",
             [=] { decoder(x, x, {.tgt_key_padding_mask = row}); }},
      Misuse{"ValueError", "Transformer", "'src' is undefined", [=] { both(Tensor(), x); }},
      Misuse{"ShapeError", "MultiheadAttention", "the batches differ",
             [] {
               nn::MultiheadAttention(4, 2)(zeros({1, 2, 4}), zeros({3, 5, 4}), zeros({3, 5, 4}));
             }},
      Misuse{"ShapeError", "MultiheadAttention", "the batches differ",
             [] {
               nn::MultiheadAttention(4, 2)(zeros({2, 4}), zeros({1, 5, 4}), zeros({1, 5, 4}));
             }},
      Misuse{"ShapeError", "Transformer", "the batches differ",
             [=] {
               both(x, ones({3, 3, 8}));
             }},
      Misuse{"ShapeError", "MultiheadAttention", "[N, L, 8]", [=] { both(narrow, x); }},
      Misuse{"ShapeError", "scaled_dot_product_attention", "attn_mask", [=] { both(x, x, {.memory_mask = wrong}); }},
      Misuse{"ShapeError", "Transformer", "src_mask is the mask of pairs",
             [=] { both(x, x, {.src_key_padding_mask = row}); }},
  });
}

TEST(Transformer, MasksBesideAddedKeys) {
  const Tensor x = randn({2, 4, 8}), k = randn({2, 3, 8});
  for (const bool bias : {false, true}) {
    const nn::MultiheadAttention more(8, 2, {.add_bias_kv = bias, .add_zero_attn = true});
    EXPECT_TRUE(more(x, k, k, tensor(true)).detach().allclose(more(x, k, k).detach()));
    EXPECT_TRUE(more(x, k, k, tensor(0.5F)).detach().allclose(more(x, k, k, full({4, 3}, 0.5)).detach()));
    const Tensor row = tensor({true, false, true});
    EXPECT_TRUE(more(x, k, k, row).detach().allclose(more(x, k, k, row.expand({4, 3})).detach()));
    expect_errors({
        Misuse{"ShapeError", "MultiheadAttention", "attn_mask must end with [4, 3]",
               [=] {
                 more(x, k, k, ones({4, 5}, bool_));
               }},
        Misuse{"ShapeError", "MultiheadAttention", "attn_mask",
               [=] {
                 more(x, k, k, ones({2, 1, 3, 3}, bool_));
               }},
    });
  }
  const nn::MultiheadAttention causal(8, 2, {.is_causal = true});
  EXPECT_TRUE(causal(x, tensor(true)).detach().allclose(causal(x).detach()));
  expect_errors({Misuse{"ShapeError", "MultiheadAttention", "attn_mask", [=] { causal(x, ones({5}, bool_)); }}});
}

TEST(Transformer, TakesMasksInBraces) {
  nn::Transformer net(8, 2, {.num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 4});
  net.eval();
  const Tensor x = randn({2, 3, 8});
  EXPECT_TRUE(net(x, x, {}).detach().equal(net(x, x).detach()));
}

}  // namespace
}  // namespace minnow
