#include <minnow/tensor/call_site.h>

namespace minnow {
namespace {

constinit thread_local CallSite::State now;

}  // namespace

CallSite::CallSite(const char* op, SourceLocation where) noexcept : outer_(now) {
  if (now.op) return;
  if (!now.has_line) now.where = where;
  now.op = op;
  now.has_line = true;
}

CallSite::CallSite(SourceLocation where) noexcept : outer_(now) {
  if (!now.has_line) now = {now.op, where, true};
}

CallSite::CallSite(const State& instead) noexcept : outer_(now) { now = instead; }

CallSite::~CallSite() { now = outer_; }

CallSite CallSite::instead(const char* op, SourceLocation where) noexcept { return CallSite({op, where, true}); }
CallSite CallSite::none() noexcept { return CallSite(State{}); }

bool CallSite::is_open() noexcept { return now.op != nullptr; }
std::string_view CallSite::op() noexcept { return op_or(""); }
std::string_view CallSite::op_or(std::string_view other) noexcept { return now.op ? now.op : other; }
SourceLocation CallSite::where() noexcept { return now.where; }
SourceLocation CallSite::where_or(SourceLocation other) noexcept { return now.has_line ? now.where : other; }

}  // namespace minnow
