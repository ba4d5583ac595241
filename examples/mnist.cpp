// Trains an MLP or a CNN on MNIST, on the CPU or a GPU:  ./run mnist --model mlp --epochs 5
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <minnow/minnow.h>
#include <minnow/tensor/io/file.h>

#include "support/json_log.h"
#include "support/numbers.h"
#include "support/ranks.h"

using namespace minnow;

namespace {

struct Arguments {
  std::string model = "cnn", device = "auto", data, save = "mnist.safetensors", load, log, checkpoint;
  std::int64_t epochs = 3, batch_size = 64;
  double lr = 1e-3;
  std::uint64_t seed = 3;
  int workers = data::kAuto, threads = 0;
  bool captured = false, amp = false, synthetic = false, dry_run = false, resume = false, distributed = false;
};

struct Mlp : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(784, 128));
  nn::Linear fc2 = child("fc2", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override { return fc2(relu(fc1(x.flatten(1)))); }
};

struct Cnn : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 32, 3));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(32, 64, 3));
  nn::MaxPool2d pool = child("pool", nn::MaxPool2d(2));
  nn::Dropout dropout1 = child("dropout1", nn::Dropout(0.25));
  nn::Linear fc1 = child("fc1", nn::Linear(9216, 128));
  nn::Dropout dropout2 = child("dropout2", nn::Dropout(0.5));
  nn::Linear fc2 = child("fc2", nn::Linear(128, 10));

  Tensor forward(const Tensor& x) override {
    const Tensor features = dropout1(pool(relu(conv2(relu(conv1(x))))));
    return fc2(dropout2(relu(fc1(features.flatten(1)))));
  }
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

/// The fraction of the test images that are classified correctly; none when it was interrupted.
std::optional<double> accuracy(nn::Module& model, const data::ImageDataset& test, Device device, const Ranks& ranks) {
  const NoGradGuard no_grad;
  model.eval();
  data::DataLoader loader(test, {.batch_size = 500, .device = device});
  Tensor correct = zeros({}, {DType::int64, device});
  for (auto& [images, labels] : loader) {
    correct += sum(argmax(model(images), 1) == labels);
    if (ranks.interrupted()) return std::nullopt;
  }
  model.train();
  return correct.item() / static_cast<double>(test.size());
}

struct EpochResult {
  std::int64_t steps = 0;  // of this program
  double loss = 0, seconds = 0, images_per_second = 0;
};

/// Sums of an epoch, which a checkpoint keeps.
struct Sums {
  Tensor loss;
  std::int64_t steps = 0;
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
  return [captured](const Tensor& images, const Tensor& labels) { return (*captured)(images, labels); };
}

EpochResult train_epoch(const Step& step, data::DataLoader<data::ImageDataset>& loader, Sums& sums, const Arguments& a,
                        const Ranks& ranks) {
  const auto start = std::chrono::steady_clock::now();
  if (loader.position().batch == 0) sums.loss.zero_(), sums.steps = 0;
  std::int64_t steps = 0, seen = 0;
  auto bar = progress(loader);
  nn::FiniteCheck check;
  for (auto& [images, labels] : bar) {
    const Tensor loss = step(images, labels);
    check(loss);
    sums.loss += loss;
    ++sums.steps;
    bar.show("loss", loss);
    seen += images.size(0);
    if (++steps == 20 && a.dry_run) break;
    if (ranks.interrupted()) return {.steps = steps};
  }
  check.finish();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {steps, sums.loss.item() / static_cast<double>(std::max<std::int64_t>(sums.steps, 1)), elapsed.count(),
          static_cast<double>(seen) / elapsed.count()};
}

bool saves(const Arguments& a) { return a.epochs > 0 && !a.dry_run && !a.save.empty(); }

/// Saves the weights; if that fails, saves them in a new folder, here or in the temporary folder, and returns false.
bool save_weights(const nn::Module& model, const std::string& path) {
  try {
    save(model.state_dict(), path);
    std::cout << "weights   " << path << '\n';
    return true;
  } catch (const std::exception& e) { std::cerr << e.what() << '\n'; }
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::path& place : {fs::current_path(ignored), fs::temp_directory_path(ignored)}) {
    std::string folder = (place / "mnist-XXXXXX").string();
    if (!mkdtemp(folder.data())) continue;
    try {
      save(model.state_dict(), folder + "/mnist.safetensors");
      std::cerr << "the weights are in " << folder << "/mnist.safetensors instead\n";
      return false;
    } catch (const std::exception&) { rmdir(folder.c_str()); }
  }
  std::cerr << "the weights are lost: no other folder could be written\n";
  return false;
}

