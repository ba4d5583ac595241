#pragma once

#include <minnow/minnow.h>

/// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", with the names of Hugging Face's
/// GPT2LMHeadModel.
namespace models {

namespace nn = minnow::nn;
using minnow::Tensor;

/// The defaults are those of Hugging Face's "gpt2" (124 million parameters).
struct GPT2Options {
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
  double dropout = 0.1;
};

/// The keys and values of the tokens that a model has seen, as Hugging Face's past_key_values.  A call with a cache
/// gets the new tokens alone:
///
///     models::KVCache cache;
///     Tensor logits = net(prompt, cache);                          // [N, T]
///     while (...) logits = net(argmax(logits(all, -1), -1, true), cache);   // [N, 1]
class KVCache {
 public:
  /// [N, heads, room, width], of which the first length() positions are used.
  struct Layer {
    Tensor keys, values;
  };

  /// The number of tokens seen.
  std::int64_t length() const { return length_; }

 private:
  friend struct GPT2Model;

  std::vector<Layer> layers_;
  std::int64_t length_ = 0;
};

/// A linear map whose weight is [in, out].
struct Conv1D : nn::Module {
  nn::Parameter weight, bias;

  Conv1D(std::int64_t in, std::int64_t out, double std = 0.02)
      : weight(parameter("weight", minnow::randn({in, out}) * std)), bias(parameter("bias", minnow::zeros({out}))) {}

  Tensor forward(const Tensor& x) override { return minnow::linear(x, weight.t(), bias); }
};

struct GPT2Attention : nn::Module {
  Conv1D c_attn, c_proj;
  nn::Dropout resid_dropout;

  explicit GPT2Attention(const GPT2Options& o)
      : c_attn(child("c_attn", Conv1D(o.n_embd, 3 * o.n_embd))),
        c_proj(child("c_proj", Conv1D(o.n_embd, o.n_embd, 0.02 / std::sqrt(2.0 * static_cast<double>(o.n_layer))))),
        resid_dropout(child("resid_dropout", nn::Dropout(o.dropout))),
        options_(o) {}

  Tensor forward(const Tensor& x) override {
    const std::int64_t heads = options_.n_head, width = options_.n_embd / heads;
    const Tensor qkv = c_attn(x).view({x.size(0), x.size(1), 3, heads, width}).permute({2, 0, 3, 1, 4});
    const Tensor y = scaled_dot_product_attention(
        qkv[0], qkv[1], qkv[2], {}, {.dropout_p = is_training() ? options_.dropout : 0, .is_causal = true});
    return resid_dropout(c_proj(y.transpose(1, 2).flatten(2)));
  }

  /// Of the positions behind those of the cache, which gets them.
  Tensor cached(const Tensor& x, KVCache::Layer& seen, std::int64_t length) const {
    const std::int64_t heads = options_.n_head, width = options_.n_embd / heads, count = x.size(1),
                       end = length + count;
    const Tensor qkv = c_attn(x).view({x.size(0), count, 3, heads, width}).permute({2, 0, 3, 1, 4});
    const auto with_new = [&](Tensor& kept, const Tensor& some) {
      constexpr std::int64_t kRoom = 64;
      if (!kept.defined() || end > kept.size(2)) {  // twice as much room each time
        const std::int64_t room = std::min(options_.n_positions, std::max(2 * length, end + kRoom));
        const Tensor larger =
            minnow::empty({x.size(0), heads, room, width}, {.dtype = x.dtype(), .device = x.device()});
        if (length > 0) copy_(larger.narrow(2, 0, length), kept.narrow(2, 0, length));
        kept = larger;
      }
      copy_(kept.narrow(2, length, count), some);
      return kept.narrow(2, 0, end);
    };
    const Tensor keys = with_new(seen.keys, qkv[1]), values = with_new(seen.values, qkv[2]);
    Tensor mask;  // of several new positions, each takes those before it
    if (count > 1 && length > 0)
      mask = tril(minnow::ones({count, end}, {.dtype = minnow::bool_, .device = x.device()}), length);
    const Tensor y = scaled_dot_product_attention(qkv[0], keys, values, mask, {.is_causal = count > 1 && length == 0});
    return c_proj(y.transpose(1, 2).flatten(2));
  }

