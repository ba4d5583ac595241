// The overhead of an operation: small tensors, with and without recording.

#include <benchmark/benchmark.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

namespace {

using namespace minnow;

void empty_tensor(benchmark::State& state) {
  const Shape shape{1};
  for (auto _ : state) benchmark::DoNotOptimize(empty(shape));
}

void add_no_gradient(benchmark::State& state) {
  const Tensor a = ones({state.range(0)}), b = ones({state.range(0)});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}

void add_recording(benchmark::State& state) {
  const Tensor a = ones({state.range(0)}).requires_grad_(), b = ones({state.range(0)}).requires_grad_();
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}

void add_scalar(benchmark::State& state) {
  const Tensor a = ones({1});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(a + 1.0);
}

void add_broadcast(benchmark::State& state) {
  const Tensor a = ones({64, 10}), b = ones({10});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}

void relu_no_gradient(benchmark::State& state) {
  const Tensor a = ones({state.range(0)});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(relu(a));
}

void sum_all(benchmark::State& state) {
  const Tensor a = ones({state.range(0)});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(sum(a));
}

void matmul_small(benchmark::State& state) {
  const Tensor a = ones({state.range(0), state.range(0)});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, a));
}

void view_transpose(benchmark::State& state) {
  const Tensor a = ones({4, 4});
  const NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(a.transpose(0, 1));
}

void backward_of_add(benchmark::State& state) {
  const Tensor a = ones({1}).requires_grad_(), b = ones({1}).requires_grad_();
  for (auto _ : state) {
    a.set_grad({});
    b.set_grad({});
    (a + b).backward();
  }
}

BENCHMARK(empty_tensor);
BENCHMARK(add_no_gradient)->Arg(1)->Arg(64)->Arg(4096)->Arg(65536);
BENCHMARK(add_recording)->Arg(1);
BENCHMARK(add_scalar);
BENCHMARK(add_broadcast);
BENCHMARK(relu_no_gradient)->Arg(1)->Arg(4096);
BENCHMARK(sum_all)->Arg(1)->Arg(4096);
BENCHMARK(matmul_small)->Arg(4)->Arg(64);
BENCHMARK(view_transpose);
BENCHMARK(backward_of_add);

}  // namespace

BENCHMARK_MAIN();
