// Trains an MLP or a CNN on MNIST, on the CPU or a GPU:  ./run mnist --model mlp --epochs 5
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <minnow/minnow.h>
#include <minnow/tensor/io/file.h>

#include "models/mnist.h"
#include "support/classifier.h"
#include "support/json_log.h"
#include "support/program.h"
#include "support/ranks.h"
#include "support/save_weights.h"

using namespace minnow;

namespace {

struct Arguments {
  std::string model = "cnn", device = "auto", data, save = "mnist.safetensors", load, log, checkpoint, report;
  std::int64_t epochs = 3, batch_size = 64, workers = data::kAuto, threads = 0;
  double lr = 1e-3;
  std::uint64_t seed = 3;
  bool captured = false, amp = false, synthetic = false, dry_run = false, resume = false, distributed = false;

  bool saves() const { return epochs > 0 && !dry_run && !save.empty(); }
};

struct Digits {
  data::ImageDataset train, test;
};

Digits open_digits(const Arguments& a) {
  if (a.synthetic) {
    std::cout << "data      synthetic digits (no MNIST files: --synthetic)\n";
    const std::int64_t size = a.dry_run ? 2000 : 60000;
    return {data::SyntheticDigits(size, {.seed = 1, .normalize_on_device = true}),
            data::SyntheticDigits(size / 6, {.seed = 1, .first = 1'000'000, .normalize_on_device = true})};
  }
  const data::MnistOptions options{.root = a.data, .normalize_on_device = true};
  Digits digits{data::mnist("train", options), data::mnist("test", options)};
  std::cout << "data      MNIST, " << digits.train.size() << " + " << digits.test.size() << " images\n";
  return digits;
}

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
  return [captured](const Tensor& images, const Tensor& labels) { return (*captured)(images, labels); };
}

/// A training and what has become of it.
struct Training {
  const Arguments& a;
  const Ranks& ranks;
  nn::Module& model;
  Digits digits;
  Device device;
  Checkpoint* checkpoint;
  std::unique_ptr<JsonLog> log;

  std::int64_t steps = 0;  // of this program
  bool complete = true;    // false: a log or checkpoint could not be written
  int signal = 0;          // that interrupted it
  training::History history{};
  double train_seconds = 0, test_seconds = 0;

  void run();
  /// The accuracy; none when it was interrupted.
  std::optional<double> test() {
    return accuracy(model, digits.test, device, [&] { return ranks.interrupted() != 0; });
  }