 private:
  GPT2Options options_;
};

struct GPT2MLP : nn::Module {
  Conv1D c_fc, c_proj;
  nn::Dropout dropout;

  explicit GPT2MLP(const GPT2Options& o)
      : c_fc(child("c_fc", Conv1D(o.n_embd, 4 * o.n_embd))),
        c_proj(child("c_proj", Conv1D(4 * o.n_embd, o.n_embd, 0.02 / std::sqrt(2.0 * static_cast<double>(o.n_layer))))),
        dropout(child("dropout", nn::Dropout(o.dropout))) {}

  Tensor forward(const Tensor& x) override { return dropout(c_proj(gelu_tanh(c_fc(x)))); }
};

struct GPT2Block : nn::Module {
  nn::LayerNorm ln_1, ln_2;
  GPT2Attention attn;
  GPT2MLP mlp;

  explicit GPT2Block(const GPT2Options& o)
      : ln_1(child("ln_1", nn::LayerNorm(o.n_embd))),
        ln_2(child("ln_2", nn::LayerNorm(o.n_embd))),
        attn(child("attn", GPT2Attention(o))),
        mlp(child("mlp", GPT2MLP(o))) {}

  Tensor forward(const Tensor& x) override {
    const Tensor y = x + attn(ln_1(x));
    return y + mlp(ln_2(y));
  }
  Tensor cached(const Tensor& x, KVCache::Layer& seen, std::int64_t length) const {
    const Tensor y = x + attn.cached(ln_1(x), seen, length);
    return y + mlp(ln_2(y));
  }
};

struct GPT2Model : nn::Module {
  nn::Embedding wte, wpe;
  nn::Dropout drop;
  nn::Sequential h = child("h", nn::Sequential());
  nn::LayerNorm ln_f;

  explicit GPT2Model(const GPT2Options& o)
      : wte(child("wte", nn::Embedding(o.vocab_size, o.n_embd))),
        wpe(child("wpe", nn::Embedding(o.n_positions, o.n_embd))),
        drop(child("drop", nn::Dropout(o.dropout))),
        ln_f(child("ln_f", nn::LayerNorm(o.n_embd))),
        options_(o) {
    nn::init::normal_(wte.weight, 0, 0.02);
    nn::init::normal_(wpe.weight, 0, 0.02);
    for (std::int64_t i = 0; i < o.n_layer; ++i) h.push_back(GPT2Block(o));
  }

  Tensor forward(const Tensor& tokens) override {
    const Tensor positions = minnow::arange(tokens.size(-1), {.dtype = minnow::int64, .device = tokens.device()});
    return ln_f(h(drop(wte(tokens) + wpe(positions))));
  }

  /// Without gradients and dropout.  ValueError for more positions than n_positions, and for another number of
  /// sequences.
  Tensor cached(const Tensor& tokens, KVCache& cache) const {
    const minnow::NoGradGuard no_grad;
    const std::int64_t length = cache.length_, end = length + tokens.size(1);
    if (end > options_.n_positions)
      throw minnow::ValueError("GPT2: " + std::to_string(end) + " tokens are more than its " +
                               std::to_string(options_.n_positions) + " positions\nbegin again with an empty cache");
    if (cache.layers_.empty()) cache.layers_.resize(static_cast<std::size_t>(h.size()));
    if (length > 0 && cache.layers_[0].keys.size(0) != tokens.size(0))
      throw minnow::ValueError("GPT2: the cache is of " + std::to_string(cache.layers_[0].keys.size(0)) +
                               " sequences, the tokens are of " + std::to_string(tokens.size(0)) +
                               "\ngive each batch a cache of its own");
    const Tensor positions = minnow::arange(length, end, 1, {.dtype = minnow::int64, .device = tokens.device()});
    Tensor x = wte(tokens) + wpe(positions);
    for (std::int64_t i = 0; i < h.size(); ++i)
      x = h.get<GPT2Block>(i).cached(x, cache.layers_[static_cast<std::size_t>(i)], length);
    cache.length_ = end;
    return ln_f(x);
  }