struct Trained {
  std::int64_t steps = 0;
  bool complete = true;  // false: a log or checkpoint could not be written
  int signal = 0;        // that interrupted it
};

/// Calls f, which writes a log or a checkpoint: the training goes on where that fails.
template <class F> void attempt(const char* what, Trained& done, F f) {
  try {
    f();
  } catch (const IoError& e) {
    std::cerr << e.what() << "\nthe training goes on without the " << what << '\n';
    done.complete = false;
  }
}

Trained train(nn::Module& model, const Digits& digits, Device device, const Arguments& a, std::unique_ptr<JsonLog> log,
              Checkpoint* checkpoint, const Ranks& ranks) {
  optim::Adam adam(model.parameters(), {.lr = a.lr});
  data::DataLoader loader(
      digits.train, data::DistributedSampler(digits.train.size(), ranks.rank(), ranks.size()),
      {.batch_size = a.batch_size / ranks.size(), .num_workers = a.workers, .device = device, .seed = a.seed});
  Sums sums{zeros({}, {DType::float32, device})};
  if (checkpoint) {
    checkpoint->add("model", model).add("adam", adam).add("train", loader);
    checkpoint->add("loss", sums.loss).add("steps", sums.steps);
    if (const auto found = a.resume ? checkpoint->resume() : std::nullopt)
      std::cout << "resumed   " << found->path << std::endl;
  }
  const Step step = make_step(model, adam, device, a);
  const bool saving = checkpoint && ranks.rank() == 0;
  Trained done;
  while (loader.position().epoch < a.epochs && (done.signal = ranks.interrupted()) == 0) {
    EpochResult r = train_epoch(step, loader, sums, a, ranks);
    r.images_per_second *= ranks.size();
    const std::int64_t epoch = loader.epoch() + 1;
    done.steps += r.steps;
    if ((done.signal = ranks.interrupted()) != 0) break;
    const std::optional<double> share = accuracy(model, digits.test, device, ranks);
    if (!share) continue;
    std::printf("epoch %lld/%lld  loss %.4f  test accuracy %.2f %%  %.1f s  %.0f images/s\n",
                static_cast<long long>(epoch), static_cast<long long>(a.epochs), r.loss, 100 * *share, r.seconds,
                r.images_per_second);
    std::fflush(stdout);
    const nlohmann::json line{{"epoch", epoch},
                              {"loss", r.loss},
                              {"accuracy", *share},
                              {"seconds", r.seconds},
                              {"images_per_second", r.images_per_second}};
    if (log)
      attempt("log", done, [&] {
        std::unique_ptr<JsonLog> open = std::move(log);
        open->append(line);
        log = std::move(open);
      });
    if (a.dry_run) break;
    if (saving) attempt("checkpoint", done, [&] { checkpoint->save({.metric = *share, .background = true}); });
  }
  if (saving && done.signal != 0 && done.steps > 0) attempt("checkpoint", done, [&] { checkpoint->save(); });
  if (checkpoint) attempt("checkpoint", done, [&] { checkpoint->wait(); });
  if (done.signal == 0 && a.distributed) std::cout << "exchange  " << ranks.report() << '\n';
  return done;
}

