#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <minnow/llm/llm.h>
#include <minnow/text/text.h>

#include "models/llama.h"
#include "support/chat.h"

/// A model and its tokens.
class LanguageModel {
 public:
  LanguageModel(const std::string& path, const std::string& device)
      : LanguageModel(minnow::llm::load_checkpoint(path), path) {
    net_.to(minnow::Device(device));
  }

  /// on_text gets each part as it is written; false ends it.  ValueError for chat=True with a model that knows none.
  std::string generate(const std::string& prompt, std::int64_t max_tokens, const minnow::llm::SamplerOptions& sampling,
                       bool chat, const std::function<bool(const std::string&)>& on_text) const {
    models::GenerateOptions options{.max_new_tokens = max_tokens, .sampling = sampling, .stops = stops_};
    std::vector<std::int64_t> tokens;
    if (max_tokens < 1)
      throw minnow::ValueError("generate: max_tokens is " + std::to_string(max_tokens) + "\npass 1 or more");
    if (chat) {
      if (!tongue_.chat)
        throw minnow::ValueError("generate: this model was not trained on conversations\nleave chat=True out");
      tokens = tongue_.chat->encode(tongue_.tokenizer, std::vector<minnow::text::ChatMessage>{{"user", prompt}}, true)
                   .tokens;
      options.stops.push_back(tongue_.chat->end(tongue_.tokenizer));
    } else {
      if (tongue_.tokenizer.bos() >= 0) tokens.push_back(tongue_.tokenizer.bos());
      for (const std::int64_t token : tongue_.tokenizer.encode(prompt)) tokens.push_back(token);
    }
    minnow::text::StreamDecoder decoder(tongue_.tokenizer);
    std::string written;
    options.on_token = [&](std::size_t, std::int64_t token) {
      const std::string part = decoder.add(token);
      written += part;
      return on_text(part);
    };
    models::generate(net_, {tokens}, options);
    return written + decoder.end();
  }

 private:
  LanguageModel(minnow::llm::Checkpoint checkpoint, const std::string& path)
      : tongue_(tongue_of(checkpoint, path)),
        stops_(checkpoint.config.eos_token_id),
        net_(models::load_llama(std::move(checkpoint))) {
    net_.eval();
  }

  Tongue tongue_;
  std::vector<std::int64_t> stops_;
  models::LlamaForCausalLM net_;
};
