#include <minnow/nn/attention/transformer.h>

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/module/clone.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/attention.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

std::int64_t checked(std::int64_t embed_dim, std::int64_t num_heads, double dropout, SourceLocation where) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0)
    throw ValueError(
        fmt::format("MultiheadAttention: {} features are not divisible among {} heads\nnum_heads must divide "
                    "embed_dim",
                    embed_dim, num_heads),
        where);
  if (!(dropout >= 0 && dropout <= 1))
    throw ValueError(
        fmt::format("MultiheadAttention: dropout must be in [0, 1], got {}\nit is a probability, e.g. 0.1", dropout),
        where);
  return embed_dim;
}

Tensor in_proj(std::int64_t embed_dim) {
  Tensor weight = empty({3 * embed_dim, embed_dim});
  return init::xavier_uniform_(weight);
}

/// [..., L, heads * size] as [..., heads, L, size].
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  Shape shape = x.shape();
  shape.push_back(shape[-1] / heads);
  shape[-2] = heads;
  return x.reshape(shape).transpose(-2, -3);
}

MultiheadAttentionOptions of_attention(const TransformerLayerOptions& options, bool is_causal) {
  return {.dropout = options.dropout, .bias = options.bias, .is_causal = is_causal};
}
LayerNormOptions of_norm(const TransformerLayerOptions& options) {
  return {.eps = options.layer_norm_eps, .bias = options.bias};
}

/// The first linear map, with an activation that it has itself.
Linear first_linear(std::int64_t d_model, const TransformerLayerOptions& options, SourceLocation where) {
  const Activation activation = options.activation == TransformerActivation::relu        ? Activation::relu
                                : options.activation == TransformerActivation::gelu_tanh ? Activation::gelu_tanh
                                                                                         : Activation::none;
  return Linear(d_model, options.dim_feedforward, {.bias = options.bias, .activation = activation}, where);
}

std::string describe_layer(const char* name, const TransformerLayerOptions& options) {
  return fmt::format("{}(dim_feedforward {}, dropout {}{}{})", name, options.dim_feedforward, options.dropout,
                     options.norm_first ? ", norm first" : "", options.is_causal ? ", causal" : "");
}

/// Bool, [rows, columns]: true where the position of a column is not after that of the row.
Tensor causal_mask(std::int64_t rows, std::int64_t columns, Device device) {
  return ones({rows, columns}, {.dtype = DType::bool_, .device = device}).tril();
}

/// One mask for two, each bool (true where a position takes part), numbers that are added, or undefined.
Tensor both(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  const bool a_is_bool = a.dtype() == DType::bool_, b_is_bool = b.dtype() == DType::bool_;
  if (a_is_bool && b_is_bool) return logical_and(a, b);
  if (!a_is_bool && !b_is_bool) return a + b;
  return where(a_is_bool ? a : b, a_is_bool ? b : a, -kInfinity);
}

/// A mask of positions, for x's attention.
Tensor of_keys(const char* name, const Tensor& padding, const Tensor& x) {
  if (!padding.defined()) return padding;
  std::string of_pairs = name;
  of_pairs.erase(of_pairs.find("key_padding_"), std::strlen("key_padding_"));
  if (padding.dim() != x.dim() - 1)
    throw ShapeError(message(fmt::format("{} must be {}", name, x.dim() == 3 ? "[batch, length]" : "[length]"),
                             {{"x", x}, {name, padding}},
                             "one element for each position; " + of_pairs + " is the mask of pairs of positions"));
  return x.dim() == 3 ? padding(all, newaxis, newaxis) : padding;
}

/// The masks of attention to itself, as one.
struct OwnMasks {
  Tensor mask;
  const char* padding_name;
  Tensor padding;
  bool is_causal;
};
Tensor of_itself(const OwnMasks& masks, const Tensor& x) {
  const Tensor given = both(masks.mask, of_keys(masks.padding_name, masks.padding, x));
  return masks.is_causal ? both(given, causal_mask(x.size(-2), x.size(-2), x.device())) : given;
}

