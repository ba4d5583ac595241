// Fine-tunes a language model on conversations by LoRA: small matrices beside frozen weights.
//     ./run finetune --model SmolLM2-135M-Instruct.Q4_1.gguf --data chat.jsonl --output adapter
//     ./run llm --model SmolLM2-135M-Instruct.Q4_1.gguf --adapter adapter --prompt "..."
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <minnow/minnow.h>

#include "models/llama.h"
#include "support/chat.h"
#include "support/program.h"

using namespace minnow;

namespace {

using models::kIgnored;

/// What a user asks without a file.
std::vector<text::Chat> own_chats() {
  const std::pair<const char*, const char*> opposites[] = {
      {"hot", "cold"},  {"big", "small"}, {"up", "down"}, {"day", "night"},  {"wet", "dry"},    {"old", "new"},
      {"fast", "slow"}, {"soft", "hard"}, {"in", "out"},  {"left", "right"}, {"full", "empty"}, {"early", "late"}};
  std::vector<text::Chat> chats;
  for (const auto& [a, b] : opposites)
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      chats.push_back({{"user", std::string("opposite of ") + from}, {"assistant", to}});
  return chats;
}

/// Conversations one behind the other in rows of the same length: tokens and targets, int64 [rows, length] each.  Of
/// the targets those that an assistant writes count.
data::TensorDataset<2> pack(const std::vector<text::Chat>& chats, const Tongue& tongue, std::int64_t length) {
  const std::int64_t end = tongue.chat->end(tongue.tokenizer);
  std::vector<std::int64_t> tokens, targets, row, row_targets;
  const auto finish = [&] {
    if (std::all_of(row_targets.begin(), row_targets.end(), [](std::int64_t t) { return t == kIgnored; })) {
      row.clear(), row_targets.clear();  // its answer was cut off: nothing to learn
      return;
    }
    row.resize(static_cast<std::size_t>(length), end);
    row_targets.resize(static_cast<std::size_t>(length), kIgnored);
    tokens.insert(tokens.end(), row.begin(), row.end());
    targets.insert(targets.end(), row_targets.begin(), row_targets.end());
    row.clear(), row_targets.clear();
  };
  for (const text::Chat& chat : chats) {
    const text::ChatTokens all = tongue.chat->encode(tongue.tokenizer, chat, false);
    const auto count = static_cast<std::int64_t>(all.tokens.size()) - 1;
    if (!row.empty() && std::ssize(row) + count > length) finish();
    for (std::int64_t i = 0; i < std::min(count, length); ++i) {
      const auto at = static_cast<std::size_t>(i);
      row.push_back(all.tokens[at]);
      row_targets.push_back(all.answers[at + 1] ? all.tokens[at + 1] : kIgnored);
    }
  }
  if (!row.empty()) finish();
  if (tokens.empty())
    throw ValueError("--data: of " + std::to_string(chats.size()) +
                     " conversations none has an answer within --length " + std::to_string(length) +
                     " tokens\ngive messages of the role 'assistant', or a larger --length");
  return {tensor(tokens).view({-1, length}), tensor(targets).view({-1, length})};
}

struct Options {
  std::int64_t epochs = 2, batch = 8, pieces = 1, length = 256;
  double lr = 2e-4;
  bool amp = false;
  std::string run;
};

/// Trains `parts`, net's or an adapter's.  Returns the percentage of the answers' tokens that are right.
double train(models::LlamaForCausalLM& net, nn::Module& parts, const Tongue& tongue,
             const std::vector<text::Chat>& chats, const Options& o, Device device) {
  constexpr std::size_t kFew = 50;
  std::vector<text::Chat> held, kept;  // a tenth is for the evaluation; a few are learned by heart
  for (std::size_t i = 0; i < chats.size(); ++i) (i % 10 == 9 ? held : kept).push_back(chats[i]);
  if (chats.size() < kFew) held = kept = chats;
  data::DataLoader loader(pack(kept, tongue, o.length), {.batch_size = o.batch, .shuffle = true, .device = device});
  data::DataLoader valid(pack(held, tongue, o.length), {.batch_size = o.batch, .device = device});
  optim::AdamW adamw(parts.parameters(), {.lr = o.lr, .weight_decay = 0});
  optim::OneCycleLR schedule(adamw, {.max_lr = o.lr, .total_steps = o.epochs * std::ssize(loader), .pct_start = 0.1});
  training::Run run(o.run, {.epochs = o.epochs});
  run.add("weights", parts).add("adamw", adamw).add("schedule", schedule).add("train", loader);
  double score = 0;
  for (auto epoch : run.epochs()) {
    net.train();
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t seen = 0;
    auto bar = progress(epoch.batches(loader));
    for (auto& [tokens, targets] : bar) {
      adamw.zero_grad();
      const Tensor total = sum(targets != kIgnored).to(float32);
      Tensor loss = zeros({}, {.device = device});
      const std::int64_t each = (tokens.size(0) + o.pieces - 1) / o.pieces;
      for (std::int64_t at = 0; at < tokens.size(0); at += each) {  // gradients of the pieces are added
        const std::int64_t rows = std::min(each, tokens.size(0) - at);
        Tensor part;
        {
          const Autocast guard(bfloat16, {.enabled = o.amp});
          const auto [logits, right] = models::answers(net, tokens.narrow(0, at, rows), targets.narrow(0, at, rows));
          part = nn::cross_entropy(logits, right, {.reduction = nn::Reduction::sum}) / total;
        }
        part.backward();
        loss = loss + part.detach();
      }
      optim::clip_grad_norm_(parts.parameters(), 1);
      adamw.step();
      schedule.step();
      seen += tokens.numel();
      epoch.log("train/loss", loss);
      bar.show("loss", loss);
    }
    if (interrupted()) throw EndOfProgram{128 + interrupted()};
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    net.eval();
    const NoGradGuard no_grad;
    metrics::Accuracy right;
    metrics::Mean loss;
    for (auto& [tokens, targets] : epoch.batches_without_steps(valid)) {
      const auto [logits, wanted] = models::answers(net, tokens, targets);
      right.update(logits, wanted);
      loss.update(nn::cross_entropy(logits, wanted), static_cast<double>(wanted.size(0)));
    }
    score = 100 * right.value();
    epoch.log("valid/loss", loss.value());
    std::printf("epoch %lld: %.0f tokens/s, held out: loss %.3f, %.1f %% of the tokens right\n",
                static_cast<long long>(epoch.number() + 1), static_cast<double>(seen) / seconds, loss.value(), score);
  }
  if (interrupted()) throw EndOfProgram{128 + interrupted()};
  return score;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, file, output, weights = "float32";
  Options o;
  llm::lora::Options lora{.targets = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}};
  bool checkpoints = false;
  Program program("Fine-tunes a language model on conversations by LoRA.");
  program.option("--model", path, "a GGUF file, or a folder of Hugging Face's (default: a small one, trained whole)");
  program.option("--data", file,
                 "a file of conversations, one {\"messages\": [...]} a line (default: a few of our own)");
  program.option("--output", output, "folder for the adapter, in PEFT's form");
  program.choice("--weights", weights, kWeights, "form of the frozen ones; file: as the GGUF file has them");
  program.option("--rank", lora.rank, "of the matrices", 1);
  program.option("--alpha", lora.alpha, "what is added is alpha / rank times their product");
  program.option("--dropout", lora.dropout, "before the matrices", 0.99);
  program.option("--epochs", o.epochs, "of training", 1);
  program.option("--batch", o.batch, "rows of tokens in a step", 1);
  program.option("--pieces", o.pieces, "into which a step's rows are split, to take less memory", 1);
  program.option("--length", o.length, "tokens in a row", 2);
  program.option("--lr", o.lr, "AdamW's highest learning rate", 1);
  program.flag("--amp", o.amp, "mixed precision: bfloat16 under an Autocast guard");
  program.flag("--checkpoints", checkpoints,
               "keep the inputs of layers alone for backward, and compute the rest again");
  program.option("--run", o.run, "folder of the run, in which it is saved and goes on where it was; empty: none");
  return program.run(argc, argv, [&](Device device) {
    const std::vector<text::Chat> chats = file.empty() ? own_chats() : text::read_chats(file);
    if (!output.empty()) std::filesystem::create_directories(output);  // before hours of training
    if (path.empty()) {
      const Tongue tongue = tongue_of_bytes();
      models::LlamaForCausalLM net(small_config(tongue));
      net.to(device);
      o.lr = std::max(o.lr, 3e-3);
      return train(net, net, tongue, chats, o, device);
    }
    llm::Checkpoint checkpoint = llm::load_checkpoint(path, weights == "file");
    const Tongue tongue = tongue_of(checkpoint, path);
    if (!tongue.chat)
      throw ValueError("--model: the model has no chat template\ngive one that was trained on conversations");
    models::LlamaForCausalLM net = models::load_llama(std::move(checkpoint));
    net.to(device);
    keep_in(weights, net);
    net.model.checkpoint_layers(checkpoints);
    llm::lora::Adapter adapter = llm::lora::attach(net, lora);
    std::printf("%lld parameters are trained, beside %s weights\n", static_cast<long long>(adapter.num_parameters()),
                weights == "file" ? "the file's" : weights.c_str());
    const double score = train(net, adapter, tongue, chats, o, device);
    if (!output.empty()) adapter.save(output, path);
    return score;
  });
}
