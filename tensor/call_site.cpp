#include <minnow/tensor/call_site.h>

#include <minnow/tensor/internal.h>

namespace minnow::detail {
namespace {

constinit thread_local const CallSite* innermost = nullptr;  // of those that say something

}  // namespace

CallSite::CallSite(const char* op, SourceLocation where) noexcept
    : op_(op), where_(where), has_line_(true), outer_(innermost) {
  if (outer_) {
    if (outer_->op_) return;
    if (outer_->has_line_) where_ = outer_->where_;
  }
  innermost = this;
}

CallSite::CallSite(SourceLocation where) noexcept : op_(nullptr), where_(where), has_line_(true), outer_(innermost) {
  if (outer_ && outer_->has_line_) return;
  innermost = this;
}

CallSite::CallSite(const char* op, SourceLocation where, bool has_line) noexcept
    : op_(op), where_(where), has_line_(has_line), outer_(innermost) {
  innermost = this;
}

CallSite::~CallSite() { innermost = outer_; }

CallSite CallSite::instead(const char* op, SourceLocation where) noexcept { return CallSite(op, where, true); }
CallSite CallSite::none() noexcept { return CallSite(nullptr, {}, false); }

bool CallSite::is_open() noexcept { return innermost && innermost->op_; }
std::string_view CallSite::op() noexcept { return op_or(""); }
std::string_view CallSite::op_or(std::string_view other) noexcept { return is_open() ? innermost->op_ : other; }
SourceLocation CallSite::where() noexcept { return where_or({}); }
SourceLocation CallSite::where_or(SourceLocation other) noexcept {
  return innermost && innermost->has_line_ ? innermost->where_ : other;
}

}  // namespace minnow::detail
