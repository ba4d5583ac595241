// Trains an MLP or a CNN on MNIST, on the CPU or a GPU:  ./run mnist --model mlp --epochs 5
#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

struct Arguments {
  std::string model = "cnn", device = "auto", data, save = "mnist.safetensors", load, log;
  std::int64_t epochs = 3, batch_size = 64;
  double lr = 1e-3;
  std::uint64_t seed = 3;
  int workers = data::kAuto, threads = 0;
  bool captured = false, synthetic = false, dry_run = false;
};

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

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
    return {data::SyntheticDigits(size, {.seed = 1}), data::SyntheticDigits(size / 6, {.seed = 1, .first = 1'000'000})};
  }
  Digits digits{data::mnist("train", {.root = a.data}), data::mnist("test", {.root = a.data})};
  std::cout << "data      MNIST, " << digits.train.size() << " + " << digits.test.size() << " images\n";
  return digits;
}

/// Share of the test images that are classified correctly.
double accuracy(nn::Module& model, const data::ImageDataset& test, Device device) {
  const NoGradGuard no_grad;
  model.eval();
  data::DataLoader loader(test, {.batch_size = 500, .device = device});
  Tensor correct = zeros({}, {DType::int64, device});
  for (auto& [images, labels] : loader) correct += sum(argmax(model(images), 1) == labels);
  model.train();
  return correct.item() / static_cast<double>(test.size());
}

struct EpochResult {
  double loss = 0, seconds = 0, images_per_second = 0;
};

using Step = std::function<Tensor(const Tensor& images, const Tensor& labels)>;

/// One step of training, which gives the loss; with --captured recorded once and replayed.
Step make_step(nn::Module& model, optim::Adam& adam, Device device, const Arguments& a) {
  const auto step = [&](const Tensor& images, const Tensor& labels) {
    const Tensor loss = nn::cross_entropy(model(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss.detach();
  };
  if (!a.captured) return step;
  const auto captured = std::make_shared<CapturedStep>(step, CapturedStepOptions{.device = device});
  return [captured](const Tensor& images, const Tensor& labels) { return (*captured)(images, labels); };
}

EpochResult train_epoch(const Step& step, data::DataLoader<data::ImageDataset>& loader, const Arguments& a) {
  const auto start = std::chrono::steady_clock::now();
  Tensor total = zeros({}, {DType::float32, loader.options().device});
  std::int64_t steps = 0, seen = 0;
  auto bar = progress(loader);
  for (auto& [images, labels] : bar) {
    const Tensor loss = step(images, labels);
    total += loss;
    bar.show("loss", loss);
    seen += images.size(0);
    if (++steps == 20 && a.dry_run) break;
    if (interrupted) break;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {total.item() / static_cast<double>(std::max<std::int64_t>(steps, 1)), elapsed.count(),
          static_cast<double>(seen) / elapsed.count()};
}

void run(const Arguments& a) {
  if (a.threads) set_num_threads(a.threads);
  manual_seed(a.seed);
  const Device device = a.device == "auto" ? best_device() : Device(a.device);
  std::cout << "device    " << device.str() << ", " << num_threads() << " threads\n";

  std::unique_ptr<nn::Module> model;
  if (a.model == "mlp") model = std::make_unique<Mlp>();
  else model = std::make_unique<Cnn>();
  if (!a.load.empty()) model->load_state_dict(load(a.load));
  model->to(device);
  const Digits digits = open_digits(a);
  std::cout << nn::summary(*model, {1, 1, 28, 28}) << '\n';

  std::ofstream log;
  if (!a.log.empty()) {
    log.open(a.log, std::ios::app);
    if (!log) throw IoError("mnist: cannot write the log " + a.log);
  }
  optim::Adam adam(model->parameters(), {.lr = a.lr});
  data::DataLoader train(
      digits.train,
      {.batch_size = a.batch_size, .shuffle = true, .workers = a.workers, .device = device, .seed = a.seed});
  const Step step = make_step(*model, adam, device, a);
  for (std::int64_t epoch = 1; epoch <= a.epochs && !interrupted; ++epoch) {
    const EpochResult r = train_epoch(step, train, a);
    const double share = accuracy(*model, digits.test, device);
    std::printf("epoch %lld/%lld  loss %.4f  test accuracy %.2f %%  %.1f s  %.0f images/s\n",
                static_cast<long long>(epoch), static_cast<long long>(a.epochs), r.loss, 100 * share, r.seconds,
                r.images_per_second);
    std::fflush(stdout);
    if (log.is_open())
      log << nlohmann::json{{"epoch", epoch},
                            {"loss", r.loss},
                            {"accuracy", share},
                            {"seconds", r.seconds},
                            {"images_per_second", r.images_per_second}}
          << std::endl;
    if (a.dry_run) break;
  }
  if (a.epochs == 0) std::printf("test accuracy %.2f %%\n", 100 * accuracy(*model, digits.test, device));
  if (interrupted) std::cout << "interrupted: saving what is trained\n";
  if (a.epochs > 0 && !a.dry_run && !a.save.empty()) {
    save(model->state_dict(), a.save);
    std::cout << "weights   " << a.save << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Trains a network on MNIST.");
  app.add_option("--model", a.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}))->capture_default_str();
  app.add_option("--device", a.device, "auto, cpu, cuda[:i] or sim[:i]")->capture_default_str();
  app.add_option("--data", a.data, "folder of the MNIST files (default: $MINNOW_DATA, or the cache folder)");
  app.add_option("--epochs", a.epochs, "0: only test")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--batch-size", a.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--lr", a.lr, "Adam's learning rate")->capture_default_str();
  app.add_option("--seed", a.seed, "of weights, order and dropout")->capture_default_str();
  app.add_option("--workers", a.workers, "threads that load batches (-1: the loader chooses)")->capture_default_str();
  app.add_option("--threads", a.threads, "threads that compute (0: all)")->capture_default_str();
  app.add_option("--save", a.save, "where the weights go, a safetensors file; empty: nowhere")->capture_default_str();
  app.add_option("--load", a.load, "weights to start from");
  app.add_option("--log", a.log, "append one JSON object a line for each epoch to this file");
  app.add_flag("--captured", a.captured, "record the step once and replay it");
  app.add_flag("--synthetic", a.synthetic, "drawn digits, which need no files");
  app.add_flag("--dry-run", a.dry_run, "20 batches and one test, nothing is saved");
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  try {
    run(a);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
