#pragma once

#include <optional>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/layer_norm.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/containers.h>

namespace minnow::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;      ///< probability that a weight becomes 0 in train mode
  bool bias = true;        ///< of the linear maps
  bool is_causal = false;  ///< a position takes itself and those before it
};

/// Attention of several heads (Vaswani et al. 2017, "Attention Is All You Need"), as torch.nn.MultiheadAttention with
/// batch_first: linear maps of query, key and value, scaled_dot_product_attention for each head, a linear map of all heads.
/// query: [N, L, embed_dim] or [L, embed_dim]  key, value: [N, S, embed_dim]  ->  as query.  A mask is that of
/// scaled_dot_product_attention, broadcast with [N, heads, L, S]: bool is true where a position takes part (PyTorch's
/// module: where it does not).  A mask of padding [N, S] is given as mask(all, newaxis, newaxis).  With is_causal, both
/// count.
class MultiheadAttention : public Module {
 public:
  /// ValueError unless both numbers are positive, num_heads divides embed_dim, and dropout is in [0, 1].
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, MultiheadAttentionOptions options = {},
                     SourceLocation where = SourceLocation::current());

  Parameter in_proj_weight, in_proj_bias;  ///< [3 embed_dim, embed_dim] and [3 embed_dim]: of query, key and value
  Linear out_proj;

  /// Of x to itself.
  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& mask) override;
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value) override;
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) override;
  std::string describe() const override;

 private:
  std::int64_t embed_dim_, num_heads_;
  MultiheadAttentionOptions options_;
};

/// Between the linear maps of a transformer's layer.
enum class TransformerActivation : std::uint8_t { relu, gelu, gelu_tanh };

struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;  ///< norms before the blocks, not after their sums
  bool bias = true;
  bool is_causal = false;  ///< a position takes itself and those before it
};

/// A layer of a transformer's encoder, as torch.nn.TransformerEncoderLayer with batch_first: attention of x to itself, and two
/// linear maps with an activation between them, each added to its input and normalized.
/// x: [N, L, d_model] or [L, d_model]  ->  the same.
class TransformerEncoderLayer : public Module {
 public:
  /// ValueError unless the sizes are positive, nhead divides d_model, and dropout is in [0, 1].
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead, TransformerLayerOptions options = {},
                          SourceLocation where = SourceLocation::current());

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout;

  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& mask) override;
  std::string describe() const override;

 private:
  Tensor feed_forward(const Tensor& x);

  TransformerLayerOptions options_;
};

/// What the attentions of a decoder leave out.  The masks are those of MultiheadAttention: bool is true where a position
/// takes part (PyTorch: where it does not), numbers are added; undefined: all take part.
struct TransformerDecoderMasks {
  Tensor tgt_mask{};                 ///< of x to itself: broadcast with [N, heads, L, L]
  Tensor memory_mask{};              ///< of x to memory: broadcast with [N, heads, L, S]
  Tensor tgt_key_padding_mask{};     ///< of x's positions: [N, L]
  Tensor memory_key_padding_mask{};  ///< of memory's: [N, S]
  bool tgt_is_causal = false;        ///< a position of x takes itself and those before it, also beside masks
};

/// A layer of a transformer's decoder, as torch.nn.TransformerDecoderLayer with batch_first: attention of x to itself, of x to
/// the encoder's results, and two linear maps.   x: [N, L, d_model]  memory: [N, S, d_model]  ->  as x.
///
///     Tensor y = layer(x, memory, {.memory_key_padding_mask = lengths_mask, .tgt_is_causal = true});
class TransformerDecoderLayer : public Module {
 public:
  /// is_causal is of the attention of x to itself.  ValueError as for TransformerEncoderLayer.
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead, TransformerLayerOptions options = {},
                          SourceLocation where = SourceLocation::current());

  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout;

  using Module::operator();
  Tensor operator()(const In& x, const In& memory, const TransformerDecoderMasks& masks) const;

  Tensor forward(const Tensor& x, const Tensor& memory) override;
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask) override;
  /// Either mask may be undefined.
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask, const Tensor& memory_mask) override;
  std::string describe() const override;

 private:
  Tensor feed_forward(const Tensor& x);

  TransformerLayerOptions options_;
};

/// num_layers copies of a layer, one after another, as torch.nn.TransformerEncoder.  With norm_first a last LayerNorm belongs
/// behind them: TransformerEncoder(layer, 6, nn::LayerNorm(d_model)).
class TransformerEncoder : public Module {
 public:
  /// All layers begin with the weights of `layer`, as in PyTorch.  ValueError unless num_layers is positive.
  TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t num_layers,
                     SourceLocation where = SourceLocation::current());
  /// The same with a norm of the last layer's result.
  TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t num_layers, const LayerNorm& norm,
                     SourceLocation where = SourceLocation::current());

  ModuleList layers;
  std::optional<LayerNorm> norm;

  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& mask) override;
};

/// num_layers copies of a layer, and a LayerNorm behind them if one is given, as torch.nn.TransformerDecoder.  Called as the
/// layer is.
class TransformerDecoder : public Module {
 public:
  /// All layers begin with the weights of `layer`, as in PyTorch.  ValueError unless num_layers is positive.
  TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t num_layers,
                     SourceLocation where = SourceLocation::current());
  /// The same with a norm of the last layer's result.
  TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t num_layers, const LayerNorm& norm,
                     SourceLocation where = SourceLocation::current());

  ModuleList layers;
  std::optional<LayerNorm> norm;

  using Module::operator();
  Tensor operator()(const In& x, const In& memory, const TransformerDecoderMasks& masks) const;

  Tensor forward(const Tensor& x, const Tensor& memory) override;
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask) override;
  /// Either mask may be undefined.
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask, const Tensor& memory_mask) override;
};

}  // namespace minnow::nn
