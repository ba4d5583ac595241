#include <minnow/tensor/profile/step_times.h>

#include <fmt/format.h>

namespace minnow::profile {

using minnow::detail::Scope;
using minnow::detail::ScopeKind;

void StepTimes::charge(Seconds& seconds, Clock::time_point now) const {
  seconds.*(open_.empty() ? &Seconds::other : open_.back().part) +=
      std::chrono::duration<double>(now - changed_).count();
}

void StepTimes::enter(const Scope& scope) noexcept {
  ScopeObserver::enter(scope);
  double Seconds::*part = nullptr;
  switch (scope.kind) {
    case ScopeKind::module:
      // LBFGS calls the model in its step.
      if (scope.records && (open_.empty() || open_.back().part == &Seconds::step)) part = &Seconds::forward;
      break;
    case ScopeKind::backward: part = &Seconds::backward; break;
    case ScopeKind::step: part = &Seconds::step; break;
    case ScopeKind::wait: part = &Seconds::waiting; break;
    case ScopeKind::copy:
      if (open_.empty() || open_.back().part != &Seconds::waiting) part = &Seconds::copies;
      break;
    case ScopeKind::range:
    case ScopeKind::batch: break;
  }
  if (!part) return;
  const auto now = Clock::now();
  try {
    charge(seconds_, now);
    changed_ = now;
    open_.push_back({scope.key, part});
  } catch (...) {  // out of memory: it is part of what is around it
  }
}

void StepTimes::leave(const void* key) noexcept {
  ScopeObserver::leave(key);
  minnow::detail::end_down_to(key, open_, [&](const Open&) {
    const auto now = Clock::now();
    charge(seconds_, now);
    changed_ = now;
  });
}

StepTimes::Seconds StepTimes::seconds() const {
  Seconds now = seconds_;
  charge(now, Clock::now());
  return now;
}

std::vector<std::pair<std::string, double>> StepTimes::parts() const {
  const Seconds s = seconds();
  return {{"waiting", s.waiting},   {"copies", s.copies}, {"forward", s.forward},
          {"backward", s.backward}, {"step", s.step},     {"other", s.other}};
}

std::string StepTimes::str() const {
  std::string text;
  for (const auto& [name, seconds] : parts())
    text += fmt::format("{}{} {:.3g} s", text.empty() ? "" : ", ", name, seconds);
  return text;
}

void StepTimes::reset() {
  seconds_ = Seconds();
  changed_ = Clock::now();
}

}  // namespace minnow::profile
