#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/elements.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

namespace minnow::cpu {

/// A row of calls::LstmStep.
struct LstmRow {
  std::int64_t size;
  void* gates;
  const void* cell;
  void *next_cell, *next_hidden;
};
struct LstmLoops {
  void (*step[2])(const LstmRow& row);  ///< of floats and of doubles
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(LstmLoops, lstm_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class T> void step(const LstmRow& row) {
  namespace math = kernels::math;
  const std::int64_t size = row.size;
  T* const input = static_cast<T*>(row.gates);
  T *const forget = input + size, *const candidate = forget + size, *const output = candidate + size;
  const T* const cell = static_cast<const T*>(row.cell);
  T *const next_cell = static_cast<T*>(row.next_cell), *const next_hidden = static_cast<T*>(row.next_hidden);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < size; ++j) {
    const T i = math::sigmoid(input[j]), f = math::sigmoid(forget[j]), g = math::tanh(candidate[j]),
            o = math::sigmoid(output[j]), c = f * cell[j] + i * g;
    input[j] = i;
    forget[j] = f;
    candidate[j] = g;
    output[j] = o;
    next_cell[j] = c;
    next_hidden[j] = o * math::tanh(c);
  }
}

}  // namespace

const LstmLoops lstm_loops = {{step<float>, step<double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {

template <> void execute(const calls::LstmStep& args) {
  const std::int64_t rows = args.cell.shape()[0], size = args.cell.shape()[1];
  const Elements gates(args.gates), cell(args.cell), next_cell(args.next_cell), next_hidden(args.next_hidden);
  const auto step = MINNOW_ISA_LOOPS(lstm_loops).step[args.cell.dtype() == DType::float64 ? 1 : 0];
  const std::size_t converted =
      is_half(args.cell.dtype()) ? static_cast<std::size_t>(7 * size) * sizeof(float) : 0;  // of a row
  const ThreadScratch scratch(converted, 0);
  parallel_for(rows, 2 * args.gates.nbytes(), [&](std::int64_t r) {
    float* room = static_cast<float*>(scratch.mine());
    const std::int64_t at = r * size;
    void* const values = const_cast<void*>(gates.read(4 * at, 4 * size, room));  // the gates, or a copy of them
    const void* const before = cell.read(at, size, room);
    void *const c = next_cell.write(at, size, room), *const h = next_hidden.write(at, size, room);
    step({size, values, before, c, h});
    gates.written(4 * at, 4 * size, values);
    next_cell.written(at, size, c);
    next_hidden.written(at, size, h);
  });
}

}  // namespace minnow::cpu
#endif
