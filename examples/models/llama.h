#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <minnow/llm/llm.h>
#include <minnow/minnow.h>

/// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", with the names of Hugging Face's
/// LlamaForCausalLM; with llm::LlamaConfig::qkv_bias it is a Qwen2ForCausalLM.
namespace models {

namespace nn = minnow::nn;
namespace llm = minnow::llm;
using minnow::Tensor;

/// The keys and values of the tokens that a Llama has seen, as Hugging Face's past_key_values.  A call with a cache
/// gets the new tokens alone.  Each layer's memory is allocated once, for `capacity` tokens, and is written in place.
///
///     models::LlamaCache cache(prompt.size(1) + 100);
///     Tensor logits = net(prompt, cache);                                   // [N, T]
///     while (...) logits = net(argmax(logits(all, -1), -1, true), cache);   // [N, 1]
class LlamaCache {
 public:
  /// padding: how many of each sequence's first tokens are no text (int64 [N]), or undefined.
  explicit LlamaCache(std::int64_t capacity, Tensor padding = {}) : capacity_(capacity), padding_(std::move(padding)) {}

  /// The number of tokens seen.
  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return capacity_; }

 private:
  friend struct LlamaModel;
  friend struct LlamaAttention;

  /// [N, num_key_value_heads, capacity, head_dim]
  struct Layer {
    Tensor keys, values;
  };

  std::vector<Layer> layers_;
  std::int64_t capacity_, length_ = 0;
  Tensor padding_;
};

/// What the layers of a call share.
struct LlamaPlaces {
  Tensor table{};               ///< rope_table() of the positions
  Tensor mask{};                ///< of scaled_dot_product_attention, or undefined
  LlamaCache* cache = nullptr;  ///< or none
};

struct LlamaAttention : nn::Module {
  llm::Linear q_proj, k_proj, v_proj, o_proj;

  explicit LlamaAttention(const llm::LlamaConfig& c)
      : q_proj(child("q_proj", llm::Linear(c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias))),
        k_proj(child("k_proj", llm::Linear(c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias))),
        v_proj(child("v_proj", llm::Linear(c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias))),
        o_proj(child("o_proj", llm::Linear(c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias))),
        head_dim_(c.head_dim) {}

  Tensor attend(const Tensor& x, const LlamaPlaces& places, std::size_t layer) const {
    const auto heads = [&](const Tensor& t) { return t.unflatten(-1, {-1, head_dim_}).transpose(1, 2); };
    const Tensor q = rope(heads(q_proj(x)), places.table);
    Tensor k = rope(heads(k_proj(x)), places.table), v = heads(v_proj(x));
    bool is_causal = x.size(1) > 1;
    if (places.cache != nullptr) {
      LlamaCache::Layer& seen = places.cache->layers_[layer];
      const std::int64_t length = places.cache->length_, count = x.size(1);
      is_causal = is_causal && length == 0;
      for (const auto& [kept, more] : {std::pair(&seen.keys, &k), std::pair(&seen.values, &v)}) {
        copy_(kept->narrow(2, length, count), *more);
        *more = kept->narrow(2, 0, length + count);
      }
    }
    const Tensor y = scaled_dot_product_attention(
        q, k, v, places.mask, {.is_causal = is_causal && !places.mask.defined(), .enable_gqa = true});
    return o_proj(y.transpose(1, 2).flatten(2));
  }

 private:
  std::int64_t head_dim_;
};

/// SwiGLU (Shazeer 2020, "GLU Variants Improve Transformer").
struct LlamaMLP : nn::Module {
  llm::Linear gate_proj, up_proj, down_proj;

  explicit LlamaMLP(const llm::LlamaConfig& c)
      : gate_proj(child("gate_proj", llm::Linear(c.hidden_size, c.intermediate_size, c.mlp_bias))),
        up_proj(child("up_proj", llm::Linear(c.hidden_size, c.intermediate_size, c.mlp_bias))),
        down_proj(child("down_proj", llm::Linear(c.intermediate_size, c.hidden_size, c.mlp_bias))) {}

