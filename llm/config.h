#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <minnow/llm/gguf.h>
#include <minnow/ops/products/rope.h>
#include <minnow/tensor/source_location.h>

namespace minnow::llm {

/// The sizes of a Llama (Touvron et al. 2023), or of a model of that form (Qwen2, Mistral without a window), with the
/// names of Hugging Face's config.json.  The defaults are those of SmolLM2-135M.
struct LlamaConfig {
  std::int64_t vocab_size = 49152, hidden_size = 576, intermediate_size = 1536, num_hidden_layers = 30;
  std::int64_t num_attention_heads = 9, num_key_value_heads = 3, head_dim = 64, max_position_embeddings = 8192;
  double rms_norm_eps = 1e-5;
  RopeOptions rope = {.theta = 100000};
  bool tie_word_embeddings = true;
  bool qkv_bias = false, o_bias = false, mlp_bias = false;  ///< Qwen2 has the first
  std::vector<std::int64_t> eos_token_id = {};              ///< tokens that end a text
};

/// ValueError unless all sizes are positive, num_key_value_heads divides num_attention_heads, head_dim is even, and
/// rms_norm_eps is 0 or more.
void check(const LlamaConfig& config, SourceLocation where = SourceLocation::current());

/// Reads a config.json of Hugging Face's with the model_type llama, mistral or qwen2.  FormatError, with what was
/// found, for another type, for an activation, scaling or window that these models here do not have, and for what is no
/// such file; IoError.
LlamaConfig read_config(const std::string& path, SourceLocation where = SourceLocation::current());

/// That of a GGUF file with the architecture llama or qwen2.  FormatError as above.
LlamaConfig read_config(const GgufFile& file, SourceLocation where = SourceLocation::current());

}  // namespace minnow::llm
