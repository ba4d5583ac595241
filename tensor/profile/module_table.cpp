#include <minnow/tensor/profile/module_table.h>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/text.h>

namespace minnow::profile {

using minnow::detail::CallSite;
using minnow::detail::Operands;
using minnow::detail::Scope;
using minnow::detail::ScopeKind;

std::int64_t Table::allocated() const {
  return minnow::detail::backend_of(device_).allocator(device_.index()).stats().allocated;
}

/// The entry of a module; another one where its address is that of a module before.
std::size_t Table::entry_of(const Scope& scope) {
  const auto known = newest_.find(scope.module);
  if (known != newest_.end() && *entries_[known->second].type == *scope.type &&
      (!*scope.name || entries_[known->second].name == scope.name))
    return known->second;
  const std::string type = scope.type_name(scope.key), name = *scope.name ? scope.name : type;
  const auto others = std::count_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  entries_.push_back(
      {{.module = others ? fmt::format("{}#{}", name, others + 1) : name, .type = type}, name, scope.type});
  newest_[scope.module] = entries_.size() - 1;
  return entries_.size() - 1;
}

void Table::enter(const Scope& scope) noexcept {
  ScopeObserver::enter(scope);
  if (scope.kind != ScopeKind::module) return;
  try {
    const std::size_t entry = entry_of(scope), caller = calls_.empty() ? 0 : calls_.back().place;
    const auto [place, is_new] = place_of_.try_emplace({caller, entry}, places_.size());
    if (is_new) places_.push_back({entry, caller});
    calls_.push_back({scope.key, place->second, Clock::now()});
    ++entries_[entry].open;
  } catch (...) {  // out of memory: the call is in no row
  }
}

void Table::leave(const void* key) noexcept {
  ScopeObserver::leave(key);
  minnow::detail::end_down_to(key, calls_, [this](const Call& call) { add(call); });
}

void Table::add(const Call& call) {
  const Clock::duration time = Clock::now() - call.begin;
  Entry& entry = entries_[places_[call.place].entry];
  Row& row = entry.row;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  ++row.calls;
  row.self_seconds += seconds(time - call.inside);
  if (--entry.open == 0) row.seconds += seconds(time);  // a module that calls itself counts once
  if (call.before != kUnknown) {
    if (entry.open == 0) row.kept_bytes += allocated() - call.before;
    row.peak_bytes = std::max(row.peak_bytes, call.peak - call.before);
  }
  if (calls_.size() == 1) return;
  Call& caller = *(calls_.end() - 2);
  caller.inside += time;
  caller.peak = std::max(caller.peak, call.peak);
}

void Table::operands(const Operands& operands) {
  CallObserver::operands(operands);
  if (calls_.empty()) return;
  bool is_other = false;
  for (const auto& o : operands)
    if (device_.is_cpu() && o.tensor.defined() && !o.tensor.device().is_cpu()) {
      device_ = o.tensor.device();
      is_other = true;
    }
  if (calls_.back().before != kUnknown && !is_other) return;
  const std::int64_t before = allocated();
  for (auto call = calls_.rbegin(); call != calls_.rend() && (is_other || call->before == kUnknown); ++call)
    call->before = call->peak = before;
}

void Table::recorded(std::uint64_t node) noexcept {
  CallObserver::recorded(node);
  const bool continues = !std::exchange(outside_, calls_.empty());
  if (calls_.empty()) return;
  const std::size_t place = calls_.back().place;
  if (continues && !nodes_.empty() && nodes_.back().place == place) {
    nodes_.back().last = node;
    return;
  }
  try {
    if (nodes_.size() == kMaxNodes) nodes_.erase(nodes_.begin(), nodes_.begin() + kMaxNodes / 2);
    nodes_.push_back({node, node, place});
  } catch (...) {  // out of memory: its backward is in no row
  }
}

void Table::runs(std::uint64_t node) noexcept {
  CallObserver::runs(node);
  next_node_ = node;
}

void Table::begin(const CallSite& site) noexcept {
  CallObserver::begin(site);
  const std::uint64_t node = std::exchange(next_node_, 0);
  if (!site.is_earlier() || node == 0) return;
  const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), node,
                                      [](std::uint64_t n, const Nodes& made) { return n < made.first; });
  if (after == nodes_.begin() || (after - 1)->last < node) return;
  try {
    gradients_.push_back({&site, (after - 1)->place, Clock::now()});
  } catch (...) {  // out of memory: it is in no row
  }
}

void Table::end(const CallSite& site) noexcept {
  CallObserver::end(site);
  if (!calls_.empty() && calls_.back().before != kUnknown)
    calls_.back().peak = std::max(calls_.back().peak, allocated());
  if (gradients_.empty() || gradients_.back().site != &site) return;
  const double time = std::chrono::duration<double>(Clock::now() - gradients_.back().begin).count();
  std::size_t place = gradients_.back().place;
  gradients_.pop_back();
  for (; place != 0; place = places_[place].outer) {
    const std::size_t entry = places_[place].entry;
    bool again = false;  // a module that calls itself counts once
    for (std::size_t p = places_[place].outer; p != 0 && !again; p = places_[p].outer)
      again = places_[p].entry == entry;
    if (!again) entries_[entry].row.backward_seconds += time;
  }
}

std::vector<Table::Row> Table::rows() const {
  std::vector<Row> all;
  for (const Entry& entry : entries_)
    if (entry.row.calls) all.push_back(entry.row);
  std::ranges::stable_sort(all, std::greater(), [](const Row& r) { return r.seconds + r.backward_seconds; });
  return all;
}

std::string Table::str() const {
  std::string out = fmt::format("{:<32} {:>10} {:>12} {:>12} {:>12} {:>10} {:>10}\n", "module", "calls", "ms",
                                "self ms", "backward ms", "kept", "peak");
  for (const Row& r : rows())
    out += fmt::format("{:<32} {:>10} {:>12.3f} {:>12.3f} {:>12.3f} {:>10} {:>10}\n",
                       r.module.starts_with(r.type) ? r.module : r.module + " (" + r.type + ")", r.calls,
                       1e3 * r.seconds, 1e3 * r.self_seconds, 1e3 * r.backward_seconds,
                       minnow::detail::format_bytes(r.kept_bytes), minnow::detail::format_bytes(r.peak_bytes));
  return out;
}

}  // namespace minnow::profile