  Tensor forward(const Tensor& x) override { return down_proj(silu(gate_proj(x)) * up_proj(x)); }
};

struct LlamaDecoderLayer : nn::Module {
  LlamaAttention self_attn;
  LlamaMLP mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm;

  explicit LlamaDecoderLayer(const llm::LlamaConfig& c)
      : self_attn(child("self_attn", LlamaAttention(c))),
        mlp(child("mlp", LlamaMLP(c))),
        input_layernorm(child("input_layernorm", nn::RMSNorm(c.hidden_size, {.eps = c.rms_norm_eps}))),
        post_attention_layernorm(
            child("post_attention_layernorm", nn::RMSNorm(c.hidden_size, {.eps = c.rms_norm_eps}))) {}

  Tensor run(const Tensor& x, const LlamaPlaces& places, std::size_t layer) const {
    const Tensor y = x + self_attn.attend(input_layernorm(x), places, layer);
    return y + mlp(post_attention_layernorm(y));
  }
};

struct LlamaModel : nn::Module {
  llm::Embedding embed_tokens;
  nn::ModuleList layers = child("layers", nn::ModuleList());
  nn::RMSNorm norm;

  explicit LlamaModel(const llm::LlamaConfig& c)
      : embed_tokens(child("embed_tokens", llm::Embedding(c.vocab_size, c.hidden_size))),
        norm(child("norm", nn::RMSNorm(c.hidden_size, {.eps = c.rms_norm_eps}))),
        config_(c) {
    for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) layers.push_back(LlamaDecoderLayer(c));
  }

  Tensor forward(const Tensor& tokens) override { return run(tokens, nullptr); }

  std::int64_t max_positions() const { return config_.max_position_embeddings; }

  /// Keep the inputs of the layers alone for backward, which computes the rest again.
  void checkpoint_layers(bool on) { checkpoints_ = on; }

  /// The last layer's results.  ValueError where the tokens do not fit in the cache or the model's positions.
  Tensor run(const Tensor& tokens, LlamaCache* cache) const {
    LlamaPlaces places{.cache = cache};
    const std::int64_t length = cache ? cache->length_ : 0, count = tokens.size(1), end = length + count;
    if (end > config_.max_position_embeddings || (cache && end > cache->capacity_))
      throw minnow::ValueError("Llama: " + std::to_string(end) + " tokens are too many\nthe model has " +
                               std::to_string(config_.max_position_embeddings) + " positions" +
                               (cache ? ", the cache room for " + std::to_string(cache->capacity_) : ""));
    if (cache) prepare(*cache, tokens);
    const Tensor at = minnow::arange(length, end, 1, {.dtype = minnow::int64, .device = tokens.device()});
    if (cache && cache->padding_.defined()) {
      const Tensor none = cache->padding_.unsqueeze(1);
      places.table = table_of(clamp_min(at - none, 0)).unsqueeze(1);
      const Tensor keys = minnow::arange(end, {.dtype = minnow::int64, .device = tokens.device()});
      places.mask = ((keys >= none).unsqueeze(1) & (keys <= at.unsqueeze(1))).unsqueeze(1);
    } else {
      places.table = table_of(at);
      if (count > 1 && length > 0)
        places.mask = tril(minnow::ones({count, end}, {.dtype = minnow::bool_, .device = tokens.device()}), length);
    }
    Tensor x = embed_tokens(tokens);
    for (std::int64_t i = 0; i < layers.size(); ++i) {
      const auto& layer = layers.get<LlamaDecoderLayer>(i);
      const auto index = static_cast<std::size_t>(i);
      if (checkpoints_ && cache == nullptr)
        x = minnow::checkpoint([=](const Tensor& t) { return layer.run(t, places, index); }, x);
      else x = layer.run(x, places, index);
    }
    if (cache) cache->length_ = end;
    return norm(x);
  }

 private:
  Tensor table_of(const Tensor& positions) const { return rope_table(positions, config_.head_dim, config_.rope); }

  void prepare(LlamaCache& cache, const Tensor& tokens) const {
    const std::int64_t rows = tokens.size(0);
    if (cache.layers_.empty()) {
      const minnow::TensorOptions like{.dtype = embed_tokens.dtype(), .device = tokens.device()};
      const minnow::Shape shape{rows, config_.num_key_value_heads, cache.capacity_, config_.head_dim};
      for (std::int64_t i = 0; i < layers.size(); ++i)
        cache.layers_.push_back({minnow::empty(shape, like), minnow::empty(shape, like)});
    } else if (cache.layers_[0].keys.size(0) != rows) {
      throw minnow::ValueError("Llama: the cache is of " + std::to_string(cache.layers_[0].keys.size(0)) +
                               " sequences, the tokens are of " + std::to_string(rows) +
                               "\ngive each batch a cache of its own");
    }
  }

  llm::LlamaConfig config_;
  bool checkpoints_ = false;
};