 private:
  /// Calls f, which writes a log or a checkpoint: the training goes on where that fails.
  template <class F> void attempt(const char* what, F f) {
    try {
      f();
    } catch (const IoError& e) {
      std::cerr << e.what() << "\nthe training goes on without the " << what << '\n';
      complete = false;
    }
  }
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void Training::run() {
  optim::Adam adam(model.parameters(), {.lr = a.lr});
  data::DataLoader loader(digits.train, data::DistributedSampler(digits.train.size(), ranks.rank(), ranks.size()),
                          {.batch_size = a.batch_size / ranks.size(),
                           .num_workers = static_cast<int>(a.workers),
                           .device = device,
                           .seed = a.seed});
  Tensor sum = zeros({}, {DType::float32, device});  // of the losses of an epoch, which a checkpoint keeps
  std::int64_t summed = 0;
  if (checkpoint) {
    checkpoint->add("model", model).add("adam", adam).add("train", loader).add("loss", sum).add("steps", summed);
    if (const auto found = a.resume ? checkpoint->resume() : std::nullopt)
      std::cout << "resumed   " << found->path << std::endl;
  }
  const Step step = make_step(model, adam, device, a);
  const bool saving = checkpoint && ranks.rank() == 0;
  while (loader.position().epoch < a.epochs && (signal = ranks.interrupted()) == 0) {
    const auto start = Clock::now();
    const std::int64_t before = steps;
    if (loader.position().batch == 0) sum.zero_(), summed = 0;
    double seen = 0;
    std::vector<Tensor> losses;
    auto bar = progress(loader);
    nn::FiniteCheck check;
    for (auto& [images, labels] : bar) {
      const Tensor loss = step(images, labels);
      check(loss);
      sum += loss, ++summed, ++steps;
      bar.show("loss", loss);
      if (!a.report.empty()) losses.push_back(loss.clone());
      seen += static_cast<double>(images.size(0));
      if (steps == before + 20 && a.dry_run) break;
      if (ranks.interrupted()) break;
    }
    if ((signal = ranks.interrupted()) != 0) break;
    check.finish();
    const double seconds = seconds_since(start), speed = seen / seconds * ranks.size();
    const double loss = sum.item() / static_cast<double>(std::max<std::int64_t>(summed, 1));
    train_seconds += seconds;
    const std::int64_t epoch = loader.epoch() + 1;
    const std::optional<double> share = test();
    if (!share) continue;
    test_seconds += seconds_since(start) - seconds;
    std::printf("epoch %lld/%lld  loss %.4f  test accuracy %.2f %%  %.1f s  %.0f images/s\n",
                static_cast<long long>(epoch), static_cast<long long>(a.epochs), loss, 100 * *share, seconds, speed);
    std::fflush(stdout);
    for (std::int64_t at = before; const Tensor& value : losses)
      history.log("train/loss", value.item(), {.step = ++at, .epoch = epoch - 1});
    history.log("test/accuracy", *share, {.step = steps, .epoch = epoch - 1});
    if (log)
      attempt("log", [&] {
        std::unique_ptr<JsonLog> open = std::move(log);  // closed if it cannot be written
        open->append({{"epoch", epoch},
                      {"loss", loss},
                      {"accuracy", *share},
                      {"seconds", seconds},
                      {"images_per_second", speed}});
        log = std::move(open);
      });
    if (a.dry_run) break;
    if (saving) attempt("checkpoint", [&] { checkpoint->save({.metric = *share, .background = true}); });
  }
  if (saving && signal != 0 && steps > 0) attempt("checkpoint", [&] { checkpoint->save(); });
  if (checkpoint) attempt("checkpoint", [&] { checkpoint->wait(); });
  if (signal == 0 && a.distributed) std::cout << "exchange  " << ranks.report() << '\n';
}

/// Saves the weights and returns the exit status.
int finish(const Training& done, const Arguments& a) {
  std::fflush(stdout);
  const bool saved = a.saves() && done.steps > 0;  // an untrained network does not replace a file
  if (done.signal != 0 && done.ranks.rank() == 0)
    std::cerr << (saved       ? "interrupted: saving the weights (a second signal ends at once)\n"
                  : a.saves() ? "interrupted before the first step: nothing is saved\n"
                              : "interrupted\n");
  if (saved && !save_weights(done.model, a.save, "mnist")) return EXIT_FAILURE;
  if (done.signal != 0) return 128 + done.signal;
  if (std::cout.flush() && !std::ferror(stdout)) return done.complete ? EXIT_SUCCESS : EXIT_FAILURE;
  std::cerr << "mnist: the output could not be written\n";
  return EXIT_FAILURE;
}

int run(Arguments a) {
  Ranks ranks(a.distributed);
  if (a.batch_size % ranks.size() != 0)
    throw ValueError("--batch-size: " + std::to_string(a.batch_size) + " images cannot be divided among " +
                     std::to_string(ranks.size()) + " ranks\ngive a multiple of the number of ranks");
  if (ranks.rank() > 0) {  // rank 0 prints and saves
    a.save = a.log = a.report = "";
    if (!std::freopen("/dev/null", "w", stdout)) throw IoError("/dev/null cannot be opened");
  }
  // Checks that the output can be written before training.
  if (a.saves()) io::AtomicFile("--save", a.save, SourceLocation::current());
  if (!a.report.empty()) io::AtomicFile("--report", a.report, SourceLocation::current());
  std::optional<Checkpoint> checkpoint;
  if (a.checkpoint.empty() && a.resume)
    throw ValueError("--resume: there is no checkpoint\ngive --checkpoint FOLDER too");
  if (!a.checkpoint.empty())
    checkpoint.emplace(a.checkpoint, CheckpointOptions{.higher_is_better = true}, SourceLocation::current());
  auto log = a.log.empty() ? nullptr : std::make_unique<JsonLog>(a.log);

  if (a.threads) set_num_threads(static_cast<int>(a.threads));
  manual_seed(a.seed);
  const Device device = a.device == "auto" ? ranks.device() : Device(a.device);
  std::cout << "device    " << device.str() << ", " << num_threads() << " threads";
  if (a.distributed) std::cout << " for each of " << ranks.size() << " ranks";
  std::cout << '\n';

  std::unique_ptr<nn::Module> model;
  if (a.model == "mlp") model = std::make_unique<models::Mlp>();
  else model = std::make_unique<models::Cnn>();
  if (!a.load.empty()) model->load_state_dict(load(a.load));
  model->to(device);
  ranks.average_gradients(*model);
  Training training{a, ranks, *model, open_digits(a), device, checkpoint ? &*checkpoint : nullptr, std::move(log)};
  const InterruptGuard guard;
  std::cout << nn::summary(*model, {1, 1, 28, 28}) << std::endl;
  training.run();
  if (a.epochs == 0) {
    if (const auto share = training.test()) std::printf("test accuracy %.2f %%\n", 100 * *share);
    training.signal = ranks.interrupted();
  }
  if (!a.report.empty() && training.signal == 0) {
    report_classifier(a.report, training.history,
                      {.title = "mnist --model " + a.model,
                       .times = {{"training", training.train_seconds}, {"tests", training.test_seconds}},
                       .device = device},
                      *model, training.digits.test);
    std::cout << "report    " << a.report << '\n';
  }
  return finish(training, a);
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
  line.option("--log", a.log, "append one JSON object a line for each epoch to this file");
  line.option("--report", a.report,
              "HTML file with curves, the confusion matrix, the worst mistakes, layers and times");
  line.flag("--captured", a.captured, "capture the step once and replay it (on a GPU)");
  line.flag("--distributed", a.distributed,
            "train by the ranks of mpirun together; --batch-size is that of all of them");
  line.flag("--amp", a.amp, "mixed precision: bfloat16 under an Autocast guard");
  line.flag("--synthetic", a.synthetic, "synthetic digits, which need no files");
  line.flag("--dry-run", a.dry_run, "20 batches and one test, nothing is saved");
  return line.run(argc, argv, [&] { return run(a); });
}
