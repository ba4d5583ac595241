// An LSTM learns a text letter by letter, and writes:  ./run char_lstm --text FILE
#include <cstdio>
#include <minnow/minnow.h>

#include "support/program.h"
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
  std::string path, prompt = "Shall I ", folder;
  std::int64_t epochs = 60, batch = 8, length = 40, hidden = 128, letters = 200;
  double lr = 5e-3, temperature = 0.5;
  Program program("Trains an LSTM on a text, letter by letter, and lets it write.");
  program.option("--text", path, "a text file (default: three sonnets)");
  program.option("--epochs", epochs, "passes over the text", 1);
  program.option("--hidden", hidden, "size of the LSTM", 1);
  program.option("--lr", lr, "Adam's learning rate");
  program.prompt("--prompt", prompt, "what the written text begins with");
  program.option("--letters", letters, "that are written");
  program.option("--temperature", temperature, "below 1: more probable letters; 0: the most probable");
  program.option("--run", folder, "folder of the run, in which it is saved and goes on where it was; empty: none");
  return program.run(argc, argv, [&](Device device) {
    CharLstm net(hidden);
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = lr});
    // Each row of the batch reads its own part of the text, in steps of `length` letters.
    const Tensor text = Text(path).tokens();
    const std::int64_t width = text.numel() / batch;
    if (width <= length) throw ValueError("--text: the text is too short\ngive one of 350 letters or more");
    TextPieces pieces{text, length + 1, {}};
    for (std::int64_t at = 0; at + length < width; at += length)
      for (std::int64_t row = 0; row < batch; ++row) pieces.starts.push_back(row * width + at);
    data::DataLoader loader(pieces, {.batch_size = batch, .device = device});
    const Tensor none = zeros({1, batch, hidden}, device);
    States states{none.clone(), none.clone()};  // what a run reads into
    metrics::Mean mean_loss;
    metrics::Accuracy right;
    training::Run run(folder, {.epochs = epochs, .watch = "train/accuracy", .best = training::Best::max});
    run.add("model", net).add("adam", adam).add("train", loader);
    run.add("h", states.first).add("c", states.second).add("loss", mean_loss).add("accuracy", right);
    for (auto epoch : run.epochs()) {
      if (loader.position().batch == 0) states = {none, none}, mean_loss.reset(), right.reset();
      for (auto& rows : epoch.batches(loader)) {
        const Tensor target = rows(all, slice(1));
        const auto [logits, now] = net(rows(all, slice(0, -1)), states);
        states = {now.first.detach(), now.second.detach()};
        const Tensor scores = logits.flatten(0, 1), loss = nn::cross_entropy(scores, target.flatten());
        adam.zero_grad();
        loss.backward();
        optim::clip_grad_norm_(net.parameters(), 1);
        adam.step();
        mean_loss.update(loss);
        right.update(scores, target.flatten());
      }
      epoch.log("train/loss", mean_loss.value());
      epoch.log("train/accuracy", right.value());
      if ((epoch.number() + 1) % 10 != 0) continue;
      std::printf("epoch %lld: loss %.3f, %.0f %% of the next letters\n", static_cast<long long>(epoch.number() + 1),
                  mean_loss.value(), 100 * right.value());
    }
    if (interrupted()) throw EndOfProgram{128 + interrupted()};
    std::printf("\n%s\n", write(net, prompt, letters, temperature, device).c_str());
    return 100 * run.best_value();
  });
}