struct LlamaForCausalLM : nn::Module {
  LlamaModel model;
  llm::Linear lm_head;

  explicit LlamaForCausalLM(const llm::LlamaConfig& c = {})
      : model(child("model", LlamaModel(c))),
        lm_head(child("lm_head", llm::Linear(c.hidden_size, c.vocab_size, false))) {
    if (c.tie_word_embeddings) lm_head.weight = model.embed_tokens.weight;
  }

  /// tokens: int64 [N, T]  ->  [N, T, vocab_size]: of each token the logits of the next one.
  Tensor forward(const Tensor& tokens) override { return lm_head(model(tokens)); }

  using Module::operator();
  /// Of tokens that follow those of the cache, without gradients: the logits behind the last of them, [N, vocab_size].
  template <std::convertible_to<Tensor> T> Tensor operator()(const T& tokens, LlamaCache& cache) const {
    const minnow::NoGradGuard no_grad;
    return lm_head(model.run(tokens, &cache).select(1, -1));
  }
};

inline constexpr std::int64_t kIgnored = -100;  ///< a target that cross_entropy leaves out

struct LlamaAnswers {
  Tensor logits, targets;  ///< of the tokens that count: [n, vocab_size] and [n]
};
/// What a loss needs of tokens and targets, int64 [N, T].  The logits are computed where they are needed alone: they
/// are the largest tensor.
inline LlamaAnswers answers(const LlamaForCausalLM& net, const Tensor& tokens, const Tensor& targets) {
  const Tensor counted = nonzero(targets.flatten() != kIgnored).flatten();
  const Tensor x = net.model(tokens).flatten(0, 1);
  return {net.lm_head(index_select(x, 0, counted)), index_select(targets.flatten(), 0, counted)};
}

struct GenerateOptions {
  std::int64_t max_new_tokens = 100;
  llm::SamplerOptions sampling{};
  std::vector<std::int64_t> stops{};  ///< tokens that end a text, and are not part of it
  /// Called with each token and the number of its prompt; false ends that text.
  std::function<bool(std::size_t, std::int64_t)> on_token{};
};

