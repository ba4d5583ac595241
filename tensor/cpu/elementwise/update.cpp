#include <array>
#include <vector>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/traverse.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/per_thread.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr int kStates = UpdateItem::kMaxStates;
static_assert(kernels::kMaxStates<kernels::UpdateRules> <= kStates && 2 + kStates <= kMaxOperands);

bool has_state(const UpdateItem& item, int k) { return item.state[k] != nullptr && item.state[k]->defined(); }

/// Whether all tensors of an item have the parameter's dtype, a compute type, and its dense layout.
bool is_flat(const UpdateItem& item) {
  const View& p = *item.param;
  if (p.dtype() != dtype_of(compute_of(p.dtype()))) return false;
  const auto alike = [&](const View& t) { return t.dtype() == p.dtype() && same_dense_layout(t, p); };
  if (!alike(*item.grad)) return false;
  for (int k = 0; k < kStates; ++k) {
    if (has_state(item, k) && !alike(*item.state[k])) return false;
  }
  return true;
}

struct FlatUpdate {
  UpdateLoop loop;
  const double* constants;
  bool state[kStates];
};

/// Elements [begin, end) of a flat item.
void run_flat(const UpdateItem& item, UpdateLoop loop, const double* constants, std::int64_t begin, std::int64_t end) {
  const std::int64_t offset = begin * static_cast<std::int64_t>(item.param->itemsize());
  void* state[kStates];
  for (int k = 0; k < kStates; ++k)
    state[k] = has_state(item, k) ? static_cast<char*>(item.state[k]->raw_data()) + offset : nullptr;
  loop(static_cast<char*>(item.param->raw_data()) + offset, static_cast<const char*>(item.grad->raw_data()) + offset,
       state, end - begin, constants);
}

/// Updates an item with different dtypes or layouts, through buffers.
void run_strided(const UpdateItem& item, const UpdateParams& params) {
  const Compute compute = compute_of(item.param->dtype());
  const DType chunk = dtype_of(compute);
  FlatUpdate job{loops().update[static_cast<int>(compute)][params.rule], params.constants.data(), {}};
  std::array<TraverseOperand, kMaxOperands> operands{TraverseOperand::in_out(*item.param, chunk),
                                                     TraverseOperand::input(*item.grad, chunk)};
  std::size_t count = 2;
  for (int k = 0; k < kStates; ++k) {
    job.state[k] = has_state(item, k);
    if (job.state[k]) operands[count++] = TraverseOperand::in_out(*item.state[k], chunk);
  }
  traverse(
      item.param->shape(), std::span(operands).first(count),
      [](const void* context, void* const* c, std::int64_t n) {
        const auto* j = static_cast<const FlatUpdate*>(context);
        void* state[kStates];
        std::size_t at = 2;
        for (int k = 0; k < kStates; ++k) state[k] = j->state[k] ? c[at++] : nullptr;
        j->loop(c[0], c[1], state, n, j->constants);
      },
      &job);
}

/// The elements of a flat item for thread i of `threads`: whole rows if there are enough of them.
Range share_of(const UpdateItem& item, std::int64_t threads, std::int64_t i) {
  constexpr std::int64_t kManyRows = 32;  // of a thread
  const View& p = *item.param;
  const std::int64_t rows = p.dim() > 1 && p.shape()[0] >= kManyRows * threads ? p.shape()[0] : p.numel();
  const Range range = share(rows, threads, i);
  return {range.begin * (p.numel() / rows), range.end * (p.numel() / rows)};
}

}  // namespace

template <> void execute(const calls::Update& args) {
  const UpdateParams& params = args.params;
  const std::span<const UpdateItem> items = args.items;
  if (args.found_inf.defined() && *static_cast<const float*>(args.found_inf.raw_data()) != 0) return;
  // One parallel loop for all flat items.
  auto& flat = per_thread<std::vector<const UpdateItem*>>();
  flat.clear();
  std::int64_t bytes = 0;
  for (const UpdateItem& item : items) {
    if (item.param->numel() == 0) continue;
    if (!is_flat(item)) {
      run_strided(item, params);
      continue;
    }
    flat.push_back(&item);
    bytes += 4 * item.param->nbytes();
  }
  const std::int64_t threads = bytes < kParallelBytes ? 1 : num_threads();
  parallel_for(threads, bytes, [&](std::int64_t i) {
    for (const UpdateItem* item : flat) {
      const Range range = share_of(*item, threads, i);
      const Compute compute = compute_of(item->param->dtype());
      run_flat(*item, loops().update[static_cast<int>(compute)][params.rule], params.constants.data(), range.begin,
               range.end);
    }
  });
}

}  // namespace minnow::cpu
