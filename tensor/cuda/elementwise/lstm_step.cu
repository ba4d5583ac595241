#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::cuda {
namespace {

namespace math = kernels::math;

template <class S, class T>
__global__ void lstm_step(S* __restrict__ gates, const S* __restrict__ cell, S* __restrict__ next_cell,
                          S* __restrict__ next_hidden, std::int64_t rows, std::int64_t size) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < rows * size;
       k += threads) {
    S* const gate = gates + k / size * 4 * size + k % size;
    const T i = math::sigmoid(widen<T>(gate[0])), f = math::sigmoid(widen<T>(gate[size])),
            g = math::tanh(widen<T>(gate[2 * size])), o = math::sigmoid(widen<T>(gate[3 * size])),
            c = f * widen<T>(cell[k]) + i * g;
    gate[0] = narrow<S>(i);
    gate[size] = narrow<S>(f);
    gate[2 * size] = narrow<S>(g);
    gate[3 * size] = narrow<S>(o);
    next_cell[k] = narrow<S>(c);
    next_hidden[k] = narrow<S>(o * math::tanh(c));
  }
}

}  // namespace

template <> void execute(const calls::LstmStep& args) {
  const Call call(args);
  visit_floating(args.cell.dtype(), [&]<class S, class T>() {
    const auto data = [](const View& t) { return static_cast<S*>(t.raw_data()); };
    launch(call, lstm_step<S, T>, blocks_for(args.cell.numel()), kThreads, data(args.gates), data(args.cell),
           data(args.next_cell), data(args.next_hidden), args.cell.shape()[0], args.cell.shape()[1]);
  });
}

}  // namespace minnow::cuda