/// The tokens that follow each of several prompts, which may be of different lengths; no more than the model has
/// positions for.  Each has a Sampler of its own.  ValueError without prompts, for an empty one, and for one that is
/// too long.
inline std::vector<std::vector<std::int64_t>> generate(const LlamaForCausalLM& net,
                                                       const std::vector<std::vector<std::int64_t>>& prompts,
                                                       const GenerateOptions& o) {
  const minnow::NoGradGuard no_grad;
  const minnow::Device device = net.model.embed_tokens.device();
  std::size_t longest = 0, shortest = std::numeric_limits<std::size_t>::max();
  for (const auto& prompt : prompts)
    longest = std::max(longest, prompt.size()), shortest = std::min(shortest, prompt.size());
  if (longest == 0 || shortest == 0) throw minnow::ValueError("generate: a prompt is empty\ngive one token or more");
  // Short prompts begin later, so that all end together.
  std::vector<std::int64_t> rows, padding;
  for (const auto& prompt : prompts) {
    padding.push_back(static_cast<std::int64_t>(longest - prompt.size()));
    rows.insert(rows.end(), longest - prompt.size(), prompt[0]);
    rows.insert(rows.end(), prompt.begin(), prompt.end());
  }
  const auto count = static_cast<std::int64_t>(prompts.size());
  const auto longest_prompt = static_cast<std::int64_t>(longest);
  const std::int64_t most =
      std::min(o.max_new_tokens, std::max<std::int64_t>(1, net.model.max_positions() - longest_prompt + 1));
  LlamaCache cache(longest_prompt + most, longest > shortest ? minnow::tensor(padding, device) : Tensor());
  std::vector<llm::Sampler> samplers;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    llm::SamplerOptions own = o.sampling;
    own.seed += i;
    samplers.emplace_back(own);
  }
  std::vector<std::vector<std::int64_t>> seen = prompts, written(prompts.size());
  std::vector<bool> ended(prompts.size());
  std::vector<std::int64_t> last(prompts.size());
  Tensor next = minnow::tensor(rows, device).view({count, -1});
  for (std::int64_t step = 0; step < most; ++step) {
    const Tensor logits = net(next, cache).to(minnow::float32).cpu().contiguous();
    const std::int64_t tokens = logits.size(1);
    bool any = false;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (ended[i]) continue;
      const float* const row = logits.data<float>() + static_cast<std::int64_t>(i) * tokens;
      last[i] = samplers[i].next({row, static_cast<std::size_t>(tokens)}, seen[i]);
      ended[i] = std::find(o.stops.begin(), o.stops.end(), last[i]) != o.stops.end();
      if (ended[i]) continue;
      seen[i].push_back(last[i]);
      written[i].push_back(last[i]);
      ended[i] = o.on_token && !o.on_token(i, last[i]);
      any = any || !ended[i];
    }
    if (!any) break;
    next = minnow::tensor(last, device).view({count, 1});
  }
  return written;
}

/// A model of a checkpoint, whose memory it takes over.
inline LlamaForCausalLM load_llama(llm::Checkpoint&& checkpoint) {
  LlamaForCausalLM net = [&] {
    const llm::Uninitialized guard;
    return LlamaForCausalLM(checkpoint.config);
  }();
  minnow::StateDict weights;
  for (auto& [name, tensor] : checkpoint.weights) {
    if (tensor.dtype() != minnow::uint8) {
      weights.set(name, tensor);
      continue;
    }
    const std::string layer = name.substr(0, name.rfind('.'));  // in blocks
    if (layer == "model.embed_tokens") {
      nn::replace(net.model.embed_tokens, llm::Embedding(tensor, checkpoint.config.hidden_size));
    } else {
      auto& linear = net.get_submodule<llm::Linear>(layer);
      nn::replace(linear, llm::Linear(tensor, linear.in_features(), linear.bias));
    }
    weights.set(layer + ".blocks", tensor);
  }
  checkpoint.weights = {};
  for (const auto& [name, parameter] : net.named_parameters()) {
    const Tensor* const value = weights.find(name);
    if (value == nullptr || !value->is_floating_point() || value->shape() != parameter.shape()) continue;  // is refused
    const Tensor own = value->to(parameter.dtype());  // one after the other, so that few are there twice
    parameter.set_data(own);
    weights.set(name, own);
  }
  if (net.lm_head.weight.defined() && net.lm_head.weight.is_same(net.model.embed_tokens.weight)) {
    net.lm_head.weight.set_data(net.model.embed_tokens.weight);  // each of both has a handle of its own
    if (const Tensor* const head = weights.find("lm_head.weight");
        head != nullptr && head->shape() == net.lm_head.weight.shape())
      weights.set("lm_head.weight", net.model.embed_tokens.weight);
  }
  net.load_state_dict(weights, {.convert = true});
  return net;
}
/// One that the checkpoint keeps its own memory beside.
inline LlamaForCausalLM load_llama(const llm::Checkpoint& checkpoint) {
  llm::Checkpoint copy = checkpoint;
  copy.weights = {};
  for (const auto& [name, tensor] : checkpoint.weights) copy.weights.set(name, tensor.clone());
  return load_llama(std::move(copy));
}

}  // namespace models
