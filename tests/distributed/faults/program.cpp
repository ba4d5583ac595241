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
  if (how == "throws") throw ValueError("the cause of rank 1");
  if (how == "killed") std::raise(SIGKILL);
  if (how == "exits") std::exit(3);
}

int run(const std::string& how, int culprit) {
  const dist::Process process({.timeout = 3});
  const bool wrong = process.rank() == culprit;
  const Tensor x = ones({1000});
  for (int step = 0; step < 10; ++step) {
    if (wrong) misbehave(how, step);
    if (wrong && how == "leaves" && step == 5) return 0;
    dist::all_reduce(x, dist::ReduceOp::mean);
  }
  return 0;
}

/// Rank 1 is killed at a random moment of its training.
int train(double seconds) {
  const dist::Process process({.timeout = 5});
  nn::Linear net(300, 300);
  const dist::DataParallel parallel(net, {.bucket_mb = 0.01});
  if (process.rank() == 1)
    std::thread([seconds] {
      rest(seconds);
      std::raise(SIGKILL);
    }).detach();
  for (;;) {
    net.zero_grad();
    mean(net(ones({8, 300}))).backward();
  }
}

}  // namespace

/// program HOW [RANK]: what a rank does wrong; program train SECONDS.
int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  try {
    return how == "train" ? train(std::stod(argv[2])) : run(how, argc > 2 ? std::stoi(argv[2]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
