#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/recurrent.h>

namespace minnow::cuda {
namespace {

template <class S> struct Step {
  std::int64_t rows, size;
  S* gates;
  const S *before, *cell, *maps;
  S *next, *next_cell, *kept;
  const bool* active;
};

template <class S> struct Slopes {
  std::int64_t rows, size;
  const S *gates, *before, *saved, *grad;
  S *dh, *dc, *of_gates, *of_maps;
  const bool* active;
};

/// f(place of the state, place of the first of `count` gates, the sequence).
template <class F> __device__ __forceinline__ void for_places(std::int64_t rows, std::int64_t size, int count, F f) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < rows * size; k += threads)
    f(k, k / size * count * size + k % size, k / size);
}

template <Recurrence kind, class S, class T> __global__ void step(Step<S> a) {
  constexpr int kGates = gates_of(kind);
  for_places(a.rows, a.size, kGates, [&](std::int64_t k, std::int64_t at, std::int64_t row) {
    S* const gate = a.gates + at;
    const bool goes_on = a.active == nullptr || a.active[row];
    const auto gate_at = [&](int i) { return widen<T>(gate[i * a.size]); };
    T hidden;
    if constexpr (kind == Recurrence::lstm) {
      const auto y = kernels::lstm_step(gate_at(0), gate_at(1), gate_at(2), gate_at(3), widen<T>(a.cell[k]));
      gate[0] = narrow<S>(y.i);
      gate[a.size] = narrow<S>(y.f);
      gate[2 * a.size] = narrow<S>(y.g);
      gate[3 * a.size] = narrow<S>(y.o);
      a.next_cell[k] = goes_on ? narrow<S>(y.cell) : a.cell[k];
      hidden = y.hidden;
    } else if constexpr (kind == Recurrence::gru) {
      const S* const map = a.maps + at;
      const kernels::GruValues<T> of_x{gate_at(0), gate_at(1), gate_at(2), T(0)},
          of_h{widen<T>(map[0]), widen<T>(map[a.size]), widen<T>(map[2 * a.size]), widen<T>(a.before[k])};
      const auto y = kernels::gru_step(of_x, of_h);
      gate[0] = narrow<S>(y.r);
      gate[a.size] = narrow<S>(y.z);
      gate[2 * a.size] = narrow<S>(y.n);
      if (a.kept != nullptr) a.kept[k] = map[2 * a.size];
      hidden = y.hidden;
    } else {
      using Op = std::conditional_t<kind == Recurrence::tanh, kernels::Tanh, kernels::Relu>;
      hidden = Op::value(gate_at(0));
    }
    a.next[k] = goes_on ? narrow<S>(hidden) : a.before[k];
  });
}

template <Recurrence kind, class S, class T> __global__ void slopes(Slopes<S> a) {
  constexpr int kGates = gates_of(kind);
  for_places(a.rows, a.size, kGates, [&](std::int64_t k, std::int64_t at, std::int64_t row) {
    const T dh = widen<T>(a.dh[k]) + (a.grad != nullptr ? widen<T>(a.grad[k]) : T(0));
    S* const to = a.of_gates + at;
    S* const to_map = kind == Recurrence::gru ? a.of_maps + at : nullptr;
    const auto gate_at = [&](int i) { return widen<T>(a.gates[at + i * a.size]); };
    if (a.active != nullptr && !a.active[row]) {  // the gradient goes past the step
      for (int i = 0; i < kGates; ++i) to[i * a.size] = narrow<S>(T(0));
      if (kind == Recurrence::gru)
        for (int i = 0; i < kGates; ++i) to_map[i * a.size] = narrow<S>(T(0));
      a.dh[k] = narrow<S>(dh);
      return;
    }
    if constexpr (kind == Recurrence::lstm) {
      const kernels::LstmValues<T> y{gate_at(0), gate_at(1), gate_at(2), gate_at(3), widen<T>(a.saved[k]), T(0)};
      const auto d = kernels::lstm_slopes(y, widen<T>(a.before[k]), dh, widen<T>(a.dc[k]));
      to[0] = narrow<S>(d.i);
      to[a.size] = narrow<S>(d.f);
      to[2 * a.size] = narrow<S>(d.g);
      to[3 * a.size] = narrow<S>(d.o);
      a.dc[k] = narrow<S>(d.cell);
      a.dh[k] = narrow<S>(T(0));
    } else if constexpr (kind == Recurrence::gru) {
      const kernels::GruValues<T> y{gate_at(0), gate_at(1), gate_at(2), T(0)};
      const auto d = kernels::gru_slopes(y, widen<T>(a.saved[k]), widen<T>(a.before[k]), dh);
      to[0] = to_map[0] = narrow<S>(d.r);
      to[a.size] = to_map[a.size] = narrow<S>(d.z);
      to[2 * a.size] = narrow<S>(d.n);
      to_map[2 * a.size] = narrow<S>(d.n * y.r);
      a.dh[k] = narrow<S>(d.hidden);
    } else {
      using Op = std::conditional_t<kind == Recurrence::tanh, kernels::Tanh, kernels::Relu>;
      to[0] = narrow<S>(dh * Op::slope(gate_at(0)));
      a.dh[k] = narrow<S>(T(0));
    }
  });
}

/// f.operator()<kind, S, T>().
template <class F> void visit(Recurrence kind, DType dtype, const F& f) {
  visit_floating(dtype, [&]<class S, class T>() {
    switch (kind) {
      case Recurrence::tanh: return f.template operator()<Recurrence::tanh, S, T>();
      case Recurrence::relu: return f.template operator()<Recurrence::relu, S, T>();
      case Recurrence::gru: return f.template operator()<Recurrence::gru, S, T>();
      case Recurrence::lstm: return f.template operator()<Recurrence::lstm, S, T>();
    }
  });
}

template <class S> S* data(const View& t) { return t.defined() ? static_cast<S*>(t.raw_data()) : nullptr; }

}  // namespace

template <> void execute(const calls::RecurrentStep& args) {
  const Call call(args);
  const std::int64_t rows = args.next.shape()[0], size = args.next.shape()[1];
  visit(args.kind, args.next.dtype(), [&]<Recurrence kind, class S, class T>() {
    const Step<S> a{rows,
                    size,
                    data<S>(args.gates),
                    data<S>(args.before),
                    data<S>(args.cell),
                    data<S>(args.maps),
                    data<S>(args.next),
                    data<S>(args.next_cell),
                    data<S>(args.kept),
                    data<bool>(args.active)};
    launch(call, step<kind, S, T>, blocks_for(rows * size), kThreads, a);
  });
}

template <> void execute(const calls::RecurrentStepBackward& args) {
  const Call call(args);
  const std::int64_t rows = args.dh.shape()[0], size = args.dh.shape()[1];
  visit(args.kind, args.dh.dtype(), [&]<Recurrence kind, class S, class T>() {
    const Slopes<S> a{rows,
                      size,
                      data<S>(args.gates),
                      data<S>(args.before),
                      data<S>(args.saved),
                      data<S>(args.grad),
                      data<S>(args.dh),
                      data<S>(args.dc),
                      data<S>(args.of_gates),
                      data<S>(args.of_maps),
                      data<bool>(args.active)};
    launch(call, slopes<kind, S, T>, blocks_for(rows * size), kThreads, a);
  });
}

}  // namespace minnow::cuda
