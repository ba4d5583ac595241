#include <minnow/tensor/profile.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <minnow/tensor/call_site.h>
#include <minnow/tensor/warning.h>

namespace minnow::profile {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::string_view(value) != "0";
}

std::atomic<bool>& enabled() {
  static std::atomic<bool> on = is_set("MINNOW_PROFILE");
  return on;
}

struct SlowPaths {
  std::mutex mutex;
  std::vector<SlowPath> met;
};
SlowPaths& all_slow_paths() {
  static auto* const instance = new SlowPaths;  // never destroyed
  return *instance;
}

}  // namespace

void set_enabled(bool on) { enabled().store(on, std::memory_order_relaxed); }

bool is_enabled() { return enabled().load(std::memory_order_relaxed); }

Range::Range(const char* name) : open_(is_enabled()) {
  if (open_) detail::push_range(name);
}

Range::~Range() {
  if (open_) detail::pop_range();
}

std::vector<SlowPath> slow_paths() {
  SlowPaths& paths = all_slow_paths();
  const std::lock_guard lock(paths.mutex);
  return paths.met;
}

void detail::note_slow_path(std::string_view op, std::string_view why) {
  const std::string_view name = minnow::detail::CallSite::op_or(op);
  const SourceLocation where = minnow::detail::CallSite::where();
  {
    SlowPaths& paths = all_slow_paths();
    const std::lock_guard lock(paths.mutex);
    const auto found = std::find_if(paths.met.begin(), paths.met.end(),
                                    [&](const SlowPath& p) { return p.op == name && p.why == why; });
    if (found != paths.met.end()) {
      ++found->count;
      return;
    }
    paths.met.push_back({std::string(name), std::string(why), where.file, where.line, 1});
  }
  static const bool is_told = is_set("MINNOW_WARN_SLOW");
  if (is_told)
    warn(std::string(name) + " is slow: " + std::string(why) + "  (" + where.file + ":" + std::to_string(where.line) +
         ")");
}

}  // namespace minnow::profile
