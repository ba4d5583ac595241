#include <minnow/autograd/gradient_watch.h>

#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::autograd {

void watch_gradient(const std::shared_ptr<Slot>& slot, GradientUse use) {
  CaptureSession* session = CaptureSession::current();
  if (!session || slot->producer || !session->is_first_use(slot.get())) return;
  {
    const std::lock_guard lock(slot->mutex);
    session->require([slot, hooks = slot->hooks.size(), last = slot->hooks.empty() ? 0 : slot->hooks.back().id] {
      const std::lock_guard now(slot->mutex);
      return slot->hooks.size() == hooks && (hooks == 0 || slot->hooks.back().id == last);
    });
  }
  if (use == GradientUse::read) {
    const std::lock_guard lock(slot->mutex);
    session->require([slot, had = slot->grad.defined(), before = slot->grad.weak()] {
      const std::lock_guard now(slot->mutex);
      return had == slot->grad.defined() && before.lock().get() == slot->grad.id();
    });
  }
  const auto after = std::make_shared<Tensor>();
  session->at_end([slot, after] {
    const std::lock_guard lock(slot->mutex);
    *after = slot->grad;
  });
  session->after_replay([slot, after] {
    const std::lock_guard lock(slot->mutex);
    if (!slot->grad.is_same(*after)) slot->grad = *after;
    if (after->defined()) after->storage()->bump_version();  // a direct run makes another gradient
  });
}

}  // namespace minnow::autograd
