// Trains an MLP or a CNN on MNIST, on the CPU or a GPU:  ./run mnist --model mlp --epochs 5
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <minnow/minnow.h>
#include <minnow/tensor/io/file.h>

#include "models/mnist.h"
#include "support/classifier.h"
#include "support/digits.h"
#include "support/ending.h"
#include "support/program.h"
#include "support/ranks.h"

using namespace minnow;

namespace {

struct Arguments {
  std::string model = "cnn", device = "auto", data, save = "mnist.safetensors", load, log, checkpoint, report;
  std::int64_t epochs = 3, batch_size = 64, workers = data::kAuto, threads = 0;
  double lr = 1e-3;
  std::uint64_t seed = 3;
  bool captured = false, amp = false, synthetic = false, dry_run = false, resume = false, distributed = false;
};

using Step = std::function<Tensor(const Tensor& images, const Tensor& labels)>;

/// A training step that returns the loss; with --captured it is captured once and replayed.
Step make_step(nn::Module& model, optim::Adam& adam, Device device, const Arguments& a) {
  const auto step = [&, amp = a.amp](const Tensor& images, const Tensor& labels) {
    Tensor loss;
    {
      const Autocast guard(bfloat16, {.enabled = amp});
      loss = nn::cross_entropy(model(images), labels);
    }
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss.detach();
  };
  if (!a.captured) return step;
  const auto captured = std::make_shared<CapturedStep>(step, CapturedStepOptions{.device = device});
  return [=](const Tensor& images, const Tensor& labels) { return (*captured)(images, labels); };
}

/// The accuracy of a test; none when it was interrupted.
std::optional<double> test_of(nn::Module& model, const Digits& digits, Device device, const Ranks& ranks) {
  return accuracy(model, digits.test, device, [&] { return ranks.interrupted() != 0; });
}

void train(nn::Module& model, const Digits& digits, Device device, const Arguments& a, const Ranks& ranks,
           training::History& history, Checkpoint* checkpoint, Ending& end) {
  optim::Adam adam(model.parameters(), {.lr = a.lr});
  data::DataLoader loader(digits.train, data::DistributedSampler(digits.train.size(), ranks.rank(), ranks.size()),
                          {.batch_size = ranks.share_of("--batch-size", a.batch_size),
                           .num_workers = static_cast<int>(a.workers),
                           .device = device,
                           .seed = a.seed});
  metrics::Mean mean_loss;  // of an epoch
  std::int64_t steps = 0;   // of this program
  if (checkpoint) {
    checkpoint->add("model", model).add("adam", adam).add("train", loader).add("loss", mean_loss);
    if (const auto found = a.resume ? checkpoint->resume() : std::nullopt)
      std::cout << "resumed   " << found->path << std::endl;
  }
  const Step step = make_step(model, adam, device, a);
  const bool saving = checkpoint && ranks.rank() == 0;
  while (loader.position().epoch < a.epochs && (end.signal = ranks.interrupted()) == 0) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t before = steps;
    if (loader.position().batch == 0) mean_loss.reset();
    std::vector<Tensor> losses;
    auto bar = progress(loader);
    nn::FiniteCheck check;
    for (auto& [images, labels] : bar) {
      const Tensor loss = step(images, labels);
      check(loss);
      mean_loss.update(loss);
      bar.show("loss", loss);
      if (!a.report.empty()) losses.push_back(loss.clone());
      if ((++steps == before + 20 && a.dry_run) || ranks.interrupted()) break;
    }
    end.trained = steps > 0;
    if ((end.signal = ranks.interrupted()) != 0) break;
    check.finish();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const double loss = mean_loss.value(), speed = bar.images_per_second() * ranks.size();
    const std::int64_t epoch = loader.epoch();
    const std::optional<double> share = test_of(model, digits, device, ranks);
    if (!share) continue;
    std::printf("epoch %lld/%lld  loss %.4f  test accuracy %.2f %%  %.1f s  %.0f images/s\n",
                static_cast<long long>(epoch + 1), static_cast<long long>(a.epochs), loss, 100 * *share, time.count(),
                speed);
    std::fflush(stdout);
    end.attempt("log", [&] {
      for (std::int64_t at = before; const Tensor& each : losses)
        history.log("train/loss of a batch", each.item(), {.step = ++at, .epoch = epoch});
      history.log("train/loss", loss, {.step = steps, .epoch = epoch});
      history.log("test/accuracy", *share, {.step = steps, .epoch = epoch});
      history.log("seconds", time.count(), {.step = steps, .epoch = epoch});
    });
    if (a.dry_run) break;
    if (saving) end.attempt("checkpoint", [&] { checkpoint->save({.metric = *share, .background = true}); });
  }
  if (saving && end.signal != 0 && steps > 0) end.attempt("checkpoint", [&] { checkpoint->save(); });
  if (checkpoint) end.attempt("checkpoint", [&] { checkpoint->wait(); });
  if (end.signal == 0 && a.distributed) std::cout << "exchange  " << ranks.report() << '\n';
}

