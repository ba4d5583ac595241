#include <minnow/autograd/saved.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

/// A handle that belongs to the graph: later changes of the user's handle do not affect it.
Tensor graph_handle(const Tensor& t) {
  Tensor value = t.detach();
  value.impl()->held_by_graph = true;
  value.impl()->name = t.impl()->name;
  value.storage()->add_graph_reference(1);
  return value;
}

}  // namespace

Saved::Saved(const Tensor& input) {
  if (!input.defined()) return;
  value_ = graph_handle(input);
  version_ = input.storage()->version();
  slot_ = input.slot();
}

Saved Saved::output(const Tensor& out) {
  Saved saved;
  saved.value_ = graph_handle(out);
  saved.version_ = out.storage()->version();
  saved.output_ = out.id();
  return saved;
}

Tensor Saved::operator()() const {
  if (!value_.defined()) return {};
  const autograd::Node* node = autograd::RunningNode::current();
  if (value_.storage()->version() != version_) {
    const CallSite site(node ? node->name() : "backward", node ? node->where() : SourceLocation{});
    throw AutogradError(message("a value that its gradient needs was overwritten after it was recorded",
                                {{"saved", value_}},
                                "use the form that returns a new tensor, or clone() the value before writing to it"));
  }
  if (!is_grad_enabled()) return value_;
  Tensor value = value_.detach();
  if (slot_) {
    value.set_slot(slot_);
  } else if (output_ && node) {
    std::uint32_t place = 0;
    if (node->outputs() > 1) {
      place = static_cast<const autograd::JointNode*>(node)->place_of(output_);
      if (place == node->outputs()) {
        const CallSite site(node->name(), node->where());
        throw AutogradError(message("a saved value is none of the outputs that were recorded", {{"saved", value_}},
                                    "pass to Saved::output the tensors that are passed to record"));
      }
    }
    auto slot = std::make_shared<autograd::Slot>();
    slot->producer = const_cast<autograd::Node*>(node)->shared_from_this();
    slot->produced_version = version_;
    slot->output = place;
    value.set_slot(std::move(slot));
  }
  return value;
}

}  // namespace minnow
