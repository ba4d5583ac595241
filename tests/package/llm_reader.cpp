// What SmolLM2-135M-Instruct writes, beside what transformers wrote (tests/golden/make_llm.py).
//     llm_reader MODEL GOLDEN WEIGHTS
#include <cmath>
#include <cstdio>
#include <string>
#include <minnow/minnow.h>

#include "models/llama.h"
#include "support/chat.h"

using namespace minnow;

namespace {

int faults = 0;

void expect(bool is_so, const std::string& what) {
  if (is_so) return;
  ++faults;
  std::printf("%s differ\n", what.c_str());
}

std::string text_of(const Tensor& bytes) {
  return {reinterpret_cast<const char*>(bytes.data<std::uint8_t>()), static_cast<std::size_t>(bytes.numel())};
}
std::vector<std::int64_t> tokens_of(const Tensor& t) {
  return {t.data<std::int64_t>(), t.data<std::int64_t>() + t.numel()};
}

}  // namespace

int main(int, char** arguments) {
  const std::string path = arguments[1], weights = arguments[3];
  const StateDict golden = load(arguments[2]);
  llm::Checkpoint checkpoint = llm::load_checkpoint(path, weights == "file");
  const Tongue tongue = tongue_of(checkpoint, path);
  models::LlamaForCausalLM net = models::load_llama(std::move(checkpoint));
  const NoGradGuard no_grad;
  double far = 0;
  for (int i = 0; golden.contains(std::to_string(i) + "/text"); ++i) {
    const std::string name = std::to_string(i);
    const std::vector<text::ChatMessage> chat = {{"user", text_of(golden.at(name + "/text"))}};
    const std::vector<std::int64_t> tokens = tongue.chat->encode(tongue.tokenizer, chat, true).tokens,
                                    greedy = tokens_of(golden.at(name + "/greedy"));
    expect(tokens == tokens_of(golden.at(name + "/tokens")), "prompt " + name + ": its tokens");
    const auto written = models::generate(net, {tokens}, {.max_new_tokens = static_cast<std::int64_t>(greedy.size())});
    expect(written[0] == greedy, "prompt " + name + ": the tokens written");
    const Tensor logits = net(tensor(tokens).unsqueeze(0))(0, -1, slice(0, kToEnd, 64));
    far = std::max(far, amax(abs(logits - golden.at(name + "/logits"))).item<double>());
  }
  const std::vector<std::int64_t> passage = tongue.tokenizer.encode(text_of(golden.at("passage/text")));
  expect(passage == tokens_of(golden.at("passage/tokens")), "the passage: its tokens");
  const Tensor ids = tensor(passage), logits = net(ids.unsqueeze(0))(0, slice(0, -1));
  const double loss = nn::cross_entropy(logits, ids(slice(1))).item<double>();
  const double ratio = std::exp(loss - golden.at("passage/loss").item<double>());
  expect(far < 2e-3, "logits");
  expect(std::abs(ratio - 1) < 1e-4, "perplexities");
  std::printf("%s: logits differ by %.1e at most, the perplexity by %.1e of it\n", weights.c_str(), far,
              std::abs(ratio - 1));
  return faults == 0 ? 0 : 1;
}
