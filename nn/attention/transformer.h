#pragma once

#include <optional>
#include <utility>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/layer_norm.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/containers.h>

namespace minnow::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;          ///< probability that a weight becomes 0 in train mode
  bool bias = true;            ///< of the linear maps
  bool add_bias_kv = false;    ///< one more key and value, which are learned: bias_k and bias_v
  bool add_zero_attn = false;  ///< one more key and value of zeros
  bool is_causal = false;      ///< a position takes itself and those before it
};

/// Attention of several heads (Vaswani et al. 2017, "Attention Is All You Need"), as torch.nn.MultiheadAttention with
/// batch_first: linear maps of query, key and value, scaled_dot_product_attention for each head, a linear map of all
/// heads.   query: [N, L, embed_dim] or [L, embed_dim]  key, value: [N, S, embed_dim]  ->  as query.  A mask is that of
/// scaled_dot_product_attention, broadcast with [N, heads, L, S]: bool is true where a position takes part (PyTorch's
/// module: where it does not).  A mask of padding [N, S] is given as mask(all, newaxis, newaxis).  With is_causal, both
/// count.  Keys of add_bias_kv and add_zero_attn come last, and masks do not reach them.  ShapeError where the batches
/// differ.
class MultiheadAttention : public Module {
 public:
  /// ValueError unless both numbers are positive, num_heads divides embed_dim, and dropout is in [0, 1].
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, MultiheadAttentionOptions options = {},
                     SourceLocation where = SourceLocation::current());

  Parameter in_proj_weight, in_proj_bias;  ///< [3 embed_dim, embed_dim] and [3 embed_dim]: of query, key and value
  Parameter bias_k, bias_v;                ///< [1, 1, embed_dim], with add_bias_kv
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

/// A layer of a transformer's encoder, as torch.nn.TransformerEncoderLayer with batch_first: attention of x to itself,
/// and two linear maps with an activation between them, each added to its input and normalized.
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

/// What the attentions of a decoder leave out.  The masks are those of MultiheadAttention: bool is true where a
/// position takes part (PyTorch: where it does not), numbers are added; undefined: all take part.
struct TransformerDecoderMasks {
  Tensor tgt_mask{};                 ///< of x to itself: broadcast with [N, heads, L, L]
  Tensor memory_mask{};              ///< of x to memory: broadcast with [N, heads, L, S]
  Tensor tgt_key_padding_mask{};     ///< of x's positions: [N, L]
  Tensor memory_key_padding_mask{};  ///< of memory's: [N, S]
  bool tgt_is_causal = false;        ///< a position of x takes itself and those before it, also beside masks
};

/// A layer of a transformer's decoder, as torch.nn.TransformerDecoderLayer with batch_first: attention of x to itself,
/// of x to the encoder's results, and two linear maps.   x: [N, L, d_model]  memory: [N, S, d_model]  ->  as x.
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

/// num_layers copies of a layer, one after another, as torch.nn.TransformerEncoder.  With norm_first a last LayerNorm
/// belongs behind them: TransformerEncoder(layer, 6, nn::LayerNorm(d_model)).
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

/// num_layers copies of a layer, and a LayerNorm behind them if one is given, as torch.nn.TransformerDecoder.  Called
/// as the layer is.
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

struct TransformerOptions {
  std::int64_t num_encoder_layers = 6;
  std::int64_t num_decoder_layers = 6;
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;  ///< norms before the blocks, not after their sums
  bool bias = true;
};

/// What the attentions of a transformer leave out, as TransformerDecoderMasks.
struct TransformerMasks {
  Tensor src_mask{};                 ///< of src to itself: broadcast with [N, heads, S, S]
  Tensor tgt_mask{};                 ///< of tgt to itself: broadcast with [N, heads, L, L]
  Tensor memory_mask{};              ///< of tgt to the encoder's results: broadcast with [N, heads, L, S]
  Tensor src_key_padding_mask{};     ///< of src's positions: [N, S]
  Tensor tgt_key_padding_mask{};     ///< of tgt's: [N, L]
  Tensor memory_key_padding_mask{};  ///< of the encoder's results: [N, S]
  bool src_is_causal = false;        ///< a position of src takes itself and those before it, also beside masks
  bool tgt_is_causal = false;        ///< the same of tgt
};

/// An encoder and a decoder, each with a norm behind it (Vaswani et al. 2017), as torch.nn.Transformer with
/// batch_first.   src: [N, S, d_model]  tgt: [N, L, d_model]  ->  as tgt.  Weights begin by xavier_uniform_.
///
///     Tensor y = transformer(src, tgt, {.src_key_padding_mask = lengths_mask, .tgt_is_causal = true});
class Transformer : public ModuleOf<Tensor(Tensor, Tensor, TransformerMasks)> {
 public:
  /// ValueError unless the sizes are positive, nhead divides d_model, and dropout is in [0, 1].
  explicit Transformer(std::int64_t d_model = 512, std::int64_t nhead = 8, TransformerOptions options = {},
                       SourceLocation where = SourceLocation::current());

  TransformerEncoder encoder;
  TransformerDecoder decoder;

  Tensor operator()(Tensor src, Tensor tgt, TransformerMasks masks = {},
                    SourceLocation where = SourceLocation::current()) const {
    return ModuleOf::operator()(std::move(src), std::move(tgt), std::move(masks), where);
  }
  Tensor forward(Tensor src, Tensor tgt, TransformerMasks masks) override;
  std::string describe() const override;
};

}  // namespace minnow::nn