int run(Arguments a) {
  Ranks ranks(a.distributed);
  if (ranks.rank() > 0) a.log = a.report = "";
  if (a.epochs == 0 || a.dry_run || ranks.rank() > 0) a.save = "";
  // Checks that the output can be written before training.
  if (!a.save.empty()) io::AtomicFile("--save", a.save, SourceLocation::current());
  if (!a.report.empty()) io::AtomicFile("--report", a.report, SourceLocation::current());
  if (a.checkpoint.empty() && a.resume)
    throw ValueError("--resume: there is no checkpoint\ngive --checkpoint FOLDER too");
  std::optional<Checkpoint> checkpoint;
  if (!a.checkpoint.empty())
    checkpoint.emplace(a.checkpoint, CheckpointOptions{.higher_is_better = true}, SourceLocation::current());
  training::History history = a.log.empty() ? training::History() : training::History(a.log);

  if (a.threads) set_num_threads(static_cast<int>(a.threads));
  manual_seed(a.seed);
  const Device device = a.device == "auto" ? ranks.device() : Device(a.device);
  std::cout << "device    " << device.str() << ", " << num_threads() << " threads";
  if (a.distributed) std::cout << " for each of " << ranks.size() << " ranks";
  std::cout << '\n';

  const std::unique_ptr<nn::Module> model = models::mnist(a.model);
  if (!a.load.empty()) model->load_state_dict(load(a.load));
  model->to(device);
  ranks.average_gradients(*model);
  const Digits digits = open_digits(a.data, !a.synthetic ? 0 : a.dry_run ? 2000 : 60000);
  Ending end{.program = "mnist", .save = a.save, .speaks = ranks.rank() == 0};
  const InterruptGuard guard;
  const profile::StepTimes times;
  std::cout << nn::summary(*model, {1, 1, 28, 28}) << std::endl;
  train(*model, digits, device, a, ranks, history, checkpoint ? &*checkpoint : nullptr, end);
  if (a.epochs == 0) {
    if (const auto share = test_of(*model, digits, device, ranks)) std::printf("test accuracy %.2f %%\n", 100 * *share);
    end.signal = ranks.interrupted();
  }
  if (!a.report.empty() && end.signal == 0) {
    report_classifier(a.report, history,
                      {.title = "mnist --model " + a.model, .times = times.parts(), .device = device}, *model,
                      digits.test);
    std::cout << "report    " << a.report << '\n';
  }
  return finish(*model, end);
}

}  // namespace

int main(int argc, char** argv) {
  // Until there is something to save; a shell script's background jobs ignore SIGINT.
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  Arguments a;
  CommandLine line("Trains a network on MNIST.");
  constexpr std::int64_t kMax = 1'000'000;
  line.choice("--model", a.model, {"mlp", "cnn"}, "mlp or cnn");
  line.option("--device", a.device, "auto, cpu, cuda[:i] or sim[:i]");
  line.option("--data", a.data, "folder of the MNIST files (default: $MINNOW_DATA, or the cache folder)");
  line.option("--epochs", a.epochs, "0: only test", 0, kMax);
  line.option("--batch-size", a.batch_size, "", 1, kMax);
  line.option("--lr", a.lr, "Adam's learning rate", 1000);
  line.option("--seed", a.seed, "of weights, order and dropout");
  line.option("--workers", a.workers, "threads that load batches (-1: the loader chooses)", -1, 1024);
  line.option("--threads", a.threads, "threads that compute (0: all)", 0, 1024);
  line.option("--save", a.save, "safetensors file for the weights; empty: not saved");
  line.option("--load", a.load, "safetensors file of initial weights");
  line.option("--checkpoint", a.checkpoint, "folder in which the training is saved after each epoch and at Ctrl-C");
  line.flag("--resume", a.resume, "continue where the last training with this --checkpoint ended");
  line.option("--log", a.log, "append what each epoch gives to this file, .csv or .jsonl");
  line.option("--report", a.report, "HTML file: curves, confusion matrix, worst mistakes, layers, times");
  line.flag("--captured", a.captured, "capture the step once and replay it (on a GPU)");
  line.flag("--distributed", a.distributed, "train by the ranks of mpirun; --batch-size is that of all of them");
  line.flag("--amp", a.amp, "mixed precision: bfloat16 under an Autocast guard");
  line.flag("--synthetic", a.synthetic, "synthetic digits, which need no files");
  line.flag("--dry-run", a.dry_run, "20 batches and one test, nothing is saved");
  return line.run(argc, argv, [&] { return run(a); });
}