/// The masks of a call as the two that forward() takes.
std::pair<Tensor, Tensor> joined(const TransformerDecoderMasks& masks, const Tensor& x) {
  return {of_itself({masks.tgt_mask, "tgt_key_padding_mask", masks.tgt_key_padding_mask, masks.tgt_is_causal}, x),
          both(masks.memory_mask, of_keys("memory_key_padding_mask", masks.memory_key_padding_mask, x))};
}

/// The same for src, tgt and the encoder's results.
std::array<Tensor, 3> joined(const TransformerMasks& masks, const Tensor& src, const Tensor& tgt,
                             SourceLocation where) {
  const Operation op("Transformer", where, {{"src", src}, {"tgt", tgt}});
  if (src.dim() != tgt.dim() || (src.dim() == 3 && src.size(0) != tgt.size(0)))
    throw ShapeError(message("the batches differ", op, "src: [N, S, d_model]  tgt: [N, L, d_model]"));
  auto [of_tgt, of_memory] = joined({.tgt_mask = masks.tgt_mask,
                                     .memory_mask = masks.memory_mask,
                                     .tgt_key_padding_mask = masks.tgt_key_padding_mask,
                                     .memory_key_padding_mask = masks.memory_key_padding_mask,
                                     .tgt_is_causal = masks.tgt_is_causal},
                                    tgt);
  return {of_itself({masks.src_mask, "src_key_padding_mask", masks.src_key_padding_mask, masks.src_is_causal}, src),
          of_tgt, of_memory};
}

/// x: [..., L, E] with one row more.
Tensor with_row(const Tensor& x, const Tensor& row) {
  Shape one = x.shape();
  one[-2] = 1;
  return cat({x, row.flatten().expand(one)}, -2);
}

/// ShapeError unless a mask is broadcast with queries and keys; undefined and 0-dimensional ones are.
void check_mask(const Tensor& mask, const Tensor& queries, const Tensor& keys) {
  if (!mask.defined()) return;
  const auto fits = [&](int dim, std::int64_t size) {
    return mask.dim() < -dim || mask.size(dim) == 1 || mask.size(dim) == size;
  };
  const std::int64_t rows = queries.size(-2), columns = keys.size(-2);
  if (!fits(-1, columns) || !fits(-2, rows))
    throw ShapeError(message(
        fmt::format("MultiheadAttention: attn_mask must end with [{}, {}], or 1 in place of these", rows, columns),
        {{"query", queries}, {"key", keys}, {"attn_mask", mask}},
        "it has an element for each query and key that is given"));
}

/// A mask for `keys` keys with elements for `more`, which take part.
Tensor with_more_keys(const Tensor& given, std::int64_t keys, int more) {
  const Tensor mask = given.dim() == 0 ? given.unsqueeze(0) : given;
  Shape all = mask.shape(), added = mask.shape();
  all[-1] = keys;
  added[-1] = more;
  const double takes_part = mask.dtype() == DType::bool_ ? 1 : 0;
  return cat({mask.expand(all), full(added, takes_part, {mask.dtype(), mask.device()})}, -1);
}

TransformerLayerOptions of_layer(const TransformerOptions& o) {
  return {.dim_feedforward = o.dim_feedforward,
          .dropout = o.dropout,
          .activation = o.activation,
          .layer_norm_eps = o.layer_norm_eps,
          .norm_first = o.norm_first,
          .bias = o.bias};
}

