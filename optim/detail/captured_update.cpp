#include <minnow/optim/detail/captured_update.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::optim::detail {

using minnow::detail::CaptureRules;
using minnow::detail::CaptureSession;

const double* CapturedUpdate::note_pass(const Optimizer::Pending& key) {
  CaptureSession* session = CaptureSession::current();
  if (!session) return nullptr;
  for (const UpdateItem& item : o_.items_) {
    session->use(*item.param);
    session->use(*item.grad);
    for (const View* state : item.state)
      if (state) session->use(*state);
  }
  Slots slots;
  for (const Optimizer::Pending& p : o_.pending_)
    if (p.done && p.slot->grad.defined()) slots.push_back(p.slot);
  session->on_failure([slots] {
    for (Optimizer::Slot* slot : slots) --slot->steps;
  });
  session->require([self = *this, key, slots, changes = o_.changes_, where = CallSite::where()] {
    if (changes != self.o_.changes_) return false;
    self.o_.check_options(self.o_.options_of(key.group), where);
    return self.is_as_captured(key, slots);
  });
  return session->dynamic(o_.rule_.num_constants, [&o = o_, key, slots](std::span<double> numbers, bool again) {
    o.settle();
    if (again)
      for (Optimizer::Slot* slot : slots) Optimizer::count_step(*slot);
    o.constants_of(key.group, again ? slots.front()->steps : key.step, !again && key.first, numbers.data());
  });
}

bool CapturedUpdate::is_as_captured(const Optimizer::Pending& key, const Slots& slots) const {
  if (o_.states_of(key.group) != key.states) return false;
  const auto next = [&](Optimizer::Slot* slot) {
    return Optimizer::Pending{slot, key.group, key.states, slot->steps + 1, false, false};
  };
  const Optimizer::Pending front = next(slots.front());
  Optimizer::Constants constants;
  o_.constants_of(front.group, front.step, front.first, constants.data());
  return std::all_of(slots.begin(), slots.end(),
                     [&](Optimizer::Slot* slot) { return o_.can_share_a_pass(front, constants, next(slot)); });
}

void CapturedUpdate::note_composed(const Optimizer::Pending& pending) {
  if (CaptureRules::current() && !o_.can_be_captured())
    throw BackendError(std::string(o_.name()) + "::step: its steps cannot be captured: each has other numbers" +
                       "\n  parameter  " + describe(pending.slot->param) +
                       "\ncall step() outside of the captured step");
  CaptureSession* session = CaptureSession::current();
  if (!session) return;
  session->on_failure([slot = pending.slot] { --slot->steps; });
  session->require([&o = o_, group = pending.group, values = o_.option_values(pending.group), changes = o_.changes_,
                    where = CallSite::where()] {
    if (changes != o.changes_) return false;
    o.check_options(o.options_of(group), where);
    return values == o.option_values(group);
  });
  session->dynamic(1, [&o = o_, slot = pending.slot](std::span<double>, bool again) {
    o.settle();
    if (again) Optimizer::count_step(*slot);
  });
}

void CapturedUpdate::require_may_allocate(const Tensor& param, SourceLocation where) const {
  if (const CaptureRules* rules = CaptureRules::current(); rules && !rules->may_allocate)
    throw BackendError(std::string(o_.name()) +
                           "::step: the state of a parameter cannot be allocated in a captured step"
                           "\n  parameter  " +
                           describe(param) + "\nrun the step directly first: {.warm_up = 1}",
                       where);
}

}  // namespace minnow::optim::detail
