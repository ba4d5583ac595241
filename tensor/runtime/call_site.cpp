#include <minnow/tensor/runtime/call_site.h>

#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

/// From here on it is the one that counts.
inline void CallSite::count() noexcept {
  calling_thread.site = this;
  if (calling_thread.observer && op_) [[unlikely]]
    calling_thread.observer->begin(*this);
}

CallSite::CallSite(const char* op, SourceLocation where) noexcept
    : op_(op), where_(where), has_line_(true), outer_(calling_thread.site) {
  if (outer_) {
    if (outer_->op_) return;
    if (outer_->has_line_) where_ = outer_->where_;
  }
  count();
}

CallSite::CallSite(SourceLocation where) noexcept
    : op_(nullptr), where_(where), has_line_(true), outer_(calling_thread.site) {
  if (outer_ && outer_->has_line_) return;
  calling_thread.site = this;
}

CallSite::CallSite(const char* op, SourceLocation where, bool has_line) noexcept
    : op_(op), where_(where), has_line_(has_line), earlier_(op != nullptr), outer_(calling_thread.site) {
  count();
}

CallSite::~CallSite() {
  if (calling_thread.observer && op_ && is_outermost()) [[unlikely]]
    calling_thread.observer->end(*this);
  calling_thread.site = outer_;
}

CallSite CallSite::instead(const char* op, SourceLocation where) noexcept { return CallSite(op, where, true); }
CallSite CallSite::none() noexcept { return CallSite(nullptr, {}, false); }

bool CallSite::is_outermost() const noexcept { return calling_thread.site == this; }
bool CallSite::is_open() noexcept { return calling_thread.site && calling_thread.site->op_; }
std::string_view CallSite::op() noexcept { return op_or(""); }
std::string_view CallSite::op_or(std::string_view other) noexcept {
  return is_open() ? calling_thread.site->op_ : other;
}
SourceLocation CallSite::where() noexcept { return where_or({}); }
SourceLocation CallSite::where_or(SourceLocation other) noexcept {
  return calling_thread.site && calling_thread.site->has_line_ ? calling_thread.site->where_ : other;
}

}  // namespace minnow::detail
