#include <cstddef>
#include <type_traits>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradient_watch.h>
#include <minnow/autograd/node.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

/// The offsets of what requires_grad() reads from a Slot, for debuggers (share/minnow-gdb.py), which know only the name
/// of the type.
static_assert(std::is_standard_layout_v<minnow::autograd::Slot>);
extern "C" [[gnu::used]] const std::uint32_t minnow_slot_layout[2] = {offsetof(minnow::autograd::Slot, requires_grad),
                                                                      offsetof(minnow::autograd::Slot, producer)};

// The members of Tensor that concern gradients.
namespace minnow {
namespace {

std::shared_ptr<autograd::Slot> slot_of(const Tensor& t) {
  if (!t.slot()) {
    auto slot = std::make_shared<autograd::Slot>();
    slot->order = autograd::next_order();
    slot->owner = t.weak();
    t.set_slot(std::move(slot));
  }
  return t.slot();
}

}  // namespace

Tensor Tensor::detach(SourceLocation where) const {
  require_defined("detach", where);
  return Tensor(storage(), dtype(), shape(), strides(), storage_offset());
}

bool Tensor::requires_grad(SourceLocation where) const {
  require_defined("requires_grad", where);
  const auto& slot = impl_->slot;
  return slot && (slot->requires_grad || slot->producer);
}

bool Tensor::is_leaf(SourceLocation where) const {
  require_defined("is_leaf", where);
  return !impl_->slot || !impl_->slot->producer;
}

Tensor& Tensor::requires_grad_(bool on, SourceLocation where) {
  const CallSite site("requires_grad_", where);
  require_defined();
  if (!is_leaf()) {
    if (on) return *this;
    throw AutogradError(
        message("the result of '" + std::string(slot()->producer->name()) + "' cannot stop requiring a gradient",
                {{"self", *this}}, "use .detach()"));
  }
  if (on && !is_floating_point())
    throw DTypeError(
        message("only floating-point tensors have gradients", {{"self", *this}}, "convert first: .to(float32)"));
  if (on || slot()) {
    const auto slot = slot_of(*this);
    if (slot->requires_grad != on) storage()->note_rebinding();
    slot->requires_grad = on;
  }
  return *this;
}

Tensor Tensor::grad(SourceLocation where) const {
  require_defined("grad", where);
  const auto& slot = impl_->slot;
  if (!slot) return {};
  autograd::watch_gradient(slot, autograd::GradientUse::read);
  const std::lock_guard lock(slot->mutex);
  if (!slot->rows.empty()) {
    const CallSite site("grad", where);
    throw AutogradError(
        message("the gradient is sparse: of rows of a table", {{"self", *this}},
                "read row_grad(), or leave .sparse out of the layer; SGD, Adagrad and SparseAdam take it"));
  }
  return slot->grad;
}

void Tensor::set_grad(const Tensor& grad, SourceLocation where) const {
  const CallSite site("set_grad", where);
  require_defined();
  if (!grad.defined()) {
    if (!slot()) return;
  } else {
    require_same_device({{"self", *this}, {"grad", grad}});
    if (grad.shape() != shape())
      throw ShapeError(message("the gradient has another shape", {{"self", *this}, {"grad", grad}},
                               "it needs the tensor's own shape"));
    if (grad.dtype() != dtype())
      throw DTypeError(message("the gradient has another dtype", {{"self", *this}, {"grad", grad}},
                               "convert it: .to(" + std::string(name_of(dtype())) + ")"));
  }
  const auto slot = slot_of(*this);
  autograd::watch_gradient(slot, autograd::GradientUse::replaced);
  const std::lock_guard lock(slot->mutex);
  slot->grad = grad;
  slot->rows.clear();
}

void Tensor::retain_grad(SourceLocation where) const {
  const CallSite site("retain_grad", where);
  require_defined();
  if (!requires_grad())
    throw AutogradError(message("the tensor does not require a gradient", {{"self", *this}},
                                "call requires_grad_() on what it is computed from"));
  if (is_leaf()) return;
  slot()->retains_grad = true;
  slot()->producer->add_hook(slot()->output, [weak = std::weak_ptr<autograd::Slot>(slot())](const Tensor& g) {
    if (const auto alive = weak.lock()) {
      const std::lock_guard lock(alive->mutex);
      alive->grad = alive->grad.defined() ? minnow::add(alive->grad, g) : g;
    }
    return Tensor();
  });
}

void Tensor::backward(BackwardOptions options, SourceLocation where) const {
  minnow::backward({*this}, {}, options, where);
}

void Tensor::backward(const Tensor& gradient, BackwardOptions options, SourceLocation where) const {
  minnow::backward({*this}, {gradient}, options, where);
}

}  // namespace minnow
