// GPT-2: trains a small one on a text and lets it write, or continues with Hugging Face's weights:
//     ./run gpt --text FILE
//     ./run gpt --weights model.safetensors --vocab vocab.json --merges merges.txt --prompt "The dog is"
//     ./run gpt --weights model.safetensors --tokens 464,3290,318
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <minnow/minnow.h>
#include <minnow/text/text.h>

#include "models/gpt2.h"
#include "support/program.h"
#include "support/saved_run.h"
#include "support/text.h"

using namespace minnow;

namespace {

/// The tokenizer of a vocabulary file; none without a file.
std::optional<text::BpeTokenizer> tokenizer_of(const std::string& vocabulary, std::string merges) {
  if (vocabulary.empty()) return {};
  if (merges.empty()) merges = (std::filesystem::path(vocabulary).parent_path() / "merges.txt").string();
  return text::BpeTokenizer(vocabulary, merges);
}

/// Returns the part of the next letters that the network knows, in percent.
double train(models::GPT2LMHeadModel& net, const Tensor& text, std::int64_t steps, std::int64_t length, double lr,
             bool amp, SavedRun& saved) {
  optim::AdamW adamw(net.named_parameters(), [&](const std::string&, const Tensor& p) {
    return optim::AdamWOptions{.lr = lr, .weight_decay = p.dim() < 2 ? 0 : 0.1};  // none for biases and norms
  });
  optim::OneCycleLR schedule(adamw, {.max_lr = lr, .total_steps = steps, .pct_start = 0.1});
  double right = 0;
  std::int64_t step = 0;
  saved.add("model", net).add("adamw", adamw).add("schedule", schedule).add("step", step).add("right", right).begin();
  while (step < steps) {
    ++step;
    const Tensor begin = randint(0, text.numel() - length, {16, 1}, {.device = text.device()});
    const Tensor rows = text(begin + arange(length + 1, {.device = text.device()}));
    const Tensor target = rows(all, slice(1));
    Tensor logits, loss;
    {
      const Autocast guard(bfloat16, {.enabled = amp});
      logits = net(rows(all, slice(0, -1)));
      loss = nn::cross_entropy(logits.flatten(0, 1), target.flatten());
    }
    adamw.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1);
    adamw.step();
    schedule.step();
    saved.step();
    if (step % 50 != 0) continue;
    right = 100 * mean((argmax(logits, -1) == target).to(float32)).item();
    std::printf("step %lld: loss %.3f, %.0f %% of the next letters\n", static_cast<long long>(step), loss.item(),
                right);
  }
  saved.save();
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, prompt = "Shall I ", weights, vocabulary, merges, numbers = "0";
  std::int64_t steps = 300, count = 200, heads = 0;
  double lr = 3e-3, temperature = 0.5;
  models::GPT2Options options{
      .vocab_size = Text::kTokens, .n_positions = 64, .n_embd = 64, .n_layer = 2, .n_head = 4, .dropout = 0};
  Program program("Trains a small GPT-2 on a text and lets it write, or continues with Hugging Face's weights.");
  program.option("--text", path, "a text file (default: three sonnets)");
  program.option("--steps", steps, "training steps", 1);
  program.option("--layers", options.n_layer, "of the network", 1);
  program.option("--width", options.n_embd, "of the network; a multiple of 4", 4);
  program.option("--lr", lr, "AdamW's highest learning rate");
  program.prompt("--prompt", prompt, "what the written text begins with");
  program.option("--count", count, "letters or tokens that are written");
  program.option("--temperature", temperature, "below 1: more probable letters; 0: the most probable");
  program.option("--weights", weights, "safetensors file of Hugging Face's GPT2LMHeadModel; nothing is trained");
  program.option("--tokens", numbers, "with --weights: numbers of the tokens to continue, e.g. 464,3290,318");
  program.option("--vocab", vocabulary, "with --weights: the tokens (vocab.json), for --prompt instead of --tokens");
  program.option("--merges", merges, "the merges of the tokens (default: merges.txt beside --vocab)");
  program.option("--heads", heads, "with --weights: heads (0: one for each 64 of the width)");
  bool amp = false;
  program.flag("--amp", amp, "mixed precision: bfloat16 under an Autocast guard");
  SavedRun saved(program);
  return program.run(argc, argv, [&](Device device) {
    if (!weights.empty()) {
      models::GPT2LMHeadModel net = models::load_gpt2(weights, heads);
      net.to(device).eval();
      const std::optional<text::BpeTokenizer> tokenizer = tokenizer_of(vocabulary, merges);
      std::vector<std::int64_t> tokens;
      if (tokenizer) tokens = tokenizer->encode(prompt);
      std::istringstream list(tokenizer ? "" : numbers);
      for (std::string number; std::getline(list, number, ',');) tokens.push_back(std::stoll(number));
      if (tokens.empty()) throw ValueError("--prompt: there are no tokens\ngive a text to continue");
      tokens = net.generate(tensor(tokens, device).unsqueeze(0), count, temperature).to_vector<std::int64_t>();
      if (tokenizer) std::printf("%s\n", tokenizer->decode(tokens).c_str());
      for (const std::int64_t token : tokenizer ? std::vector<std::int64_t>() : tokens)
        std::printf("%lld ", static_cast<long long>(token));
      if (!tokenizer) std::printf("\n");
      return 0.0;
    }
    models::GPT2LMHeadModel net(options);
    net.to(device);
    const double right = train(net, Text(path).tokens().to(device), steps, options.n_positions, lr, amp, saved);
    net.eval();
    const Tensor begin = Text::encode(prompt).to(device).unsqueeze(0);
    std::printf("\n%s\n", Text::decode(net.generate(begin, count, temperature)).c_str());
    return right;
  });
}
