#include <minnow/llm/checkpoint.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <minnow/llm/detail/blocks.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/load.h>

namespace minnow::llm {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr Names kWhole[] = {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Names kOfBlocks[] = {{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"},
                               {"attn_q", "self_attn.q_proj"},   {"attn_k", "self_attn.k_proj"},
                               {"attn_v", "self_attn.v_proj"},   {"attn_output", "self_attn.o_proj"},
                               {"ffn_gate", "mlp.gate_proj"},    {"ffn_up", "mlp.up_proj"},
                               {"ffn_down", "mlp.down_proj"}};

/// Hugging Face's name of "blk.3.attn_q.weight"; empty if there is none.
std::string name_of(std::string_view gguf) {
  const std::size_t dot = gguf.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view end = gguf.substr(dot);
  std::string_view stem = gguf.substr(0, dot);
  if (end != ".weight" && end != ".bias") return {};
  for (const auto& [from, to] : kWhole)
    if (stem == from) return fmt::format("{}{}", to, end);
  if (!stem.starts_with("blk.")) return {};
  stem.remove_prefix(4);
  const std::size_t second = stem.find('.');
  if (second == std::string_view::npos) return {};
  for (const auto& [from, to] : kOfBlocks)
    if (stem.substr(second + 1) == from) return fmt::format("model.layers.{}.{}{}", stem.substr(0, second), to, end);
  return {};
}

/// llama.cpp turns neighbours where Hugging Face turns halves: it has rows 0, E/2, 1, E/2 + 1, ... of each head.
Tensor put_back(const Tensor& w, std::int64_t head_dim) {
  if (w.size(0) % head_dim != 0) return w;  // load_state_dict() refuses the shape
  const Shape shape = w.shape();
  const Tensor pairs = w.reshape({w.size(0) / head_dim, head_dim / 2, 2, -1});
  return pairs.transpose(1, 2).contiguous().view(shape);
}

Checkpoint from_gguf(const std::string& path, bool keep_blocks, SourceLocation where) {
  const GgufFile file(path, where);
  Checkpoint result{read_config(file, where), {}, file};
  const bool permuted = file.text("general.architecture", where) == "llama";
  for (const GgufTensor& info : file.tensors()) {
    if (info.name == "rope_freqs.weight") continue;  // is in the config
    const std::string name = name_of(info.name);
    if (name.empty())
      throw FormatError(
          fmt::format("load_checkpoint: '{}': found the tensor '{}'\n  expected  those of a Llama or Qwen2", path,
                      info.name),
          where);
    const auto blocks = [&] {
      return file.load_bytes(info.name, where)
          .view({info.shape[0], info.nbytes / std::max<std::int64_t>(1, info.shape[0])});
    };
    const bool keeps = keep_blocks && detail::has_blocks(info.type) && info.shape.rank() == 2 && info.shape[0] > 0;
    Tensor w = keeps ? blocks() : file.load(info.name, where);
    if (permuted &&
        (info.name.find(".attn_q.") != std::string::npos || info.name.find(".attn_k.") != std::string::npos))
      w = put_back(w, result.config.head_dim);
    result.weights.set(name, w);
  }
  return result;
}

Checkpoint from_folder(const std::string& path, SourceLocation where) {
  const std::filesystem::path folder = path;
  const std::string one = (folder / "model.safetensors").string(),
                    index = (folder / "model.safetensors.index.json").string();
  Checkpoint result{read_config((folder / "config.json").string(), where), {}, {}};
  for (auto& [name, tensor] : load(std::filesystem::exists(index) ? index : one, Device(), where))
    if (!name.ends_with(".rotary_emb.inv_freq")) result.weights.set(name, tensor);  // which old files have
  return result;
}

}  // namespace

Checkpoint load_checkpoint(const std::string& path, bool keep_blocks, SourceLocation where) {
  const CallSite site("load_checkpoint", where);
  std::error_code none;
  Checkpoint result =
      std::filesystem::is_directory(path, none) ? from_folder(path, where) : from_gguf(path, keep_blocks, where);
  const Tensor* const embedding = result.weights.find("model.embed_tokens.weight");
  if (result.config.tie_word_embeddings && embedding != nullptr && !result.weights.contains("lm_head.weight"))
    result.weights.set("lm_head.weight", Tensor(*embedding));
  return result;
}

}  // namespace minnow::llm
