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
             bool amp, const std::string& folder, Device device) {
  constexpr std::int64_t kBatch = 16, kEpoch = 50;  // steps
  TextPieces pieces{text, length + 1, {}};
  for (std::int64_t at = 0; at + length < text.numel(); ++at) pieces.starts.push_back(at);
  if (pieces.size() == 0) throw ValueError("--text: the text is too short\ngive one of 65 letters or more");
  const std::vector<double> equal(pieces.starts.size(), 1.0);
  data::DataLoader loader(pieces, data::WeightedRandomSampler(equal, kBatch * kEpoch),
                          {.batch_size = kBatch, .device = device});
  optim::AdamW adamw(net.named_parameters(), [&](const std::string&, const Tensor& p) {
    return optim::AdamWOptions{.lr = lr, .weight_decay = p.dim() < 2 ? 0 : 0.1};  // none for biases and norms
  });
  optim::OneCycleLR schedule(adamw, {.max_lr = lr, .total_steps = steps, .pct_start = 0.1});
  metrics::Accuracy right;  // of an epoch
  training::Run run(folder, {.epochs = steps / kEpoch, .watch = "train/accuracy", .best = training::Best::max});
  run.add("model", net).add("adamw", adamw).add("schedule", schedule).add("train", loader).add("right", right);
  for (auto epoch : run.epochs()) {
    if (loader.position().batch == 0) right.reset();
    auto bar = progress(epoch.batches(loader));
    for (auto& rows : bar) {
      const Tensor target = rows(all, slice(1)).flatten();
      Tensor scores, loss;
      {
        const Autocast guard(bfloat16, {.enabled = amp});
        scores = net(rows(all, slice(0, -1))).flatten(0, 1);
        loss = nn::cross_entropy(scores, target);
      }
      adamw.zero_grad();
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 1);
      adamw.step();
      schedule.step();
      right.update(scores, target);
      epoch.log("train/loss", loss);
      bar.show("loss", loss);
    }
    epoch.log("train/accuracy", right.value());
    if (!interrupted())
      std::printf("step %lld: %.0f %% of the next letters\n", static_cast<long long>(run.step()), 100 * right.value());
  }
  if (interrupted()) throw EndOfProgram{128 + interrupted()};
  return 100 * run.best_value();
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, prompt = "Shall I ", weights, vocabulary, merges, numbers = "0", folder;
  std::int64_t steps = 300, count = 200, heads = 0;
  double lr = 3e-3, temperature = 0.5;
  models::GPT2Options options{
      .vocab_size = Text::kTokens, .n_positions = 64, .n_embd = 64, .n_layer = 2, .n_head = 4, .dropout = 0};
  Program program("Trains a small GPT-2 on a text and lets it write, or continues with Hugging Face's weights.");
  program.option("--text", path, "a text file (default: three sonnets)");
  program.option("--steps", steps, "training steps, in epochs of 50", 50);
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
  program.option("--run", folder, "folder of the run, in which it is saved and goes on where it was; empty: none");
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
    const double right = train(net, Text(path).tokens(), steps, options.n_positions, lr, amp, folder, device);
    net.eval();
    const Tensor begin = Text::encode(prompt).to(device).unsqueeze(0);
    std::printf("\n%s\n", Text::decode(net.generate(begin, count, temperature)).c_str());
    return right;
  });
}
