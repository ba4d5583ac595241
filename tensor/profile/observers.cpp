#include <minnow/tensor/profile/observers.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {
namespace {

/// Takes an observer out of its thread's chain, where others may have been added behind it.  Another thread cannot: the
/// maker would go on calling what is no more.
template <class Observer> void unlink(Observer** at, Observer* observer, Observer* Observer::*outer) {
  while (*at && *at != observer) at = &((*at)->*outer);
  if (!*at) {
    std::fputs(
        "minnow: a profile::Trace, Table, StepTimes or OperationCounts was destroyed by another thread than the "
        "one that made it, which still calls it\n",
        stderr);
    std::abort();
  }
  *at = observer->*outer;
}

}  // namespace

CallObserver::CallObserver() noexcept : outer_(std::exchange(calling_thread.observer, this)) {}
CallObserver::~CallObserver() { unlink(&calling_thread.observer, this, &CallObserver::outer_); }

void CallObserver::begin(const CallSite& site) noexcept {
  if (outer_) outer_->begin(site);
}
void CallObserver::end(const CallSite& site) noexcept {
  if (outer_) outer_->end(site);
}
void CallObserver::operands(const Operands& operands) {
  if (outer_) outer_->operands(operands);
}
void CallObserver::told(const Told& told) {
  if (outer_) outer_->told(told);
}
void CallObserver::read(const char* op, const Tensor& x) noexcept {
  if (outer_) outer_->read(op, x);
}
void CallObserver::recorded(std::uint64_t node) noexcept {
  if (outer_) outer_->recorded(node);
}
void CallObserver::runs(std::uint64_t node) noexcept {
  if (outer_) outer_->runs(node);
}

ScopeObserver::ScopeObserver() noexcept : outer_(std::exchange(calling_thread.scopes, this)) {}
ScopeObserver::~ScopeObserver() { unlink(&calling_thread.scopes, this, &ScopeObserver::outer_); }

void ScopeObserver::enter(const Scope& scope) noexcept {
  if (outer_) outer_->enter(scope);
}
void ScopeObserver::leave(const void* key) noexcept {
  if (outer_) outer_->leave(key);
}
void ScopeObserver::count(const char* name, std::int64_t value) noexcept {
  if (outer_) outer_->count(name, value);
}
void ScopeObserver::on_device(Device device, const Event& start, const Event& end) noexcept {
  if (outer_) outer_->on_device(device, start, end);
}
std::shared_ptr<SharedTrace> ScopeObserver::trace() const noexcept { return outer_ ? outer_->trace() : nullptr; }

/// Apart, so that scopes which nobody observes do not prepare it.
[[gnu::noinline]] void OpenScope::enter(ScopeKind kind, const char* name, std::int64_t bytes) const noexcept {
  calling_thread.scopes->enter({.key = this, .kind = kind, .name = name, .where = CallSite::where(), .bytes = bytes});
}

OpenScope::OpenScope(ScopeKind kind, const char* name, std::int64_t bytes) noexcept {
  if (calling_thread.scopes) [[unlikely]]
    enter(kind, name, bytes);
}
OpenScope::~OpenScope() {
  if (calling_thread.scopes) [[unlikely]]
    calling_thread.scopes->leave(this);
}
void OpenScope::on_device(Device device, const Event& start, const Event& end) const noexcept {
  if (calling_thread.scopes) [[unlikely]]
    calling_thread.scopes->on_device(device, start, end);
}

}  // namespace minnow::detail
