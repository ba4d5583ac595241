#include <cstring>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/elements.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/kernels/recurrent.h>

namespace minnow::cpu {

/// A sequence of calls::RecurrentStep.
struct RecurrentRow {
  std::int64_t size;
  void* gates;
  const void *before = nullptr, *cell = nullptr, *maps = nullptr;
  void *next = nullptr, *next_cell = nullptr;
};
/// A sequence of calls::RecurrentStepBackward.
struct RecurrentSlopes {
  std::int64_t size;
  const void *gates, *before = nullptr, *saved = nullptr, *grad = nullptr;
  void *dh = nullptr, *dc = nullptr, *of_gates = nullptr, *of_maps = nullptr;
};
/// By Recurrence, of floats and of doubles.
struct RecurrentLoops {
  void (*step[4][2])(const RecurrentRow& row);
  void (*slopes[4][2])(const RecurrentSlopes& row);
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(RecurrentLoops, recurrent_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

namespace math = kernels::math;

template <class T> struct Four {
  T *a, *b, *c, *d;
  Four(void* data, std::int64_t size) : a(static_cast<T*>(data)), b(a + size), c(b + size), d(c + size) {}
};

template <class T> void lstm(const RecurrentRow& row) {
  const Four<T> gates(row.gates, row.size);
  const T* const cell = static_cast<const T*>(row.cell);
  T *const next_cell = static_cast<T*>(row.next_cell), *const next = static_cast<T*>(row.next);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < row.size; ++j) {
    const auto y = kernels::lstm_step(gates.a[j], gates.b[j], gates.c[j], gates.d[j], cell[j]);
    gates.a[j] = y.i;
    gates.b[j] = y.f;
    gates.c[j] = y.g;
    gates.d[j] = y.o;
    next_cell[j] = y.cell;
    next[j] = y.hidden;
  }
}

template <class T> void gru(const RecurrentRow& row) {
  const Four<T> gates(row.gates, row.size), maps(const_cast<void*>(row.maps), row.size);
  const T* const before = static_cast<const T*>(row.before);
  T* const next = static_cast<T*>(row.next);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < row.size; ++j) {
    const auto y =
        kernels::gru_step<T>({gates.a[j], gates.b[j], gates.c[j], T(0)}, {maps.a[j], maps.b[j], maps.c[j], before[j]});
    gates.a[j] = y.r;
    gates.b[j] = y.z;
    gates.c[j] = y.n;
    next[j] = y.hidden;
  }
}

template <class Op, class T> void simple(const RecurrentRow& row) {
  const T* const map = static_cast<const T*>(row.gates);
  T* const next = static_cast<T*>(row.next);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < row.size; ++j) next[j] = Op::value(map[j]);
}

/// dh + grad, of which grad may be absent.
template <class T, class F> void with_grad(const RecurrentSlopes& row, const F& f) {
  const T* const grad = static_cast<const T*>(row.grad);
  const T* const dh = static_cast<const T*>(row.dh);
  if (grad == nullptr) f([=](std::int64_t j) { return dh[j]; });
  else f([=](std::int64_t j) { return dh[j] + grad[j]; });
}

template <class T> void lstm_slopes(const RecurrentSlopes& row) {
  const Four<T> gates(const_cast<void*>(row.gates), row.size), to(row.of_gates, row.size);
  const T *const cell = static_cast<const T*>(row.before), *const next_cell = static_cast<const T*>(row.saved);
  T *const dh = static_cast<T*>(row.dh), *const dc = static_cast<T*>(row.dc);
  with_grad<T>(row, [&](auto grad) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < row.size; ++j) {
      const kernels::LstmValues<T> y{gates.a[j], gates.b[j], gates.c[j], gates.d[j], next_cell[j], T(0)};
      const auto d = kernels::lstm_slopes<T>(y, cell[j], grad(j), dc[j]);
      to.a[j] = d.i;
      to.b[j] = d.f;
      to.c[j] = d.g;
      to.d[j] = d.o;
      dc[j] = d.cell;
      dh[j] = T(0);
    }
  });
}

template <class T> void gru_slopes(const RecurrentSlopes& row) {
  const Four<T> gates(const_cast<void*>(row.gates), row.size), to(row.of_gates, row.size),
      to_maps(row.of_maps, row.size);
  const T *const before = static_cast<const T*>(row.before), *const mapped = static_cast<const T*>(row.saved);
  T* const dh = static_cast<T*>(row.dh);
  with_grad<T>(row, [&](auto grad) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < row.size; ++j) {
      const kernels::GruValues<T> y{gates.a[j], gates.b[j], gates.c[j], T(0)};
      const auto d = kernels::gru_slopes<T>(y, mapped[j], before[j], grad(j));
      to.a[j] = to_maps.a[j] = d.r;
      to.b[j] = to_maps.b[j] = d.z;
      to.c[j] = d.n;
      to_maps.c[j] = d.n * y.r;
      dh[j] = d.hidden;
    }
  });
}

template <class Op, class T> void simple_slopes(const RecurrentSlopes& row) {
  const T* const y = static_cast<const T*>(row.gates);
  T *const to = static_cast<T*>(row.of_gates), *const dh = static_cast<T*>(row.dh);
  with_grad<T>(row, [&](auto grad) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < row.size; ++j) {
      to[j] = grad(j) * Op::slope(y[j]);
      dh[j] = T(0);
    }
  });
}

}  // namespace

