// A language model for benchmarks/llm.py: what it reads, writes and learns in a second.
//     llm generate MODEL WEIGHTS       then a line "READ WRITE" on stdin for each run; prints the seconds of both
//     llm finetune MODEL WEIGHTS ADAPTER DATA STEPS LR AMP CHECKPOINTS
//                                      prints loss and seconds of each step, and the peak of memory
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#include <minnow/minnow.h>

#include "models/llama.h"
#include "support/chat.h"

using namespace minnow;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

models::LlamaForCausalLM model(const std::string& path, const std::string& weights) {
  models::LlamaForCausalLM net = models::load_llama(llm::load_checkpoint(path, weights == "file"));
  keep_in(weights, net);
  return net;
}

/// Reads a text of tokens that are all different, then writes greedily.
void generate(const models::LlamaForCausalLM& net) {
  const std::int64_t vocabulary = net.lm_head.out_features();
  std::printf("ready\n");
  std::fflush(stdout);
  std::int64_t read = 0, write = 0;
  while (std::cin >> read >> write) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t i = 0; i < read; ++i) tokens.push_back((1000 + 37 * i) % vocabulary);
    double first = 0;
    const double begin = now();
    const auto see = [&](std::size_t, std::int64_t) { return first = first > 0 ? first : now(), true; };
    const auto written = models::generate(net, {tokens}, {.max_new_tokens = write + 1, .on_token = see});
    const double end = now();
    std::printf("%.6f %.6f", first - begin, end - first);
    for (const std::int64_t token : written[0]) std::printf(" %lld", static_cast<long long>(token));
    std::printf("\n");
    std::fflush(stdout);
  }
}

void finetune(models::LlamaForCausalLM& net, char** arguments) {
  llm::lora::Adapter adapter = llm::lora::load(net, arguments[0]);
  const StateDict data = load(arguments[1]);  // int64 [steps, rows, length] each
  const int steps = std::atoi(arguments[2]);
  const bool amp = std::string(arguments[4]) == "1";
  net.model.checkpoint_layers(std::string(arguments[5]) == "1");
  optim::AdamW adamw(adapter.parameters(), {.lr = std::atof(arguments[3]), .weight_decay = 0});
  net.train();
  for (int step = 0; step < steps; ++step) {
    const double begin = now();
    Tensor loss;
    {
      const Autocast guard(bfloat16, {.enabled = amp});
      const auto [logits, right] = models::answers(net, data.at("tokens")(step), data.at("targets")(step));
      loss = nn::cross_entropy(logits, right);
    }
    adamw.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(adapter.parameters(), 1);
    adamw.step();
    std::printf("%.7f %.4f\n", loss.item<double>(), now() - begin);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "llm.py runs this program\n"), 2;
  models::LlamaForCausalLM net = model(argv[2], argv[3]);
  if (std::string(argv[1]) == "generate") return generate(net), 0;
  if (argc < 10) return 2;
  finetune(net, argv + 4);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM")) std::printf("%s\n", line.c_str());
}
