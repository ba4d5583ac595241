#include <minnow/autograd/gradient_sum.h>

#include <atomic>
#include <utility>
#include <minnow/autograd/gradient_watch.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::autograd {
namespace {

constexpr int kAdd = raw::kBinary<kernels::Add>;

bool may_write(const Tensor& grad) {
  if (!grad.is_unique() || !grad.storage()->allocator() || !is_dense(grad.shape(), grad.strides())) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // synchronizes with the release of the last other owner
  return true;
}

/// A later gradient must have the first one's shape, dtype and device.
void require_same_geometry(const Tensor& sum, const Shape& shape, DType dtype, Device device) {
  if (sum.shape() == shape && sum.dtype() == dtype && sum.device() == device) return;
  throw AutogradError(message("a tensor was changed between its uses: another gradient is " +
                                  std::string(name_of(dtype)) + shape.str() + " on " + device.str(),
                              {{"gradient", sum}}, "compute the loss again after Module::to() or set_data()"));
}

/// An input that was moved to another device after it was recorded cannot take the gradient.
void require_device(const Node& node, const Edge& edge, const Tensor& grad) {
  const bool host_scalar = edge.shape.empty() && edge.device.is_cpu();  // allowed beside device operands
  if (grad.device() == edge.device || host_scalar) return;
  const CallSite site = CallSite::instead(node.name(), node.where());
  throw DeviceError(message("its gradient is on " + grad.device().str() + ", the input was on " + edge.device.str(),
                            {{"gradient", grad}},
                            "an input was moved after the operation was recorded: compute the loss again"));
}

/// The leaf's gradient is of an earlier backward or was set, and the leaf may have changed since.
void require_addable(const Slot& slot, const Tensor& grad) {
  const Tensor& old = slot.grad;
  const bool same_device = old.device() == grad.device(), same_dtype = old.dtype() == grad.dtype();
  if (same_device && same_dtype && old.shape() == grad.shape()) return;
  const auto owner = slot.owner.lock();
  const std::string text =
      message(std::string("the tensor's gradient is ") +
                  (same_device ? same_dtype ? "of another shape" : "of another dtype" : "on another device") +
                  " than the new one, which is added to it",
              {{"tensor", owner ? Tensor(owner) : grad}, {"grad()", old}, {"gradient", grad}},
              "call zero_grad() after the tensor was moved or given other data");
  if (!same_device) throw DeviceError(text);
  if (!same_dtype) throw DTypeError(text);
  throw ShapeError(text);
}

/// A leaf that was moved or given other data since the forward pass cannot take a gradient of its former value.
void require_leaf_unchanged(const Slot& slot, const Tensor& grad) {
  const auto owner = slot.owner.lock();
  if (!owner) return;
  const bool same_device = owner->view.device() == grad.device();
  if (same_device && owner->view.shape() == grad.shape() && owner->view.dtype() == grad.dtype()) return;
  const std::string text = message("a tensor was changed after the forward pass that used it",
                                   {{"tensor", Tensor(owner)}, {"gradient", grad}},
                                   "compute the loss again after Module::to() or set_data()");
  if (!same_device) throw DeviceError(text);
  throw AutogradError(text);
}

}  // namespace

bool add_gradient(Tensor& sum, Tensor grad, bool recorded) {
  if (!sum.defined()) {
    sum = std::move(grad);
    return false;
  }
  require_same_geometry(sum, grad.shape(), grad.dtype(), grad.device());
  if (recorded) sum = add(sum, grad);
  else if (!may_write(sum) && !may_write(grad)) sum = raw::binary(kAdd, sum, grad);
  else {
    if (!may_write(sum)) std::swap(sum, grad);
    raw::binary_(kAdd, sum, grad);
  }
  return true;
}

void add_part(Tensor& sum, const Node& node, const Edge& edge, const Tensor& grad) {
  require_device(node, edge, grad);
  const CallSite site = CallSite::instead(node.name(), node.where());
  const bool first = !sum.defined();
  if (first) sum = zeros(edge.shape, {edge.dtype, edge.device});
  require_same_geometry(sum, edge.shape, edge.dtype, edge.device);
  if (!may_write(sum)) sum = raw::clone(sum);
  node.add_part(sum, grad, first);
}

bool add_to_leaf(const std::shared_ptr<Slot>& leaf, Tensor grad, bool recorded) {
  Slot& slot = *leaf;
  require_leaf_unchanged(slot, grad);
  watch_gradient(leaf, GradientUse::read);
  const std::lock_guard lock(slot.mutex);
  if (!slot.grad.defined()) {
    if (CaptureSession* session = CaptureSession::current())  // an abandoned capture has computed no gradient
      session->on_abandon([weak = std::weak_ptr(leaf)] {
        if (const auto held = weak.lock()) held->grad = Tensor();
      });
    slot.grad = may_write(grad) ? std::move(grad) : grad.clone();
    return false;
  }
  require_addable(slot, grad);
  if (recorded) slot.grad = add(slot.grad, grad);
  else if (is_expanded(slot.grad.shape(), slot.grad.strides())) slot.grad = raw::binary(kAdd, slot.grad, grad);
  else raw::binary_(kAdd, slot.grad, grad);
  return true;
}

Tensor fit_to_input(const Node& node, const Edge& edge, Tensor grad) {
  require_device(node, edge, grad);
  const bool same_type = grad.device() == edge.device && grad.dtype() == edge.dtype;
  if (same_type && grad.shape() == edge.shape) return grad;  // without a second handle, so that it may be written to
  const CallSite site = CallSite::instead(node.name(), node.where());
  if (grad.shape() != edge.shape) grad = sum_to(grad, edge.shape);
  return same_type ? grad : grad.to(edge.device, edge.dtype);
}

}  // namespace minnow::autograd
