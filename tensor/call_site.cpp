#include <minnow/tensor/call_site.h>

#include <minnow/tensor/internal.h>

namespace minnow::detail {
namespace {

/// The site that counts: one that is opened inside of another operation does not replace it.
constinit thread_local const CallSite* effective = nullptr;

}  // namespace

CallSite::CallSite(const char* op, SourceLocation where) noexcept
    : op_(op), where_(where), has_line_(true), outer_(effective) {
  if (outer_) {
    if (outer_->op_) return;
    if (outer_->has_line_) where_ = outer_->where_;
  }
  effective = this;
}

CallSite::CallSite(SourceLocation where) noexcept : op_(nullptr), where_(where), has_line_(true), outer_(effective) {
  if (outer_ && outer_->has_line_) return;
  effective = this;
}

CallSite::CallSite(const char* op, SourceLocation where, bool has_line) noexcept
    : op_(op), where_(where), has_line_(has_line), outer_(effective) {
  effective = this;
}

CallSite::~CallSite() { effective = outer_; }

CallSite CallSite::instead(const char* op, SourceLocation where) noexcept { return CallSite(op, where, true); }
CallSite CallSite::none() noexcept { return CallSite(nullptr, {}, false); }

bool CallSite::is_open() noexcept { return effective && effective->op_; }
std::string_view CallSite::op() noexcept { return op_or(""); }
std::string_view CallSite::op_or(std::string_view other) noexcept { return is_open() ? effective->op_ : other; }
SourceLocation CallSite::where() noexcept { return where_or({}); }
SourceLocation CallSite::where_or(SourceLocation other) noexcept {
  return effective && effective->has_line_ ? effective->where_ : other;
}

}  // namespace minnow::detail
