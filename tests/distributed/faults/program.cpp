#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/process.h>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// What rank 1 does, while the others all_reduce again and again.
void misbehave(const std::string& how, int step) {
  if (step < 3) return;
  if (how == "hangs") rest(600);
  if (how == "rests") rest(8);
  if (how == "throws") throw ValueError("the cause of rank 1");
  if (how == "killed") std::raise(SIGKILL);
  if (how == "exits") std::exit(3);
}

int run(const std::string& how, int culprit) {
  const dist::Process process({.timeout = 3});
  const bool wrong = process.rank() == culprit;
  const Tensor x = ones({1000}, {.device = process.device()});
  for (int step = 0; step < 10; ++step) {
    if (wrong) misbehave(how, step);
    if (wrong && how == "leaves" && step == 5) return 0;
    dist::all_reduce(x, dist::ReduceOp::mean);
    if (how == "rests") synchronize(process.device());
  }
  std::printf("rank %d has %g\n", process.rank(), static_cast<double>(x.max().item<float>()));
  return 0;
}

/// Trains for ever, with a checkpoint by rank 0 every few steps; one rank is killed after some time.
int train(double seconds, int culprit, const std::string& folder) {
  const dist::Process process({.timeout = 5});
  nn::Linear net(300, 300);
  net.to(process.device());
  const dist::DataParallel parallel(net, {.bucket_mb = 0.01});
  optim::SGD sgd(net.parameters(), {.lr = 1e-4});
  int step = 0;
  Checkpoint checkpoint(folder);
  checkpoint.add("model", net).add("sgd", sgd).add("step", step);
  checkpoint.resume();
  if (process.rank() == culprit)
    std::thread([seconds] {
      rest(seconds);
      std::raise(SIGKILL);
    }).detach();
  for (;; ++step) {
    if (process.rank() == 0 && step % 3 == 0) {
      checkpoint.save();
      std::printf("saved %d\n", step);
      std::fflush(stdout);
    }
    net.zero_grad();
    mean(net(ones({8, 300}, {.device = process.device()}))).backward();
    sgd.step();
  }
}

/// Trains until Ctrl-C: all ranks stop at the same step.
int stop() {
  const dist::Process process({.timeout = 5});
  const InterruptGuard guard;
  const Tensor x = ones({1000});
  if (process.rank() == 0) {
    std::printf("begun\n");
    std::fflush(stdout);
  }
  int step = 0;
  for (; dist::interrupted() == 0; ++step) dist::all_reduce(x, dist::ReduceOp::mean);
  const Tensor steps = dist::all_gather(full({}, step, {.dtype = int32}));
  if (process.rank() == 0)
    std::printf("stopped at step %d to %d\n", steps.min().item<std::int32_t>(), steps.max().item<std::int32_t>());
  return 0;
}

/// All ranks read the checkpoint: the step of each.
int resume(const std::string& folder) {
  const dist::Process process({.timeout = 5});
  nn::Linear net(300, 300);
  optim::SGD sgd(net.parameters(), {.lr = 1e-4});
  int step = -1;
  Checkpoint checkpoint(folder);
  checkpoint.add("model", net).add("sgd", sgd).add("step", step);
  checkpoint.resume();
  const Tensor steps = dist::all_gather(full({}, step, {.dtype = int32}));
  if (process.rank() == 0)
    std::printf("resumed %d of %d\n", steps.min().item<std::int32_t>(), steps.max().item<std::int32_t>());
  return 0;
}

}  // namespace

/// program HOW [RANK]: what a rank does wrong; program train SECONDS RANK FOLDER; program
/// resume FOLDER; program stop.
int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  try {
    if (how == "train") return train(std::stod(argv[2]), std::stoi(argv[3]), argv[4]);
    if (how == "stop") return stop();
    return how == "resume" ? resume(argv[2]) : run(how, argc > 2 ? std::stoi(argv[2]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