template <class Layer>
ModuleList copies(const char* name, const Layer& layer, std::int64_t count, SourceLocation where) {
  if (count < 1)
    throw ValueError(fmt::format("{}: num_layers must be positive, got {}\nhow many copies of the layer?", name, count),
                     where);
  ModuleList list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(clone(layer, where));
  return list;
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                                       MultiheadAttentionOptions options, SourceLocation where)
    : in_proj_weight(parameter("in_proj_weight", in_proj(checked(embed_dim, num_heads, options.dropout, where)))),
      in_proj_bias(options.bias ? parameter("in_proj_bias", zeros(3 * embed_dim)) : Parameter()),
      bias_k(options.add_bias_kv ? parameter("bias_k", init::xavier_normal_(empty({1, 1, embed_dim}))) : Parameter()),
      bias_v(options.add_bias_kv ? parameter("bias_v", init::xavier_normal_(empty({1, 1, embed_dim}))) : Parameter()),
      out_proj(child("out_proj", Linear(embed_dim, embed_dim, options.bias, where))),
      embed_dim_(embed_dim),
      num_heads_(num_heads),
      options_(options) {
  const NoGradGuard guard;
  if (options.bias) out_proj.bias.zero_();
}

Tensor MultiheadAttention::forward(const Tensor& x) { return forward(x, x, x, {}); }
Tensor MultiheadAttention::forward(const Tensor& x, const Tensor& mask) { return forward(x, x, x, mask); }
Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value) {
  return forward(query, key, value, {});
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
  const CallSite site = called();
  for (const Tensor* t : {&query, &key, &value})
    if (!t->defined() || t->dim() < 2 || t->dim() > 3 || t->size(-1) != embed_dim_) {
      const Operation op("MultiheadAttention", detail::Call::line(),
                         {{"query", query}, {"key", key}, {"value", value}});
      throw ShapeError(message(fmt::format("the input must be [N, L, {0}] or [L, {0}]", embed_dim_), op,
                               "the batch is dimension 0"));
    }
  const auto batch = [](const Tensor& x) { return x.dim() == 3 ? x.size(0) : -1; };  // -1: none
  if (batch(query) != batch(key) || batch(key) != batch(value)) {
    const Operation op("MultiheadAttention", detail::Call::line(), {{"query", query}, {"key", key}, {"value", value}});
    throw ShapeError(message("the batches differ", op, "query: [N, L, embed_dim]  key, value: [N, S, embed_dim]"));
  }
  Tensor q, k, v;
  if (query.is_same(key) && key.is_same(value)) {
    const Tensor all = linear(query, in_proj_weight, in_proj_bias);
    const auto part = [&](std::int64_t i) { return all.narrow(-1, i * embed_dim_, embed_dim_); };
    q = part(0), k = part(1), v = part(2);
  } else {
    const auto project = [&](const Tensor& x, std::int64_t i) {
      const auto part = [&](const Tensor& t) { return t.defined() ? t.narrow(0, i * embed_dim_, embed_dim_) : t; };
      return linear(x, part(in_proj_weight), part(in_proj_bias));
    };
    q = project(query, 0), k = project(key, 1), v = project(value, 2);
  }
  const int more = (options_.add_bias_kv ? 1 : 0) + (options_.add_zero_attn ? 1 : 0);
  const bool needs_mask = options_.is_causal && (mask.defined() || more > 0);
  if (needs_mask || more > 0) check_mask(mask, query, key);
  Tensor taken = needs_mask ? both(mask, causal_mask(q.size(-2), k.size(-2), q.device())) : mask;
  if (more > 0 && taken.defined()) taken = with_more_keys(taken, k.size(-2), more);
  if (options_.add_bias_kv) k = with_row(k, bias_k), v = with_row(v, bias_v);
  if (options_.add_zero_attn) {
    const Tensor zero = zeros({1}, {k.dtype(), k.device()});
    k = with_row(k, zero), v = with_row(v, zero);
  }
  const Tensor heads = scaled_dot_product_attention(
      split_heads(q, num_heads_), split_heads(k, num_heads_), split_heads(v, num_heads_), taken,
      {.dropout_p = is_training() ? options_.dropout : 0, .is_causal = options_.is_causal && !needs_mask});
  return out_proj(heads.transpose(-2, -3).flatten(-2, -1));
}

