#include <minnow/autograd/record.h>

#include <algorithm>
#include <minnow/autograd/anomaly.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow {
namespace {

void add_edges(autograd::Node& node, std::span<const autograd::Input> inputs) {
  node.edges().reserve(inputs.size());
  for (const autograd::Input& in : inputs)
    node.edges().push_back(in.tensor.defined() ? autograd::edge_to(in.tensor) : autograd::Edge{});
}

bool is_watched() { return calling_thread.checks_forward || calling_thread.observer; }

void tell(const autograd::Node& node, std::span<const Tensor> outputs, std::span<const autograd::Input> inputs) {
  if (calling_thread.observer) calling_thread.observer->recorded(node.order());
  if (calling_thread.checks_forward)
    for (const Tensor& out : outputs) autograd::check_result(node, out, inputs);
}

}  // namespace

bool records(std::span<const Tensor> inputs) {
  return is_grad_enabled() && std::any_of(inputs.begin(), inputs.end(), needs_grad);
}

std::optional<SourceLocation> autograd::recorded_at(std::span<const Input> inputs) {
  if (!is_grad_enabled()) return {};
  bool needed = false;
  SourceLocation where;
  for (const Input& in : inputs) {
    if (!in.tensor.defined()) continue;
    needed = needed || needs_grad(in.tensor);
    if (!where.line) where = in.where;
  }
  if (!needed) return {};
  return where;
}

void autograd::attach(const std::shared_ptr<Node>& node, Tensor& out, std::span<const Input> inputs) {
  if (!CallSite::is_open()) {  // the user's function opened none
    const CallSite site(node->name(), node->where());
    return attach(node, out, inputs);
  }
  add_edges(*node, inputs);
  if (out.slot()) out = Tensor(out.storage(), out.dtype(), out.shape(), out.strides(), out.storage_offset());
  // A fresh slot: an in-place operation must not change the history of handles that share the old one.
  auto slot = std::make_shared<Slot>();
  slot->producer = node;
  slot->produced_version = out.storage()->version();
  out.set_slot(std::move(slot));
  if (is_watched()) [[unlikely]]
    tell(*node, {&out, 1}, inputs);
}

void autograd::attach(const std::shared_ptr<JointNode>& node, std::span<Tensor> outputs,
                      std::span<const Input> inputs) {
  if (!CallSite::is_open()) {
    const CallSite site(node->name(), node->where());
    return attach(node, outputs, inputs);
  }
  add_edges(*node, inputs);
  node->attach(outputs);
  if (is_watched()) [[unlikely]]
    tell(*node, outputs, inputs);
}

}  // namespace minnow
