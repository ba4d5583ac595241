// The CNN of examples/mnist.cpp on the ranks of mpirun, for distributed.py:
//     mpirun -n 2 build/benchmarks/distributed BATCH STEPS [alone]
// alone: gradients are not averaged.
// Prints on rank 0: images per second of all ranks, the share of the exchange that backward hides, and the seconds that
// an all_reduce of 4 bytes and of 16 MB takes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <minnow/distributed/distributed.h>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

double seconds_of(const auto& work, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t batch = argc > 1 ? std::atoll(argv[1]) : 64;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 50;
  const dist::Process process;
  const std::int64_t own = batch / process.size();
  nn::Sequential net(nn::Conv2d(1, 32, 3), relu, nn::Conv2d(32, 64, 3), relu, nn::MaxPool2d(2), nn::Dropout(0.25),
                     nn::Flatten(), nn::Linear(9216, 128), relu, nn::Dropout(0.5), nn::Linear(128, 10));
  net.to(process.device());
  dist::DataParallel parallel(net);
  std::optional<dist::DataParallel::NoSync> alone;
  if (argc > 3) alone.emplace(parallel);
  optim::Adam adam(net.parameters());
  const Tensor images = rand({own, 1, 28, 28}, {.device = process.device()}),
               labels = randint(0, 10, {own}, {.device = process.device()});
  const auto step = [&] {
    const Tensor loss = nn::cross_entropy(net(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
  };
  seconds_of(step, 10);
  dist::barrier();
  const double seconds = seconds_of(step, steps);
  const Tensor word = ones({1}), megabytes = ones({4 << 20});
  const double latency = seconds_of([&] { dist::all_reduce(word); }, 100),
               large = seconds_of([&] { dist::all_reduce(megabytes); }, 5);
  if (process.rank() == 0)
    std::printf("%.1f %.4f %.3g %.3g\n", static_cast<double>(own * process.size()) / seconds,
                parallel.report().hidden(), latency, large);
}