std::string MultiheadAttention::describe() const {
  return fmt::format("MultiheadAttention({}, {} heads{}{})", embed_dim_, num_heads_,
                     options_.dropout > 0 ? fmt::format(", dropout {}", options_.dropout) : "",
                     options_.is_causal ? ", causal" : "");
}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 TransformerLayerOptions options, SourceLocation where)
    : self_attn(
          child("self_attn", MultiheadAttention(d_model, nhead, of_attention(options, options.is_causal), where))),
      linear1(child("linear1", first_linear(d_model, options, where))),
      linear2(child("linear2", Linear(options.dim_feedforward, d_model, options.bias, where))),
      norm1(child("norm1", LayerNorm(d_model, of_norm(options), where))),
      norm2(child("norm2", LayerNorm(d_model, of_norm(options), where))),
      dropout(child("dropout", Dropout(options.dropout, where))),
      options_(options) {}

Tensor TransformerEncoderLayer::feed_forward(const Tensor& x) {
  const Tensor y = options_.activation == TransformerActivation::gelu ? gelu(linear1(x)) : linear1(x);
  return dropout(linear2(dropout(y)));
}

Tensor TransformerEncoderLayer::forward(const Tensor& x) { return forward(x, {}); }
Tensor TransformerEncoderLayer::forward(const Tensor& x, const Tensor& mask) {
  const CallSite site = called();
  const auto attention = [&](const Tensor& t) { return dropout(mask.defined() ? self_attn(t, mask) : self_attn(t)); };
  if (options_.norm_first) {
    const Tensor y = x + attention(norm1(x));
    return y + feed_forward(norm2(y));
  }
  const Tensor y = norm1(x + attention(x));
  return norm2(y + feed_forward(y));
}

std::string TransformerEncoderLayer::describe() const { return describe_layer("TransformerEncoderLayer", options_); }

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 TransformerLayerOptions options, SourceLocation where)
    : self_attn(
          child("self_attn", MultiheadAttention(d_model, nhead, of_attention(options, options.is_causal), where))),
      multihead_attn(child("multihead_attn", MultiheadAttention(d_model, nhead, of_attention(options, false), where))),
      linear1(child("linear1", first_linear(d_model, options, where))),
      linear2(child("linear2", Linear(options.dim_feedforward, d_model, options.bias, where))),
      norm1(child("norm1", LayerNorm(d_model, of_norm(options), where))),
      norm2(child("norm2", LayerNorm(d_model, of_norm(options), where))),
      norm3(child("norm3", LayerNorm(d_model, of_norm(options), where))),
      dropout(child("dropout", Dropout(options.dropout, where))),
      options_(options) {}

Tensor TransformerDecoderLayer::feed_forward(const Tensor& x) {
  const Tensor y = options_.activation == TransformerActivation::gelu ? gelu(linear1(x)) : linear1(x);
  return dropout(linear2(dropout(y)));
}

Tensor TransformerDecoderLayer::operator()(const In& x, const In& memory, const TransformerDecoderMasks& masks) const {
  const Operation op("TransformerDecoderLayer", x.where, {{"x", *x}, {"memory", *memory}});
  const auto [of_x, of_memory] = joined(masks, *x);
  return Module::operator()(x, memory, of_x, of_memory);
}

Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory) { return forward(x, memory, {}, {}); }
Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask) {
  return forward(x, memory, tgt_mask, {});
}
Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask,
                                        const Tensor& memory_mask) {
  const CallSite site = called();
  const auto to_itself = [&](const Tensor& t) {
    return dropout(tgt_mask.defined() ? self_attn(t, tgt_mask) : self_attn(t));
  };
  const auto to_memory = [&](const Tensor& t) {
    return dropout(memory_mask.defined() ? multihead_attn(t, memory, memory, memory_mask)
                                         : multihead_attn(t, memory, memory));
  };
  if (options_.norm_first) {
    const Tensor y = x + to_itself(norm1(x));
    const Tensor z = y + to_memory(norm2(y));
    return z + feed_forward(norm3(z));
  }
  const Tensor y = norm1(x + to_itself(x));
  const Tensor z = norm2(y + to_memory(y));
  return norm3(z + feed_forward(z));
}