 private:
  GPT2Options options_;
};

/// A linear map without a bias that shares its weight.
struct TiedLinear : nn::Module {
  nn::Parameter weight;

  explicit TiedLinear(const nn::Parameter& shared) : weight(parameter("weight", shared)) {}

  Tensor forward(const Tensor& x) override { return linear(x, weight); }
};

struct GPT2LMHeadModel : nn::Module {
  GPT2Model transformer;
  TiedLinear lm_head;

  explicit GPT2LMHeadModel(const GPT2Options& o = {})
      : transformer(child("transformer", GPT2Model(o))),
        lm_head(child("lm_head", TiedLinear(transformer.wte.weight))) {}

  /// tokens: int64 [N, T]  ->  [N, T, vocab_size]: of each token the logits of the next one.
  Tensor forward(const Tensor& tokens) override { return lm_head(transformer(tokens)); }

  using Module::operator();
  /// The same of tokens that follow those of the cache, without gradients and dropout.
  template <std::convertible_to<Tensor> T> Tensor operator()(const T& tokens, KVCache& cache) const {
    const minnow::NoGradGuard no_grad;
    return lm_head(transformer.cached(tokens, cache));
  }

  /// `count` tokens more: the most probable ones, or with a temperature above 0 drawn from softmax(logits /
  /// temperature). Where the positions end, it goes on from the last n_positions tokens.   tokens: int64 [N, T]  ->
  /// [N, T + count]
  Tensor generate(Tensor tokens, std::int64_t count, double temperature = 0) const {
    const minnow::NoGradGuard no_grad;
    const std::int64_t most = transformer.wpe.weight.size(0);
    KVCache cache;
    Tensor next = tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      if (cache.length() + next.size(1) > most) {
        cache = {};
        const std::int64_t kept = std::min(tokens.size(1), most);
        next = tokens.narrow(1, tokens.size(1) - kept, kept);
      }
      const Tensor last = transformer.cached(next, cache).narrow(1, next.size(1) - 1, 1), logits = lm_head(last);
      next = temperature > 0 ? multinomial(softmax(logits.flatten(0, 1) / temperature, -1), 1) : argmax(logits, -1);
      tokens = minnow::cat({tokens, next}, 1);
    }
    return tokens;
  }

  /// The weights of a file of Hugging Face's: with or without the prefix "transformer.", the last layer's copy of the
  /// embedding, and the masks that older files hold.
  void load_weights(const std::string& path) {
    minnow::StateDict weights;
    for (const auto& [name, tensor] : minnow::load(path)) {
      if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) continue;
      const bool whole = name.starts_with("transformer.") || name.starts_with("lm_head.");
      weights.set(whole ? name : "transformer." + name, tensor);
    }
    if (!weights.contains("lm_head.weight")) weights.set("lm_head.weight", weights.at("transformer.wte.weight"));
    load_state_dict(weights);
  }
};

/// The model of a file of Hugging Face's, whose sizes it takes from there.   heads: 0 for one for each 64 of the width
inline GPT2LMHeadModel load_gpt2(const std::string& path, std::int64_t heads = 0) {
  GPT2Options options;
  options.n_layer = 0;
  for (const auto& [name, tensor] : minnow::load(path)) {
    if (name.ends_with("wte.weight")) options.vocab_size = tensor.size(0), options.n_embd = tensor.size(1);
    if (name.ends_with("wpe.weight")) options.n_positions = tensor.size(0);
    if (name.ends_with("ln_1.weight")) ++options.n_layer;
  }
  options.n_head = heads ? heads : options.n_embd / 64;
  GPT2LMHeadModel net(options);
  net.load_weights(path);
  return net;
}

}  // namespace models
