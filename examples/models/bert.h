#pragma once

#include <minnow/minnow.h>

/// Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", with the
/// names of Hugging Face's BertModel.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

/// The defaults are those of Hugging Face's "bert-base-uncased".
struct BertOptions {
  std::int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  std::int64_t intermediate_size = 3072, max_position_embeddings = 512, type_vocab_size = 2;
  double dropout = 0.1, layer_norm_eps = 1e-12;
};

inline nn::Linear bert_linear(std::int64_t in, std::int64_t out) {
  nn::Linear linear(in, out);
  nn::init::normal_(linear.weight, 0, 0.02);
  nn::init::zeros_(linear.bias);
  return linear;
}

inline nn::Embedding bert_embedding(std::int64_t rows, std::int64_t width, nn::EmbeddingOptions options = {}) {
  nn::Embedding embedding(rows, width, options);
  nn::init::normal_(embedding.weight, 0, 0.02);
  return embedding;
}

struct BertEmbeddings : nn::Module {
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm norm;
  nn::Dropout dropout;

  explicit BertEmbeddings(const BertOptions& o)
      : word_embeddings(child("word_embeddings", bert_embedding(o.vocab_size, o.hidden_size, {.padding_idx = 0}))),
        position_embeddings(child("position_embeddings", bert_embedding(o.max_position_embeddings, o.hidden_size))),
        token_type_embeddings(child("token_type_embeddings", bert_embedding(o.type_vocab_size, o.hidden_size))),
        norm(child("LayerNorm", nn::LayerNorm(o.hidden_size, {.eps = o.layer_norm_eps}))),
        dropout(child("dropout", nn::Dropout(o.dropout))) {}

  Tensor forward(const Tensor& tokens, const Tensor& types) override {
    const Tensor positions = minnow::arange(tokens.size(1), {.dtype = minnow::int64, .device = tokens.device()});
    return dropout(norm(word_embeddings(tokens) + token_type_embeddings(types) + position_embeddings(positions)));
  }
};

struct BertSelfAttention : nn::Module {
  nn::Linear query, key, value;

  explicit BertSelfAttention(const BertOptions& o)
      : query(child("query", bert_linear(o.hidden_size, o.hidden_size))),
        key(child("key", bert_linear(o.hidden_size, o.hidden_size))),
        value(child("value", bert_linear(o.hidden_size, o.hidden_size))),
        heads_(o.num_attention_heads),
        dropout_(o.dropout) {}

  Tensor forward(const Tensor& x, const Tensor& mask) override {
    const auto by_head = [&](const Tensor& t) {
      return t.view({t.size(0), t.size(1), heads_, t.size(2) / heads_}).transpose(1, 2);
    };
    const Tensor y = scaled_dot_product_attention(by_head(query(x)), by_head(key(x)), by_head(value(x)), mask,
                                                  {.dropout_p = is_training() ? dropout_ : 0});
    return y.transpose(1, 2).flatten(2);
  }

 private:
  std::int64_t heads_;
  double dropout_;
};

/// A linear map, whose result is added to the block's input and normalized.
struct BertOutput : nn::Module {
  nn::Linear dense;
  nn::LayerNorm norm;
  nn::Dropout dropout;

  BertOutput(std::int64_t in, const BertOptions& o)
      : dense(child("dense", bert_linear(in, o.hidden_size))),
        norm(child("LayerNorm", nn::LayerNorm(o.hidden_size, {.eps = o.layer_norm_eps}))),
        dropout(child("dropout", nn::Dropout(o.dropout))) {}

  Tensor forward(const Tensor& x, const Tensor& input) override { return norm(dropout(dense(x)) + input); }
};

struct BertAttention : nn::Module {
  BertSelfAttention self;
  BertOutput output;

  explicit BertAttention(const BertOptions& o)
      : self(child("self", BertSelfAttention(o))), output(child("output", BertOutput(o.hidden_size, o))) {}

  Tensor forward(const Tensor& x, const Tensor& mask) override { return output(self(x, mask), x); }
};

struct BertLayer : nn::Module {
  BertAttention attention;
  nn::Sequential intermediate;
  BertOutput output;

  explicit BertLayer(const BertOptions& o)
      : attention(child("attention", BertAttention(o))),
        intermediate(child("intermediate", nn::Sequential{{"dense", bert_linear(o.hidden_size, o.intermediate_size)},
                                                          {"intermediate_act_fn", nn::GELU()}})),
        output(child("output", BertOutput(o.intermediate_size, o))) {}

  Tensor forward(const Tensor& x, const Tensor& mask) override {
    const Tensor y = attention(x, mask);
    return output(intermediate(y), y);
  }
};

struct BertEncoder : nn::Module {
  nn::ModuleList layer = child("layer", nn::ModuleList());

  explicit BertEncoder(const BertOptions& o) {
    for (std::int64_t i = 0; i < o.num_hidden_layers; ++i) layer.push_back(BertLayer(o));
  }

  Tensor forward(const Tensor& x, const Tensor& mask) override {
    Tensor y = x;
    for (const nn::Module& each : layer) y = each(y, mask);
    return y;
  }
};

struct BertModel : nn::ModuleOf<std::pair<Tensor, Tensor>(Tensor, Tensor, Tensor)> {
  BertEmbeddings embeddings;
  BertEncoder encoder;
  nn::Sequential pooler;

  explicit BertModel(const BertOptions& o = {})
      : embeddings(child("embeddings", BertEmbeddings(o))),
        encoder(child("encoder", BertEncoder(o))),
        pooler(child("pooler", nn::Sequential{{"dense", bert_linear(o.hidden_size, o.hidden_size)},
                                              {"activation", nn::Tanh()}})) {}

  /// tokens: int64 [N, T]; attention_mask: [N, T], 0 where a sentence has ended; types: int64 [N, T]
  /// ->  the last layer's states [N, T, hidden_size], and the pooled ones of the first tokens [N, hidden_size]
  std::pair<Tensor, Tensor> forward(Tensor tokens, Tensor attention_mask, Tensor types) override {
    const Tensor mask = (attention_mask != 0).view({tokens.size(0), 1, 1, tokens.size(1)});
    const Tensor states = encoder(embeddings(tokens, types), mask);
    return {states, pooler(states(minnow::all, 0))};
  }
};

}  // namespace models