std::string TransformerDecoderLayer::describe() const { return describe_layer("TransformerDecoderLayer", options_); }

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t num_layers,
                                       SourceLocation where)
    : layers(child("layers", copies("TransformerEncoder", layer, num_layers, where))) {}
TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t num_layers,
                                       const LayerNorm& last, SourceLocation where)
    : TransformerEncoder(layer, num_layers, where) {
  norm.emplace(child("norm", last, where));
}

Tensor TransformerEncoder::forward(const Tensor& x) { return forward(x, {}); }
Tensor TransformerEncoder::forward(const Tensor& x, const Tensor& mask) {
  const CallSite site = called();
  Tensor y = x;
  for (Module& layer : layers) y = mask.defined() ? layer(y, mask) : layer(y);
  return norm ? (*norm)(y) : y;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t num_layers,
                                       SourceLocation where)
    : layers(child("layers", copies("TransformerDecoder", layer, num_layers, where))) {}
TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t num_layers,
                                       const LayerNorm& last, SourceLocation where)
    : TransformerDecoder(layer, num_layers, where) {
  norm.emplace(child("norm", last, where));
}

Tensor TransformerDecoder::operator()(const In& x, const In& memory, const TransformerDecoderMasks& masks) const {
  const Operation op("TransformerDecoder", x.where, {{"x", *x}, {"memory", *memory}});
  const auto [of_x, of_memory] = joined(masks, *x);
  return Module::operator()(x, memory, of_x, of_memory);
}

Tensor TransformerDecoder::forward(const Tensor& x, const Tensor& memory) { return forward(x, memory, {}, {}); }
Tensor TransformerDecoder::forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask) {
  return forward(x, memory, tgt_mask, {});
}
Tensor TransformerDecoder::forward(const Tensor& x, const Tensor& memory, const Tensor& tgt_mask,
                                   const Tensor& memory_mask) {
  const CallSite site = called();
  Tensor y = x;
  for (Module& layer : layers)
    y = tgt_mask.defined() || memory_mask.defined() ? layer(y, memory, tgt_mask, memory_mask) : layer(y, memory);
  return norm ? (*norm)(y) : y;
}

Transformer::Transformer(std::int64_t d_model, std::int64_t nhead, TransformerOptions options, SourceLocation where)
    : encoder(child("encoder", TransformerEncoder(TransformerEncoderLayer(d_model, nhead, of_layer(options), where),
                                                  options.num_encoder_layers,
                                                  LayerNorm(d_model, of_norm(of_layer(options)), where), where))),
      decoder(child("decoder", TransformerDecoder(TransformerDecoderLayer(d_model, nhead, of_layer(options), where),
                                                  options.num_decoder_layers,
                                                  LayerNorm(d_model, of_norm(of_layer(options)), where), where))) {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}

Tensor Transformer::forward(Tensor src, Tensor tgt, TransformerMasks masks) {
  const auto [of_src, of_tgt, of_memory] = joined(masks, src, tgt, detail::Call::line());
  const CallSite site = called();
  const Tensor memory = of_src.defined() ? encoder(src, of_src) : encoder(src);
  return of_tgt.defined() || of_memory.defined() ? decoder(tgt, memory, of_tgt, of_memory) : decoder(tgt, memory);
}

std::string Transformer::describe() const {
  return fmt::format("Transformer({} encoder layers, {} decoder layers)", encoder.layers.size(), decoder.layers.size());
}

}  // namespace minnow::nn