using kernels::Relu, kernels::Tanh;
const RecurrentLoops recurrent_loops = {{{simple<Tanh, float>, simple<Tanh, double>},
                                         {simple<Relu, float>, simple<Relu, double>},
                                         {gru<float>, gru<double>},
                                         {lstm<float>, lstm<double>}},
                                        {{simple_slopes<Tanh, float>, simple_slopes<Tanh, double>},
                                         {simple_slopes<Relu, float>, simple_slopes<Relu, double>},
                                         {gru_slopes<float>, gru_slopes<double>},
                                         {lstm_slopes<float>, lstm_slopes<double>}}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {
namespace {

/// f(sequence, whether it goes on, room for the copies of halves).
template <class F> void for_sequences(const View& gates, const View& state, const View& active, const F& f) {
  const std::int64_t n = state.shape()[0], size = state.shape()[1];
  constexpr std::int64_t kCopies = 13;  // of [size], in backward of lstm and gru
  const std::size_t converted = is_half(state.dtype()) ? static_cast<std::size_t>(kCopies * size) * sizeof(float) : 0;
  const ThreadScratch scratch(converted, 0);
  const bool* const goes_on = active.defined() ? static_cast<const bool*>(active.raw_data()) : nullptr;
  parallel_for(n, 2 * gates.nbytes(),
               [&](std::int64_t i) { f(i, goes_on == nullptr || goes_on[i], static_cast<float*>(scratch.mine())); });
}

bool is_double(const View& state) { return state.dtype() == DType::float64; }

/// to += x.
template <class T> void add(void* to, const void* x, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) static_cast<T*>(to)[j] += static_cast<const T*>(x)[j];
}

}  // namespace

template <> void execute(const calls::RecurrentStep& args) {
  const std::int64_t size = args.next.shape()[1], count = gates_of(args.kind);
  const bool is_lstm = args.kind == Recurrence::lstm, is_gru = args.kind == Recurrence::gru;
  const Elements gates(args.gates), before(args.before), next(args.next), cell(args.cell), next_cell(args.next_cell),
      maps(args.maps), kept(args.kept);
  const auto step = MINNOW_ISA_LOOPS(recurrent_loops).step[static_cast<int>(args.kind)][is_double(args.next)];
  const std::size_t bytes = is_double(args.next) ? sizeof(double) : sizeof(float);
  for_sequences(args.gates, args.next, args.active, [&](std::int64_t i, bool goes_on, float* room) {
    const std::int64_t at = i * size;
    RecurrentRow row{size, const_cast<void*>(gates.read(count * at, count * size, room))};
    row.before = before.read(at, size, room);
    row.cell = is_lstm ? cell.read(at, size, room) : nullptr;
    row.maps = is_gru ? maps.read(3 * at, 3 * size, room) : nullptr;
    row.next = next.write(at, size, room);
    row.next_cell = is_lstm ? next_cell.write(at, size, room) : nullptr;
    step(row);
    if (is_lstm || is_gru) gates.written(count * at, count * size, row.gates);
    if (args.kept.defined())
      kept.store(at, size, static_cast<const char*>(row.maps) + 2 * bytes * static_cast<std::size_t>(size));
    if (goes_on) {
      next.written(at, size, row.next);
      if (is_lstm) next_cell.written(at, size, row.next_cell);
    } else {
      next.store(at, size, row.before);
      if (is_lstm) next_cell.store(at, size, row.cell);
    }
  });
}

template <> void execute(const calls::RecurrentStepBackward& args) {
  const std::int64_t size = args.dh.shape()[1], count = gates_of(args.kind), maps = args.of_maps.defined() ? 3 : 0;
  const bool is_lstm = args.kind == Recurrence::lstm, keeps = is_lstm || args.kind == Recurrence::gru;
  const Elements gates(args.gates), before(args.before), saved(args.saved), grad(args.grad), dh(args.dh), dc(args.dc),
      of_gates(args.of_gates), of_maps(args.of_maps);
  const auto slopes = MINNOW_ISA_LOOPS(recurrent_loops).slopes[static_cast<int>(args.kind)][is_double(args.dh)];
  const std::size_t bytes = static_cast<std::size_t>(size) * (is_double(args.dh) ? sizeof(double) : sizeof(float));
  for_sequences(args.of_gates, args.dh, args.active, [&](std::int64_t i, bool goes_on, float* room) {
    const std::int64_t at = i * size;
    RecurrentSlopes row{size, gates.read(count * at, count * size, room)};
    row.before = keeps ? before.read(at, size, room) : nullptr;
    row.saved = keeps ? saved.read(at, size, room) : nullptr;
    row.grad = args.grad.defined() ? grad.read(at, size, room) : nullptr;
    row.dh = const_cast<void*>(dh.read(at, size, room));
    row.dc = is_lstm ? const_cast<void*>(dc.read(at, size, room)) : nullptr;
    row.of_gates = of_gates.write(count * at, count * size, room);
    row.of_maps = of_maps.write(maps * at, maps * size, room);
    if (goes_on) {
      slopes(row);
    } else {  // the gradient goes past the step
      std::memset(row.of_gates, 0, static_cast<std::size_t>(count) * bytes);
      if (maps) std::memset(row.of_maps, 0, 3 * bytes);
      if (row.grad) (is_double(args.dh) ? add<double> : add<float>)(row.dh, row.grad, size);
    }
    of_gates.written(count * at, count * size, row.of_gates);
    of_maps.written(maps * at, maps * size, row.of_maps);
    dh.written(at, size, row.dh);
    if (is_lstm) dc.written(at, size, row.dc);
  });
}

}  // namespace minnow::cpu
#endif
