#include <minnow/nn/attention/transformer.h>

#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenTransformer : public DeviceTest {
 protected:
  /// The module with PyTorch's weights gives its result, and the gradients of the sum of the result's squares.
  template <class M, class Call> void expect_as_in_pytorch(const std::string& name, M module, const Call& call) {
    const Book book("transformer", device());
    module.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : module.state_dict()) weights.set(key, book[name + "/net." + key]);
    module.load_state_dict(weights);
    const Tensor y = call(module, [&](const char* what) { return book[what]; });
    expect_close(y, book[name + "/out"], name, {1e-5, 1e-5});
    sum(square(y)).backward();
    for (const auto& [key, p] : module.named_parameters())
      expect_close(p.grad(), book[name + "/grad." + key], name + " " + key, {2e-4, 2e-4});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenTransformer, all_devices(), device_test_name);

TEST_P(GoldenTransformer, MultiheadAttention) {
  expect_as_in_pytorch("attention", nn::MultiheadAttention(8, 2), [](auto& net, const auto& book) {
    const Tensor memory = book("attention/in1");
    return net(book("attention/in0"), memory, memory);
  });
  expect_as_in_pytorch("attention/self", nn::MultiheadAttention(8, 4, {.bias = false}),
                       [](auto& net, const auto& book) { return net(book("attention/in0")); });
  expect_as_in_pytorch("attention/mask", nn::MultiheadAttention(8, 2),
                       [](auto& net, const auto& book) { return net(book("attention/in0"), book("mask")); });
  expect_as_in_pytorch("attention/more keys",
                       nn::MultiheadAttention(8, 2, {.add_bias_kv = true, .add_zero_attn = true}),
                       [](auto& net, const auto& book) {
                         const Tensor memory = book("attention/in1");
                         return net(book("attention/in0"), memory, memory);
                       });
  expect_as_in_pytorch("attention/more keys, mask", nn::MultiheadAttention(8, 2, {.add_bias_kv = true}),
                       [](auto& net, const auto& book) { return net(book("attention/in0"), book("mask")); });
}

TEST_P(GoldenTransformer, Whole) {
  expect_as_in_pytorch(
      "transformer",
      nn::Transformer(8, 2, {.num_encoder_layers = 2, .num_decoder_layers = 1, .dim_feedforward = 12, .dropout = 0}),
      [](auto& net, const auto& b) { return net(b("attention/in0"), b("attention/in1")); });
  expect_as_in_pytorch("transformer/masks",
                       nn::Transformer(8, 2,
                                       {.num_encoder_layers = 1,
                                        .num_decoder_layers = 2,
                                        .dim_feedforward = 12,
                                        .dropout = 0,
                                        .activation = nn::TransformerActivation::gelu,
                                        .norm_first = true}),
                       [](auto& net, const auto& b) {
                         return net(b("attention/in1"), b("attention/in0"),
                                    {.src_key_padding_mask = b("memory padding"),
                                     .memory_key_padding_mask = b("memory padding"),
                                     .tgt_is_causal = true});
                       });
}

TEST_P(GoldenTransformer, Layers) {
  nn::TransformerLayerOptions options{.dim_feedforward = 12, .dropout = 0};
  const auto of_one = [](auto& net, const auto& book) { return net(book("attention/in0")); };
  const auto of_two = [](auto& net, const auto& book) { return net(book("attention/in0"), book("attention/in1")); };
  expect_as_in_pytorch("encoder layer", nn::TransformerEncoderLayer(8, 2, options), of_one);
  expect_as_in_pytorch("decoder layer", nn::TransformerDecoderLayer(8, 2, options), of_two);
  expect_as_in_pytorch("encoder", nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, options), 2), of_one);
  expect_as_in_pytorch("decoder", nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2, options), 2), of_two);
  expect_as_in_pytorch("decoder layer/masks", nn::TransformerDecoderLayer(8, 2, options), [](auto& net, const auto& b) {
    return net(b("attention/in0"), b("attention/in1"), b("tgt mask"), b("memory mask"));
  });
  expect_as_in_pytorch(
      "decoder layer/padding", nn::TransformerDecoderLayer(8, 2, options), [](auto& net, const auto& b) {
        return net(b("attention/in0"), b("attention/in1"),
                   {.tgt_key_padding_mask = b("tgt padding"), .memory_key_padding_mask = b("memory padding")});
      });
  const auto all_masks = [](auto& net, const auto& b) {
    const Tensor memory_mask = where(b("memory mask"), zeros_like(b("memory mask"), DType::float32), -kInfinity);
    return net(b("attention/in0"), b("attention/in1"),
               {.memory_mask = memory_mask,
                .tgt_key_padding_mask = b("tgt padding"),
                .memory_key_padding_mask = b("memory padding"),
                .tgt_is_causal = !net.layers[0].describe().ends_with("causal)")});
  };
  expect_as_in_pytorch("decoder/all masks", nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2, options), 2),
                       all_masks);
  options.is_causal = true;
  expect_as_in_pytorch("decoder/all masks", nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2, options), 2),
                       all_masks);
  options.is_causal = false;
  options.norm_first = true;
  expect_as_in_pytorch("decoder layer/first", nn::TransformerDecoderLayer(8, 2, options), of_two);
  options.activation = nn::TransformerActivation::gelu;
  expect_as_in_pytorch("encoder layer/first", nn::TransformerEncoderLayer(8, 2, options), of_one);
  expect_as_in_pytorch(
      "encoder layer/causal",
      nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 12, .dropout = 0, .bias = false, .is_causal = true}),
      of_one);
}

}  // namespace
}  // namespace minnow::test
