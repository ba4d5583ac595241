#include <minnow/autograd/row_gradient.h>

#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradient_watch.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow {
namespace {

/// All parts as one, each row once.
RowGradient joined(const std::vector<RowGradient>& parts) {
  std::vector<Tensor> indices, values;
  for (const RowGradient& part : parts) indices.push_back(part.index), values.push_back(part.values);
  const Tensor all = parts.size() == 1 ? values[0] : cat(values);
  const Unique rows = unique(parts.size() == 1 ? indices[0] : cat(indices), true);
  const Tensor none = zeros({rows.values.numel(), all.size(1)}, {all.dtype(), all.device()});
  return {rows.values, index_add(none, 0, rows.inverse, all)};
}

}  // namespace

RowGradient row_grad(const Tensor& x, SourceLocation where) {
  const CallSite site("row_grad", where);
  x.require_defined();
  const auto& slot = x.slot();
  if (!slot) return {};
  const NoGradGuard guard;
  const std::lock_guard lock(slot->mutex);
  if (slot->rows.empty()) return {};
  if (slot->grad.defined())
    throw AutogradError(message("the table has a dense gradient beside its sparse one", {{"self", x}},
                                "it is used by other operations too: leave .sparse out of the layer"));
  if (slot->rows.size() > 1 || !slot->rows_are_unique) {
    slot->rows = {joined(slot->rows)};
    slot->rows_are_unique = true;
  }
  return slot->rows[0];
}

Tensor autograd::rows_of(const Tensor& table, const Tensor& index, std::int64_t padding_idx) {
  Tensor y;
  {
    const NoGradGuard guard;
    y = index_select(table, 0, index);
  }
  if (!records(table)) return y;
  if (!table.is_leaf())
    throw AutogradError(
        message("a table with a sparse gradient is computed from others", {{"weight", table}}, "leave .sparse out"));
  return record(
      "embedding", std::move(y), {table},
      [slot = table.slot(), index = Saved(index), padding_idx](const Tensor& g, Needs needs) -> Gradients {
        if (!needs[0]) return {Tensor()};
        if (is_grad_enabled())
          throw AutogradError(message("its gradient is sparse, and has none of its own", {},
                                      "leave .sparse out for higher derivatives"));
        if (minnow::detail::CaptureRules::current())
          throw BackendError(message("a sparse gradient cannot be captured: its size changes from step to step",
                                     {{"grad", g}}, "leave .sparse out, or run the step directly"));
        Tensor values = padding_idx < 0 ? g : where(eq(index(), padding_idx).unsqueeze(1), 0.0, g);
        const std::lock_guard lock(slot->mutex);
        slot->rows.push_back({index(), std::move(values)});
        slot->rows_are_unique = false;
        return {Tensor()};
      });
}

}  // namespace minnow
