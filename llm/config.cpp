#include <minnow/llm/config.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string_view>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::llm {
namespace {

using io::detail::JsonReader;
using io::detail::Refusal;

constexpr std::uint64_t kMostBytes = 1 << 20;  // a config.json has a few KB

void require(bool holds, const std::string& found, const char* expected) {
  if (!holds) throw Refusal{found, expected};
}

/// rope_scaling, or rope_parameters, which has the theta too.
void read_rope(JsonReader& json, RopeOptions& rope) {
  std::string type = "default";
  RopeOptions scaled = rope;
  json.object("an object", [&](const std::string& name) {
    if (name == "rope_type" || name == "type") type = json.string("a text");
    else if (name == "rope_theta") scaled.theta = json.number("a number");
    else if (name == "factor") scaled.factor = json.number("a number");
    else if (name == "low_freq_factor") scaled.low_freq_factor = json.number("a number");
    else if (name == "high_freq_factor") scaled.high_freq_factor = json.number("a number");
    else if (name == "original_max_position_embeddings")
      scaled.original_max_position_embeddings = json.integer("an integer");
    else json.skip_value();
  });
  require(type == "default" || type == "llama3", "the rope_type '" + type + "'", "'default' or 'llama3'");
  rope.theta = scaled.theta;
  if (type == "llama3") rope = scaled;
}

/// One token or several.
std::vector<std::int64_t> read_tokens(JsonReader& json) {
  std::vector<std::int64_t> tokens;
  if (json.accept_null()) return tokens;
  const auto one = [&] { tokens.push_back(json.integer("the number of a token")); };
  json.peek() == '[' ? json.array("tokens", one) : one();
  return tokens;
}

LlamaConfig parse(JsonReader& json) {
  LlamaConfig c{
      .num_key_value_heads = 0, .head_dim = 0, .rms_norm_eps = 1e-6, .rope = {}, .tie_word_embeddings = false};
  std::string type, activation = "silu";
  bool attention_bias = false, window = false;
  const std::pair<std::string_view, std::int64_t*> sizes[] = {
      {"vocab_size", &c.vocab_size},
      {"hidden_size", &c.hidden_size},
      {"intermediate_size", &c.intermediate_size},
      {"num_hidden_layers", &c.num_hidden_layers},
      {"num_attention_heads", &c.num_attention_heads},
      {"num_key_value_heads", &c.num_key_value_heads},
      {"head_dim", &c.head_dim},
      {"max_position_embeddings", &c.max_position_embeddings},
  };
  std::size_t found = 0;
  json.object("an object", [&](const std::string& name) {
    const auto* const size =
        std::find_if(std::begin(sizes), std::end(sizes), [&](const auto& s) { return s.first == name; });
    if (size != std::end(sizes)) {
      if (!json.accept_null()) *size->second = json.integer("a size"), found |= 1U << (size - std::begin(sizes));
    } else if (name == "model_type") type = json.string("a text");
    else if (name == "hidden_act") activation = json.string("a text");
    else if (name == "rms_norm_eps") c.rms_norm_eps = json.number("a number");
    else if (name == "rope_theta") c.rope.theta = json.number("a number");
    else if (name == "tie_word_embeddings") c.tie_word_embeddings = json.boolean("true or false");
    else if (name == "attention_bias") attention_bias = json.boolean("true or false");
    else if (name == "mlp_bias") c.mlp_bias = json.boolean("true or false");
    else if (name == "use_sliding_window") window = json.boolean("true or false");
    else if (name == "sliding_window" && type == "mistral") window = !json.accept_null() && (json.skip_value(), true);
    else if (name == "eos_token_id") c.eos_token_id = read_tokens(json);
    else if ((name == "rope_scaling" || name == "rope_parameters") && json.peek() == '{') read_rope(json, c.rope);
    else json.skip_value();
  });
  json.end();
  require(type == "llama" || type == "mistral" || type == "qwen2", "the model_type '" + type + "'",
          "'llama', 'mistral' or 'qwen2'");
  require(activation == "silu", "the hidden_act '" + activation + "'", "'silu'");
  require(!window, "a window of attention", "none (use_sliding_window, sliding_window)");
  require((found & 0x1fU) == 0x1fU, "no sizes of the model",
          "vocab_size, hidden_size, intermediate_size, num_hidden_layers and num_attention_heads");
  if (c.num_key_value_heads == 0) c.num_key_value_heads = c.num_attention_heads;
  if (c.head_dim == 0 && c.num_attention_heads > 0) c.head_dim = c.hidden_size / c.num_attention_heads;
  c.qkv_bias = attention_bias || type == "qwen2";
  c.o_bias = attention_bias;
  return c;
}

/// Of Llama 3's scaling GGUF files have the results alone: by what each frequency is divided.
void read_scaling(const GgufFile& file, LlamaConfig& c) {
  constexpr const char* kName = "rope_freqs.weight";
  if (file.find(kName) == nullptr) return;
  const std::vector<float> divisors = file.load(kName).to(DType::float32).to_vector<float>();
  c.rope.factor = divisors.empty() ? 0 : static_cast<double>(*std::max_element(divisors.begin(), divisors.end()));
  require(std::ssize(divisors) == c.head_dim / 2 && c.rope.factor >= 1, "other rope_freqs.weight",
          "head_dim / 2 numbers");
  // Sines at a position where all angles are below 1.
  RopeOptions plain = c.rope;
  plain.factor = 1;
  const auto angles = [&](const RopeOptions& o) {
    const Tensor sines = rope_table(full({1}, 0.5), c.head_dim, o)[0].narrow(0, c.head_dim / 2, c.head_dim / 2);
    return asin(sines.to(DType::float64)).to_vector<double>();
  };
  const std::vector<double> scaled = angles(c.rope), unscaled = angles(plain);
  for (std::size_t i = 0; i < divisors.size(); ++i)
    require(std::abs(unscaled[i] / scaled[i] / static_cast<double>(divisors[i]) - 1) < 1e-3,
            "rope_freqs.weight of another scaling", "Llama 3's, of 8192 positions and factors 1 and 4");
}

template <class Read> LlamaConfig checked(const char* op, const std::string& path, SourceLocation where, Read read) {
  const CallSite site(op, where);
  try {
    const LlamaConfig config = read();
    check(config, where);
    return config;
  } catch (const Refusal& refusal) {
    throw FormatError(fmt::format("{}: '{}': found {}\n  expected  {}", op, path, refusal.found, refusal.expected),
                      where);
  } catch (const ValueError& error) {
    throw FormatError(fmt::format("{}: '{}': found sizes that do not fit\n  {}", op, path, error.what()), where);
  }
}

}  // namespace

