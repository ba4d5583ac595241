// An LSTM learns a text letter by letter, and writes:  ./run char_lstm --text FILE
#include <cstdio>
#include <minnow/minnow.h>

#include "support/program.h"
#include "support/saved_run.h"
#include "support/text.h"

using namespace minnow;

namespace {

/// The states of an LSTM: {h, c}; undefined at the beginning.
using States = std::pair<Tensor, Tensor>;

struct CharLstm : nn::ModuleOf<std::pair<Tensor, States>(Tensor, States)> {
  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear out;

  explicit CharLstm(std::int64_t hidden)
      : embedding(child("embedding", nn::Embedding(Text::kTokens, 32))),
        lstm(child("lstm", nn::LSTM(32, hidden, {.batch_first = true}))),
        out(child("out", nn::Linear(hidden, Text::kTokens))) {}

  /// Letters [N, T]  ->  logits of the next ones [N, T, 256], and the states.
  std::pair<Tensor, States> forward(Tensor letters, States states) override {
    const auto [y, h, c] = lstm(embedding(letters), states.first, states.second);
    return {out(y), {h, c}};
  }
};

std::string write(const CharLstm& net, const std::string& prompt, std::int64_t length, double temperature,
                  Device device) {
  const NoGradGuard no_grad;
  std::string text = prompt;
  Tensor next = Text::encode(prompt).to(device).unsqueeze(0);
  States states;
  for (std::int64_t i = 0; i < length; ++i) {
    const auto [logits, now] = net(next, states);
    states = now;
    next = sample(logits(all, -1), temperature);
    text += Text::decode(next);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, prompt = "Shall I ";
  std::int64_t steps = 300, batch = 8, length = 40, hidden = 128, letters = 200;
  double lr = 5e-3, temperature = 0.5;
  Program program("Trains an LSTM on a text, letter by letter, and lets it write.");
  program.option("--text", path, "a text file (default: three sonnets)");
  program.option("--steps", steps, "training steps");
  program.option("--hidden", hidden, "size of the LSTM", 1);
  program.option("--lr", lr, "Adam's learning rate");
  program.prompt("--prompt", prompt, "what the written text begins with");
  program.option("--letters", letters, "that are written");
  program.option("--temperature", temperature, "below 1: more probable letters; 0: the most probable");
  SavedRun saved(program);
  return program.run(argc, argv, [&](Device device) {
    CharLstm net(hidden);
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = lr});
    // Each row of the batch reads its own part of the text, in steps of `length` letters.
    const Text text(path);
    const std::int64_t width = text.tokens().numel() / batch;
    if (width <= length) throw ValueError("--text: the text is too short\ngive one of 350 letters or more");
    const Tensor rows = text.tokens().narrow(0, 0, batch * width).view({batch, width}).to(device);
    const Tensor none = zeros({1, batch, hidden}, device);
    States states{none.clone(), none.clone()};
    double right = 0;
    std::int64_t step = 0, at = 0;
    saved.add("model", net).add("adam", adam).add("step", step).add("at", at).add("right", right);
    saved.add("h", states.first).add("c", states.second).begin();
    while (step < steps) {
      ++step;
      if (at + length >= width) {
        at = 0;
        states = {none, none};
      }
      const Tensor target = rows(all, slice(at + 1, at + length + 1));
      const auto [logits, now] = net(rows(all, slice(at, at + length)), states);
      states = {now.first.detach(), now.second.detach()};
      const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), target.flatten());
      adam.zero_grad();
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 1);
      adam.step();
      at += length;
      saved.step();
      if (step % 50 != 0) continue;
      right = 100 * mean((argmax(logits, -1) == target).to(float32)).item();
      std::printf("step %lld: loss %.3f, %.0f %% of the next letters\n", static_cast<long long>(step), loss.item(),
                  right);
    }
    saved.save();
    std::printf("\n%s\n", write(net, prompt, letters, temperature, device).c_str());
    return right;
  });
}
