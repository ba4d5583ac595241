// What there is to look at a training: a run that goes on where it was, metrics, TensorBoard, a trace, times and a
// report:  ./run watch --folder runs/watch
#include <cstdio>
#include <optional>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include <minnow/tensorboard/tensorboard.h>

#include "models/mnist.h"
#include "support/program.h"

using namespace minnow;

int main(int argc, char** argv) {
  std::string folder = "runs/watch";
  std::int64_t epochs = 3, count = 10000;
  Program program("Trains on synthetic digits, and shows how.");
  program.option("--folder", folder, "of the run: history, checkpoints, TensorBoard's file, trace and report");
  program.option("--epochs", epochs, "passes over the images", 1);
  program.option("--images", count, "to train on", 1);
  return program.run(argc, argv, [&](Device device) {
    const data::SyntheticDigits train(count, {.seed = 1}), valid(1000, {.seed = 1, .first = 1'000'000});
    data::DataLoader train_loader(train, {.batch_size = 64, .shuffle = true, .device = device});
    data::DataLoader valid_loader(valid, {.batch_size = 500, .device = device});
    models::Mlp net;
    net.to(device);
    optim::Adam adam(net.parameters());

    training::Run run(folder,
                      {.epochs = epochs, .watch = "valid/accuracy", .best = training::Best::max, .patience = 3});
    run.add("model", net).add("adam", adam).add("train", train_loader);
    tensorboard::Writer board(folder);
    board.add_graph(net, zeros({1, 1, 28, 28}, device));
    const profile::StepTimes times;

    metrics::ConfusionMatrix confusion(10);
    std::vector<Tensor> found, losses;
    const auto test = [&] {
      const NoGradGuard no_grad;
      net.eval();
      confusion.reset(), found.clear(), losses.clear();
      for (auto& [images, labels] : valid_loader) {
        const Tensor scores = net(images);
        confusion.update(scores, labels);
        found.push_back(argmax(scores, 1));
        losses.push_back(nn::cross_entropy(scores, labels, {.reduction = nn::Reduction::none}));
      }
      net.train();
      return confusion.accuracy();
    };

    std::optional<profile::Trace> trace;  // of 3 steps and the loader's work between them, for https://ui.perfetto.dev
    for (auto epoch : run.epochs()) {
      auto bar = progress(epoch.batches(train_loader));
      for (auto& [images, labels] : bar) {
        if (run.step() == 10) trace.emplace(folder + "/steps.json");
        if (run.step() == 13) trace.reset();
        const Tensor loss = nn::cross_entropy(net(images), labels);
        adam.zero_grad();
        loss.backward();
        adam.step();
        bar.show("loss", loss);
        epoch.log("train/loss", loss);
      }
      if (interrupted()) continue;
      const double accuracy = test();
      epoch.log("valid/accuracy", accuracy);
      board.add_scalar("valid/accuracy", accuracy, run.step());
      board.add_histogram("fc1.weight", net.fc1.weight, run.step());
    }
    if (interrupted()) throw EndOfProgram{128 + interrupted()};  // started again, it goes on

    net.load_state_dict(run.best("model"));
    test();
    run.report(folder + "/report.html", {.confusion = confusion,
                                         .images = {valid.images(), valid.labels(), cat(found), cat(losses)},
                                         .layers = nn::summary(net, {1, 1, 28, 28}),
                                         .times = times.parts(),
                                         .device = device});
    std::printf("%.1f %% of the digits are right: look at %s/report.html, and tensorboard --logdir %s\n",
                100 * run.best_value(), folder.c_str(), folder.c_str());
    return 100 * run.best_value();
  });
}
