#include <minnow/autograd/record.h>

#include <algorithm>
#include <minnow/tensor/internal.h>

namespace minnow {

bool records(std::span<const Tensor> inputs) {
  return is_grad_enabled() && std::any_of(inputs.begin(), inputs.end(), needs_grad);
}

void autograd::attach(const std::shared_ptr<Node>& node, Tensor& out, std::span<const Input> inputs) {
  if (!CallSite::is_open()) {  // the user's function opened none
    const CallSite site(node->name(), node->where());
    return attach(node, out, inputs);
  }
  node->edges().reserve(inputs.size());
  for (const Input& in : inputs) node->edges().push_back(in.tensor.defined() ? edge_to(in.tensor) : Edge{});
  if (out.slot()) out = Tensor(out.storage(), out.dtype(), out.shape(), out.strides(), out.storage_offset());
  // A fresh slot: an in-place operation must not change the history of handles that share the old one.
  auto slot = std::make_shared<Slot>();
  slot->producer = node;
  slot->produced_version = out.storage()->version();
  out.set_slot(std::move(slot));
}

}  // namespace minnow
