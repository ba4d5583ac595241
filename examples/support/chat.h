#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <minnow/llm/llm.h>
#include <minnow/text/text.h>

/// The tokens of a checkpoint, and how it is told conversations, if it was trained on them.
struct Tongue {
  minnow::text::BpeTokenizer tokenizer;
  std::optional<minnow::text::ChatForm> chat;
};

/// Of a GGUF file's metadata.  FormatError for tokens of another kind.
inline minnow::text::BpeTokenizer tokenizer_of(const minnow::llm::GgufFile& file) {
  using minnow::text::PreTokenizer;
  if (file.text("tokenizer.ggml.model") != "gpt2")
    throw minnow::FormatError("'" + file.path() + "': tokenizer.ggml.model is '" + file.text("tokenizer.ggml.model") +
                              "'\n  expected  'gpt2': byte-level BPE");
  const std::string& pre = file.text("tokenizer.ggml.pre");
  minnow::text::BpeVocabulary v{
      .tokens = file.texts("tokenizer.ggml.tokens"), .merges = file.texts("tokenizer.ggml.merges"), .all_bytes = false};
  if (pre == "gpt-2") v.pre = PreTokenizer::gpt2;
  else if (pre == "smollm") v.pre = PreTokenizer::smollm;
  else if (pre == "llama-bpe" || pre == "llama3" || pre == "llama-v3") v.pre = PreTokenizer::llama3;
  else if (pre == "qwen2" || pre == "deepseek-r1-qwen") v.pre = PreTokenizer::qwen2;
  else
    throw minnow::FormatError("'" + file.path() + "': tokenizer.ggml.pre is '" + pre +
                              "'\n  expected  gpt-2, smollm, llama-bpe or qwen2");
  v.ignore_merges = v.pre == PreTokenizer::llama3;
  v.nfc = v.pre == PreTokenizer::qwen2;
  constexpr std::int64_t kControl = 3, kUserDefined = 4;
  const auto& types = file.integers("tokenizer.ggml.token_type");
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i] == kControl || types[i] == kUserDefined) v.added.push_back(static_cast<std::int64_t>(i));
  const bool begins = file.has("tokenizer.ggml.add_bos_token") ? file.boolean("tokenizer.ggml.add_bos_token")
                                                               : v.pre == PreTokenizer::llama3;
  if (begins) v.bos = file.integer("tokenizer.ggml.bos_token_id");
  return minnow::text::BpeTokenizer(v);
}

/// path: that of the checkpoint.
inline Tongue tongue_of(const minnow::llm::Checkpoint& checkpoint, const std::string& path) {
  namespace text = minnow::text;
  const std::filesystem::path folder = path;
  const auto found = [&](const char* name) { return std::filesystem::exists(folder / name); };
  Tongue result{checkpoint.gguf ? tokenizer_of(*checkpoint.gguf)
                                : text::BpeTokenizer::from_json((folder / "tokenizer.json").string()),
                {}};
  std::string form;
  if (checkpoint.gguf && checkpoint.gguf->has("tokenizer.chat_template"))
    form = checkpoint.gguf->text("tokenizer.chat_template");
  for (const char* name : {"chat_template.jinja", "tokenizer_config.json"})  // the template stands in one of them
    if (!checkpoint.gguf && form.empty() && found(name)) form = text::read_text((folder / name).string());
  if (form.find("<|im_start|>") != std::string::npos || form.find("<|start_header_id|>") != std::string::npos)
    result.chat = text::ChatForm::of_template(form);
  return result;
}

/// What --weights may be.
inline const std::vector<std::string> kWeights = {"float32", "bfloat16", "q8_0", "q4_0", "q4_1", "file"};

/// Puts frozen weights of that form in the place of all linear layers'.
inline void keep_in(const std::string& form, minnow::nn::Module& net) {
  using minnow::llm::GgufType;
  if (form == "bfloat16") minnow::llm::quantize_(net, GgufType::bf16);
  if (form == "q8_0") minnow::llm::quantize_(net, GgufType::q8_0);
  if (form == "q4_0") minnow::llm::quantize_(net, GgufType::q4_0);
  if (form == "q4_1") minnow::llm::quantize_(net, GgufType::q4_1);
}

/// A small model for these tokens.
inline minnow::llm::LlamaConfig small_config(const Tongue& tongue) {
  return {.vocab_size = tongue.tokenizer.vocabulary_size(),
          .hidden_size = 64,
          .intermediate_size = 128,
          .num_hidden_layers = 2,
          .num_attention_heads = 4,
          .num_key_value_heads = 2,
          .head_dim = 16};
}

/// A tokenizer of bytes and the tokens of conversations, for models that know nothing yet.
inline Tongue tongue_of_bytes() {
  minnow::text::BpeVocabulary v;
  std::uint32_t next = 256;  // GPT-2's characters for bytes that cannot be printed
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    const std::uint32_t code = printed ? byte : next++;
    std::string token(1, static_cast<char>(code));
    if (code >= 0x80) token = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    v.tokens.push_back(token);
  }
  for (const char* added : {"<|im_start|>", "<|im_end|>"}) {
    v.added.push_back(std::ssize(v.tokens));
    v.tokens.emplace_back(added);
  }
  return {minnow::text::BpeTokenizer(v), minnow::text::ChatForm()};
}
