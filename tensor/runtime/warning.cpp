#include <minnow/tensor/runtime/warning.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>

namespace minnow {
namespace {

struct Handler {
  std::mutex mutex;
  WarningHandler call;
};

Handler& handler() {
  static auto* instance = new Handler;  // never destroyed: destructors of globals may warn
  return *instance;
}

struct Late {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::vector<const void*>>> pending;
  std::unordered_set<std::string> given;
};

Late& late() {
  static auto* instance = new Late;
  return *instance;
}

std::atomic<bool> any_late = false;

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler_or_none) {
  const std::lock_guard lock(handler().mutex);
  return std::exchange(handler().call, std::move(handler_or_none));
}

void warn(const std::string& text) noexcept {
  try {
    const std::lock_guard lock(handler().mutex);
    if (handler().call) handler().call(text);
    else std::fprintf(stderr, "minnow: %s\n", text.c_str());
  } catch (...) {  // a warning must not make an operation fail
  }
}

namespace detail {

void warn_once(const std::string& text, SourceLocation where, const std::string& kind) noexcept {
  try {
    const std::string place = std::string("  (") + where.file + ":" + std::to_string(where.line) + ")";
    const std::string whole = text + place;
    {
      const std::lock_guard lock(late().mutex);
      if (!late().given.insert(kind.empty() ? whole : kind + place).second) return;
    }
    warn(whole);
  } catch (...) {  // as in warn()
  }
}

void warn_later(const std::string& text, std::vector<const void*> tensor_ids) {
  const std::lock_guard lock(late().mutex);
  if (!late().given.insert(text).second) return;
  late().pending.emplace_back(text, std::move(tensor_ids));
  any_late.store(true, std::memory_order_relaxed);
}

bool has_late_warnings() noexcept { return any_late.load(std::memory_order_relaxed); }

void give_late_warnings(const std::function<bool(const void*)>& known) noexcept {
  try {
    std::vector<std::pair<std::string, std::vector<const void*>>> due;
    {
      const std::lock_guard lock(late().mutex);
      due.swap(late().pending);
      any_late.store(false, std::memory_order_relaxed);
    }
    for (const auto& [text, ids] : due)
      if (!std::all_of(ids.begin(), ids.end(), known)) warn(text);
  } catch (...) {  // as in warn()
  }
}

}  // namespace detail

}  // namespace minnow
