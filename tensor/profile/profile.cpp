#include <minnow/tensor/profile/profile.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <minnow/tensor/runtime/warning.h>

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

Range::Range(const char* name, minnow::detail::ScopeKind kind) : open_(is_enabled()), scope_(kind, name) {
  if (open_) detail::push_range(name);
}

Range::~Range() {
  if (open_) detail::pop_range();
}

void OperationCounts::begin(const minnow::detail::CallSite& site) noexcept {
  CallObserver::begin(site);
  open_.push_back({&site, Clock::now()});
}

void OperationCounts::end(const minnow::detail::CallSite& site) noexcept {
  CallObserver::end(site);
  if (open_.empty() || open_.back().site != &site) return;  // it began earlier
  const Clock::duration time = Clock::now() - open_.back().begin, own = time - open_.back().inside;
  open_.pop_back();
  if (!open_.empty()) open_.back().inside += time;
  auto& ended = ended_[site.is_earlier()];
  auto row = ended.find(std::string_view(site.name()));
  if (row == ended.end()) row = ended.emplace(site.name(), Row{site.name(), site.is_earlier()}).first;
  ++row->second.calls;
  row->second.seconds += std::chrono::duration<double>(own).count();
}

std::vector<OperationCounts::Row> OperationCounts::rows() const {
  std::vector<Row> all;
  for (const auto& ended : ended_)
    for (const auto& [name, row] : ended) all.push_back(row);
  std::ranges::stable_sort(all, std::greater(), &Row::seconds);
  return all;
}

std::string OperationCounts::str() const {
  std::string out = fmt::format("{:<32} {:>10} {:>12} {:>12}\n", "operation", "calls", "ms", "us a call");
  Row sum{.name = "all"};
  const auto line = [&out](const Row& r) {
    out += fmt::format("{:<32} {:>10} {:>12.3f} {:>12.3f}\n", r.name + (r.backward ? ", backward" : ""), r.calls,
                       1e3 * r.seconds, 1e6 * r.seconds / static_cast<double>(std::max<std::int64_t>(r.calls, 1)));
  };
  for (const Row& r : rows()) {
    line(r);
    sum.calls += r.calls;
    sum.seconds += r.seconds;
  }
  line(sum);
  return out;
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