/// Saves the weights and returns the exit status.
int finish(const nn::Module& model, const Trained& done, const Arguments& a, const Ranks& ranks) {
  std::fflush(stdout);
  const bool saved = saves(a) && done.steps > 0;  // an untrained network does not replace a file
  if (done.signal != 0 && ranks.rank() == 0)
    std::cerr << (saved      ? "interrupted: saving the weights (a second signal ends at once)\n"
                  : saves(a) ? "interrupted before the first step: nothing is saved\n"
                             : "interrupted\n");
  if (saved && !save_weights(model, a.save)) return EXIT_FAILURE;
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
    a.save = a.log = "";
    if (!std::freopen("/dev/null", "w", stdout)) throw IoError("/dev/null cannot be opened");
  }
  // Checks that the output can be written before training.
  if (saves(a)) io::AtomicFile("--save", a.save, SourceLocation::current());
  std::optional<Checkpoint> checkpoint;
  if (a.checkpoint.empty() && a.resume)
    throw ValueError("--resume: there is no checkpoint\ngive --checkpoint FOLDER too");
  if (!a.checkpoint.empty())
    checkpoint.emplace(a.checkpoint, CheckpointOptions{.higher_is_better = true}, SourceLocation::current());
  auto log = a.log.empty() ? nullptr : std::make_unique<JsonLog>(a.log);

  if (a.threads) set_num_threads(a.threads);
  manual_seed(a.seed);
  const Device device = a.device == "auto" ? ranks.device() : Device(a.device);
  std::cout << "device    " << device.str() << ", " << num_threads() << " threads";
  if (a.distributed) std::cout << " for each of " << ranks.size() << " ranks";
  std::cout << '\n';

  std::unique_ptr<nn::Module> model;
  if (a.model == "mlp") model = std::make_unique<Mlp>();
  else model = std::make_unique<Cnn>();
  if (!a.load.empty()) model->load_state_dict(load(a.load));
  model->to(device);
  ranks.average_gradients(*model);
  const Digits digits = open_digits(a);
  const InterruptGuard guard;
  std::cout << nn::summary(*model, {1, 1, 28, 28}) << std::endl;
  Trained done = train(*model, digits, device, a, std::move(log), checkpoint ? &*checkpoint : nullptr, ranks);
  if (a.epochs == 0) {
    if (const auto share = accuracy(*model, digits.test, device, ranks))
      std::printf("test accuracy %.2f %%\n", 100 * *share);
    done.signal = ranks.interrupted();
  }
  return finish(*model, done, a, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  // Until there is something to save; a shell script's background jobs ignore SIGINT.
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  Arguments a;
  CLI::App app("Trains a network on MNIST.");
  app.add_option("--model", a.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}))->capture_default_str();
  app.add_option("--device", a.device, "auto, cpu, cuda[:i] or sim[:i]")->capture_default_str();
  app.add_option("--data", a.data, "folder of the MNIST files (default: $MINNOW_DATA, or the cache folder)");
  constexpr std::int64_t kMax = 1'000'000;
  app.add_option("--epochs", a.epochs, "0: only test")->check(number_in<std::int64_t>(0, kMax))->capture_default_str();
  app.add_option("--batch-size", a.batch_size)->check(number_in<std::int64_t>(1, kMax))->capture_default_str();
  app.add_option("--lr", a.lr, "Adam's learning rate")->check(number_in(0.0, 1000.0))->capture_default_str();
  app.add_option("--seed", a.seed, "of weights, order and dropout")
      ->check(number_in<std::uint64_t>(0, UINT64_MAX))
      ->capture_default_str();
  app.add_option("--workers", a.workers, "threads that load batches (-1: the loader chooses)")
      ->check(number_in(-1, 1024))
      ->capture_default_str();
  app.add_option("--threads", a.threads, "threads that compute (0: all)")
      ->check(number_in(0, 1024))
      ->capture_default_str();
  app.add_option("--save", a.save, "safetensors file for the weights; empty: not saved")->capture_default_str();
  app.add_option("--load", a.load, "safetensors file of initial weights");
  app.add_option("--checkpoint", a.checkpoint, "folder in which the training is saved after each epoch and at Ctrl-C");
  app.add_flag("--resume", a.resume, "continue where the last training with this --checkpoint ended");
  app.add_option("--log", a.log, "append one JSON object a line for each epoch to this file");
  app.add_flag("--captured", a.captured, "capture the step once and replay it (on a GPU)");
  app.add_flag("--distributed", a.distributed,
               "train by the ranks of mpirun together; --batch-size is that of all of them");
  app.add_flag("--amp", a.amp, "mixed precision: bfloat16 under an Autocast guard");
  app.add_flag("--synthetic", a.synthetic, "synthetic digits, which need no files");
  app.add_flag("--dry-run", a.dry_run, "20 batches and one test, nothing is saved");
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return "mnist: " + std::string(e.what()) + " (--help lists the options)\n";
  });
  CLI11_PARSE(app, argc, argv);
  try {
    return run(a);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return EXIT_FAILURE;
  }
}