void check(const LlamaConfig& c, SourceLocation where) {
  const std::int64_t sizes[] = {
      c.vocab_size,          c.hidden_size,         c.intermediate_size, c.num_hidden_layers,
      c.num_attention_heads, c.num_key_value_heads, c.head_dim,          c.max_position_embeddings};
  constexpr std::int64_t kMost = 1 << 30;
  const bool fits = std::all_of(std::begin(sizes), std::end(sizes), [](auto n) { return n > 0 && n < kMost; });
  if (!fits || c.num_attention_heads % c.num_key_value_heads != 0 || c.head_dim % 2 != 0 || !(c.rms_norm_eps >= 0))
    throw ValueError(
        fmt::format("LlamaConfig: vocab {}, hidden {}, intermediate {}, layers {}, heads {} of {}, head_dim {}, "
                    "positions {}, eps {}\nsizes are positive, num_key_value_heads divides num_attention_heads, "
                    "head_dim is even",
                    c.vocab_size, c.hidden_size, c.intermediate_size, c.num_hidden_layers, c.num_attention_heads,
                    c.num_key_value_heads, c.head_dim, c.max_position_embeddings, c.rms_norm_eps),
        where);
}

LlamaConfig read_config(const std::string& path, SourceLocation where) {
  return checked("read_config", path, where, [&] {
    const io::InputFile file("read_config", path, where);
    require(file.size() <= kMostBytes, fmt::format("{} bytes", file.size()), "a config.json of at most 1 MiB");
    std::string text(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    require(io::detail::is_utf8(text), "bytes that are not UTF-8", "JSON");
    JsonReader json(text);
    return parse(json);
  });
}

LlamaConfig read_config(const GgufFile& file, SourceLocation where) {
  return checked("read_config", file.path(), where, [&] {
    const std::string& type = file.text("general.architecture", where);
    require(type == "llama" || type == "qwen2", "the architecture '" + type + "'", "'llama' or 'qwen2'");
    const auto size = [&](const char* key) { return file.integer(type + key, where); };
    LlamaConfig c{.hidden_size = size(".embedding_length"),
                  .intermediate_size = size(".feed_forward_length"),
                  .num_hidden_layers = size(".block_count"),
                  .num_attention_heads = size(".attention.head_count"),
                  .max_position_embeddings = size(".context_length"),
                  .rms_norm_eps = file.number(type + ".attention.layer_norm_rms_epsilon", where),
                  .rope = {},
                  .tie_word_embeddings = file.find("output.weight") == nullptr,
                  .qkv_bias = file.find("blk.0.attn_q.bias") != nullptr};
    const auto optional = [&](const char* key, std::int64_t otherwise) {
      return file.has(type + key) ? size(key) : otherwise;
    };
    c.num_key_value_heads = optional(".attention.head_count_kv", c.num_attention_heads);
    require(c.num_attention_heads > 0, "no heads", "one or more");
    c.head_dim = optional(".attention.key_length", c.hidden_size / c.num_attention_heads);
    require(optional(".rope.dimension_count", c.head_dim) == c.head_dim &&
                optional(".attention.value_length", c.head_dim) == c.head_dim,
            "heads that are turned in part", "rope.dimension_count and attention.value_length as the width of a head");
    const GgufTensor* const embedding = file.find("token_embd.weight");
    require(embedding != nullptr && embedding->shape.rank() == 2, "no token_embd.weight", "a matrix");
    c.vocab_size = embedding->shape[0];
    if (file.has(type + ".rope.freq_base")) c.rope.theta = file.number(type + ".rope.freq_base", where);
    if (file.has(type + ".rope.scaling.type")) {
      const std::string& scaling = file.text(type + ".rope.scaling.type", where);
      require(scaling == "none", "the rope.scaling.type '" + scaling + "'", "'none'");
    }
    if (file.has("tokenizer.ggml.eos_token_id")) c.eos_token_id = {file.integer("tokenizer.ggml.eos_token_id", where)};
    check(c, where);
    read_scaling(file, c);
    return c;
  });
}

}  // namespace minnow::llm
