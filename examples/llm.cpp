// A language model writes: Llama 3, SmolLM2, Qwen2 and others of their form, of a GGUF file or Hugging Face's folder.
//     ./run llm --model SmolLM2-135M-Instruct.Q4_1.gguf --prompt "What is a minnow?"
//     ./run llm --model FOLDER --plain --prompt "Once upon a time" --temperature 0.8 --top-p 0.95
#include <chrono>
#include <cstdio>
#include <minnow/minnow.h>

#include "models/llama.h"
#include "support/chat.h"
#include "support/program.h"

using namespace minnow;

int main(int argc, char** argv) {
  std::string path, prompt = "What is a minnow?", stop, adapter_path, weights = "float32";
  models::GenerateOptions options;
  llm::SamplerOptions& sampling = options.sampling;
  bool plain = false;
  Program program("A language model answers a question or continues a text, word by word.");
  program.option("--model", path, "a GGUF file, or a folder of Hugging Face's (default: a small random model)");
  program.prompt("--prompt", prompt, "what the model is asked, or continues");
  program.flag("--plain", plain, "continue the text; without, it is a question where the model knows conversations");
  program.option("--adapter", adapter_path, "folder of a LoRA adapter, PEFT's or that of ./run finetune");
  program.choice("--weights", weights, kWeights, "their form; file: as the GGUF file has them");
  program.option("--count", options.max_new_tokens, "tokens that are written at most", 1);
  program.option("--temperature", sampling.temperature, "0: the most probable token; below 1: more probable ones");
  program.option("--top-k", sampling.top_k, "draw from the k most probable tokens (0: all)");
  program.option("--top-p", sampling.top_p, "draw from the most probable tokens of this probability together", 1);
  program.option("--min-p", sampling.min_p, "leave out tokens below this part of the highest probability", 1);
  program.option("--repetition-penalty", sampling.repetition_penalty,
                 "above 1: tokens that were seen are less probable");
  program.option("--stop", stop, "a text at which it ends");
  return program.run(argc, argv, [&](Device device) {
    std::optional<Tongue> tongue;
    std::optional<models::LlamaForCausalLM> net;
    std::optional<llm::lora::Adapter> adapter;
    if (path.empty()) {
      tongue = tongue_of_bytes();
      net.emplace(small_config(*tongue));
    } else {
      llm::Checkpoint checkpoint = llm::load_checkpoint(path, weights == "file");
      tongue = tongue_of(checkpoint, path);
      options.stops = checkpoint.config.eos_token_id;
      net.emplace(models::load_llama(std::move(checkpoint)));
    }
    net->to(device).eval();
    const bool merged = weights == "float32" || weights == "bfloat16";  // fewer bits would round the adapter away
    if (!merged) keep_in(weights, *net);
    if (!adapter_path.empty()) adapter.emplace(llm::lora::load(*net, adapter_path));
    if (adapter && merged) adapter->merge();
    if (merged) keep_in(weights, *net);
    sampling.seed = static_cast<std::uint64_t>(randint(0, std::int64_t{1} << 40, {1}).item<std::int64_t>());

    std::vector<std::int64_t> tokens;
    if (tongue->chat && !plain) {
      tokens = tongue->chat->encode(tongue->tokenizer, std::vector<text::ChatMessage>{{"user", prompt}}, true).tokens;
      options.stops.push_back(tongue->chat->end(tongue->tokenizer));
    } else {
      if (tongue->tokenizer.bos() >= 0) tokens.push_back(tongue->tokenizer.bos());
      for (const std::int64_t token : tongue->tokenizer.encode(prompt)) tokens.push_back(token);
      std::printf("%s", prompt.c_str());
    }
    text::StreamDecoder decoder(tongue->tokenizer, stop.empty() ? std::vector<std::string>() : std::vector{stop});
    const auto clock = [] { return std::chrono::steady_clock::now(); };
    const auto begin = clock();
    auto first = begin;
    options.on_token = [&](std::size_t, std::int64_t token) {
      if (first == begin) first = clock();
      std::fputs(decoder.add(token).c_str(), stdout);
      std::fflush(stdout);
      return !decoder.stopped() && !interrupted();
    };
    const InterruptGuard guard;
    const auto written = models::generate(*net, {tokens}, options);
    const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
    const double speed =
        static_cast<double>(written[0].size() - (written[0].empty() ? 0 : 1)) / std::max(1e-9, seconds(first, clock()));
    std::printf("%s\n", decoder.end().c_str());
    std::fflush(stdout);
    std::fprintf(stderr, "%zu tokens read in %.2f s; %zu written, %.1f tokens/s\n", tokens.size(),
                 seconds(begin, first), written[0].size(), speed);
    return speed;
  });
}
