#include <algorithm>
#include <array>
#include <vector>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/traverse.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements of a parameter that one thread takes at a time
constexpr std::size_t kStates = 3;

bool has_state(const UpdateItem& item, std::size_t k) { return item.state[k] != nullptr && item.state[k]->defined(); }

/// Whether all tensors of an item are of the parameter's dtype, a compute type, and share its dense layout.
bool is_flat(const UpdateItem& item) {
  const Tensor& p = *item.param;
  if (p.dtype() != dtype_of(compute_of(p.dtype()))) return false;
  const auto alike = [&](const Tensor& t) { return t.dtype() == p.dtype() && same_dense_layout(t, p); };
  if (!alike(*item.grad)) return false;
  for (std::size_t k = 0; k < kStates; ++k) {
    if (has_state(item, k) && !alike(*item.state[k])) return false;
  }
  return true;
}

struct Job {
  UpdateLoop loop;
  const double* hyper;
  bool state[kStates];
};

/// Elements [begin, end) of a flat item.
void run_flat(const UpdateItem& item, UpdateLoop loop, const double* hyper, std::int64_t begin, std::int64_t end) {
  const std::int64_t offset = begin * static_cast<std::int64_t>(item.param->itemsize());
  void* state[kStates];
  for (std::size_t k = 0; k < kStates; ++k)
    state[k] = has_state(item, k) ? static_cast<char*>(item.state[k]->raw_data()) + offset : nullptr;
  loop(static_cast<char*>(item.param->raw_data()) + offset, static_cast<const char*>(item.grad->raw_data()) + offset,
       state, end - begin, hyper);
}

/// An item of mixed dtypes or layouts: through buffers.
void run_strided(const UpdateItem& item, const UpdateParams& params) {
  const Compute compute = compute_of(item.param->dtype());
  const DType chunk = dtype_of(compute);
  Job job{loops().update[static_cast<int>(compute)][params.rule], params.hyper.data(), {}};
  std::array<Operand, kMaxOperands> operands{Operand::in_out(*item.param, chunk), Operand::input(*item.grad, chunk)};
  std::size_t count = 2;
  for (std::size_t k = 0; k < kStates; ++k) {
    job.state[k] = has_state(item, k);
    if (job.state[k]) operands[count++] = Operand::in_out(*item.state[k], chunk);
  }
  traverse(
      item.param->shape(), std::span(operands).first(count),
      [](const void* context, void* const* c, std::int64_t n) {
        const auto* j = static_cast<const Job*>(context);
        void* state[kStates];
        std::size_t at = 2;
        for (std::size_t k = 0; k < kStates; ++k) state[k] = j->state[k] ? c[at++] : nullptr;
        j->loop(c[0], c[1], state, n, j->hyper);
      },
      &job);
}

}  // namespace

void CpuBackend::update(const UpdateParams& params, std::span<const UpdateItem> items) {
  // Blocks of all flat items are numbered through, so that one parallel pass serves them all.
  struct Piece {
    const UpdateItem* item;
    std::int64_t first;  // number of the item's first block
  };
  thread_local std::vector<Piece> pieces;
  pieces.clear();
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  for (const UpdateItem& item : items) {
    const std::int64_t n = item.param->numel();
    if (n == 0) continue;
    if (!is_flat(item)) {
      run_strided(item, params);
      continue;
    }
    pieces.push_back({&item, blocks});
    blocks += (n + kBlock - 1) / kBlock;
    bytes += 4 * item.param->nbytes();
  }
  const std::vector<Piece>& all = pieces;  // this thread's, for the others to read
  parallel_for(blocks, bytes, [&params, &all](std::int64_t k) {
    const auto after =
        std::upper_bound(all.begin(), all.end(), k, [](std::int64_t b, const Piece& p) { return b < p.first; });
    const Piece& piece = *(after - 1);
    const std::int64_t begin = (k - piece.first) * kBlock;
    const Compute compute = compute_of(piece.item->param->dtype());
    run_flat(*piece.item, loops().update[static_cast<int>(compute)][params.rule], params.hyper.data(), begin,
             std::min(piece.item->param->numel(), begin + kBlock));
  });
}

}  // namespace minnow::cpu
