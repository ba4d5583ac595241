#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

/// Goes on after an error.
void attempt(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }
}

/// One rank comes after the timeout: what the others call then is not what it calls.
int come_late(int culprit) {
  const dist::Process process({.timeout = 3});
  for (int step = 0; step < 4; ++step) {
    if (process.rank() == culprit && step == 1) rest(culprit == 0 ? 9.5 : 4);  // the others wait 5 s more for rank 0
    const Tensor x = full({2}, step, {.dtype = float32});
    attempt([&] {
      dist::all_reduce(x);
      if (x[0].item<float>() != static_cast<float>(step * process.size()))
        std::printf("WRONG numbers in step %d\n", step);
    });
  }
  return 0;
}

/// One rank ends, by an exception or by exit(), while others do not come to what it has begun.
int end_with_a_collective_under_way(const std::string& how, int culprit) {
  const dist::Process process({.timeout = 200});
  const Tensor x = ones({1000});
  if (process.rank() != culprit) rest(600);
  const dist::Work work = dist::all_reduce_async(x);
  if (how == "exits under way") std::exit(3);
  throw ValueError("the cause of rank " + std::to_string(culprit));
}

/// One rank stops before the others, or goes on after an exception in the middle of backward.
int train_unevenly(const std::string& how, int culprit) {
  const dist::Process process({.timeout = 20});
  nn::Sequential net(nn::Linear(4, 8), nn::Linear(8, 8), nn::Linear(8, 2));
  const dist::DataParallel parallel(net, {.bucket_mb = 1e-9});
  for (int step = 0; step < 4; ++step) {
    if (process.rank() == culprit && how == "stops" && step == 2) return 0;
    attempt([&] {
      HookHandle hook;
      if (process.rank() == culprit && how == "skips" && step == 1)
        hook = register_hook(net.parameters()[4], [](const Tensor&) -> Tensor { throw ValueError("mine"); });
      mean(square(net(ones({3, 4})))).backward();
    });
  }
  return 0;
}

/// A copy of a rank says that it is none, and ends.
int make_a_copy() {
  const dist::Process process({.timeout = 5});
  const pid_t child = fork();
  if (child == 0) {
    attempt([] { dist::barrier(); });
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  dist::barrier();
  return status;
}

/// A captured step that calls NCCL lives longer than its Process, or while NCCL fails.
int capture(bool fails) {
  std::optional<CapturedStep> step;
  const dist::Process process({.timeout = 3});
  const Device device = process.device();
  step.emplace(
      [](const Tensor& x) {
        const Tensor y = x * 2;
        dist::all_reduce(y);
        return y;
      },
      CapturedStepOptions{.device = device});
  for (int i = 0; i < 4; ++i) (*step)(ones({8}, {.device = device}));
  if (fails) rest(20);  // the watch ends the process before
  return 0;
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
/// resume FOLDER; program stop; program forks.
int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  try {
    if (how == "train") return train(std::stod(argv[2]), std::stoi(argv[3]), argv[4]);
    if (how == "stop") return stop();
    const int rank = argc > 2 ? std::atoi(argv[2]) : 1;
    if (how == "late") return come_late(rank);
    if (how == "stops" || how == "skips") return train_unevenly(how, rank);
    if (how == "throws under way" || how == "exits under way") return end_with_a_collective_under_way(how, rank);
    if (how == "forks") return make_a_copy();
    if (how == "outlives" || how == "fails captured") return capture(how == "fails captured");
    const char* const own = std::getenv("OMPI_COMM_WORLD_RANK");
    if (how == "never begins" && own != nullptr && std::atoi(own) == rank) rest(600);
    return how == "resume" ? resume(argv[2]) : run(how, argc > 2 ? std::stoi(argv[2]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
