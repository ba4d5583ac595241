#include <minnow/tensor/profile/tracer.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>

namespace minnow::detail {
namespace {

/// A thread's number in traces: the system gives its own again.
int thread_number() {
  static std::atomic<int> threads = 0;
  thread_local const int number = ++threads;
  return number;
}

constexpr std::size_t kMaxOperands = 16;

}  // namespace

std::shared_ptr<const void> TraceSession::follow(const char* name, int number) noexcept {
  try {
    return std::make_shared<Tracer>(shared_from_this(), name, number);
  } catch (...) { return nullptr; }
}

void TraceSession::add(TraceChunk chunk, bool of_helper) {
  if (of_helper && outer_) outer_->add(chunk, true);
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  chunks_.push_back(std::move(chunk));
  left_out_ += chunks_.back().left_out;
}

/// Leaves out what begins after the first max_events.  Entries of a chunk are in the order in which they begin.
void TraceSession::cut() {
  std::vector<std::int64_t> begins;
  for (const TraceChunk& chunk : chunks_)
    for (const TraceEntry& e : chunk.entries) begins.push_back(e.begin);
  const auto limit = static_cast<std::size_t>(max_events_);
  if (begins.size() <= limit) return;
  const auto last = begins.begin() + max_events_ - 1;
  std::nth_element(begins.begin(), last, begins.end());
  auto same = 1 + std::count(begins.begin(), last, *last);  // so many that begin with the last one are among the first
  for (TraceChunk& chunk : chunks_) {
    auto end = std::ranges::lower_bound(chunk.entries, *last, {}, &TraceEntry::begin);
    for (; same > 0 && end != chunk.entries.end() && end->begin == *last; ++end) --same;
    chunk.entries.erase(end, chunk.entries.end());
    const auto is_cut = [&](const auto& of) { return of.entry >= chunk.entries.size(); };
    std::erase_if(chunk.nodes, is_cut);
    std::erase_if(chunk.spans, is_cut);
  }
  left_out_ += static_cast<std::int64_t>(begins.size() - limit);
}

std::vector<TraceChunk> TraceSession::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  cut();
  return std::move(chunks_);
}

std::int64_t TraceSession::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

Tracer::Tracer(std::shared_ptr<TraceSession> session, std::string_view name, int number)
    : session_(std::move(session)), is_helper_(number >= 0) {
  chunk_.thread = thread_number();
  chunk_.thread_name = name;
  if (is_helper_) chunk_.thread_name.append(" ").append(std::to_string(number));
}

Tracer::~Tracer() { finish(); }

void Tracer::finish() noexcept {
  if (std::exchange(done_, true)) return;
  const std::int64_t now = trace_time();
  for (const Open& open : open_)
    if (open.entry >= 0) chunk_.entries[static_cast<std::size_t>(open.entry)].end = now;
  try {
    session_->add(std::move(chunk_), is_helper_);
  } catch (...) {  // out of memory: they are missing
  }
  chunk_ = TraceChunk();
}

std::uint32_t Tracer::name(std::string_view text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(chunk_.names.size());
  chunk_.names.emplace_back(text);
  names_.emplace(text, number);
  return number;
}

/// Whether the next entry would be beyond the limit, and counts it then.
bool Tracer::is_full() noexcept {
  const bool full = static_cast<std::int64_t>(chunk_.entries.size()) >= session_->max_events();
  chunk_.left_out += full;
  return full;
}

/// Begins an entry that `make` gives; keys are noted also where there is none.
template <class Make> void Tracer::open(const void* key, const Make& make) noexcept {
  if (done_) return;
  try {
    open_.push_back({key, -1});
    if (is_full()) return;
    TraceEntry entry = make();
    entry.begin = trace_time();
    chunk_.entries.push_back(entry);
    open_.back().entry = static_cast<std::int64_t>(chunk_.entries.size()) - 1;
  } catch (...) {  // out of memory: it is missing
  }
}

void Tracer::close(const void* key) noexcept {
  if (done_) return;
  end_down_to(key, open_, [&](const Open& open) {
    if (open.entry >= 0) chunk_.entries[static_cast<std::size_t>(open.entry)].end = trace_time();
  });
}

/// The entry of the innermost open event, if it is an operation or a gradient function.
TraceEntry* Tracer::operation() {
  if (done_ || open_.empty() || open_.back().entry < 0) return nullptr;
  TraceEntry& entry = chunk_.entries[static_cast<std::size_t>(open_.back().entry)];
  return entry.kind <= TraceKind::gradient ? &entry : nullptr;
}

void Tracer::begin(const CallSite& site) noexcept {
  CallObserver::begin(site);
  open(&site, [&] {
    const SourceLocation where = CallSite::where();
    return TraceEntry{.begin = 0,
                      .end = 0,
                      .file = where.file,
                      .line = where.line,
                      .name = name(site.name()),
                      .value = site.is_earlier() ? static_cast<std::int64_t>(std::exchange(next_node_, 0)) : 0,
                      .kind = site.is_earlier() ? TraceKind::gradient : TraceKind::operation};
  });
}

void Tracer::end(const CallSite& site) noexcept {
  CallObserver::end(site);
  close(&site);
  try {
    if (!done_) note_memory();
  } catch (...) {  // out of memory, or a device that failed
  }
}

void Tracer::operands(const Operands& operands) {
  CallObserver::operands(operands);
  TraceEntry* const entry = operation();
  if (!entry || entry != &chunk_.entries.back() || entry->operand_count > 0) return;  // or those of a part of it
  device_ = Device();
  const std::size_t before = chunk_.operands.size();
  std::uint8_t count = 0;
  for (const Operand& o : operands.first(std::min(operands.size(), kMaxOperands))) {
    if (o.left_out()) continue;
    if (!o.tensor.device().is_cpu()) device_ = o.tensor.device();
    chunk_.operands.push_back(TraceOperand::packed(o.tensor.device(), o.tensor.dtype(), o.tensor.dim()));
    chunk_.operands.insert(chunk_.operands.end(), o.tensor.shape().begin(), o.tensor.shape().end());
    ++count;
  }
  entry->operands = static_cast<std::uint32_t>(before);
  entry->operand_count = count;
}

void Tracer::recorded(std::uint64_t node) noexcept {
  CallObserver::recorded(node);
  try {
    if (operation()) chunk_.nodes.push_back({node, static_cast<std::uint32_t>(open_.back().entry)});
  } catch (...) {  // out of memory: the flow is missing
  }
}

void Tracer::runs(std::uint64_t node) noexcept {
  CallObserver::runs(node);
  next_node_ = node;
}

void Tracer::enter(const Scope& scope) noexcept {
  ScopeObserver::enter(scope);
  if (scope.kind == ScopeKind::backward || scope.kind == ScopeKind::step) return;  // they are operations too
  open(scope.key, [&] {
    TraceEntry entry{.begin = 0,
                     .end = 0,
                     .file = scope.where.file,
                     .line = scope.where.line,
                     .value = scope.bytes,
                     .kind = scope.type ? TraceKind::module : TraceKind::range};
    if (scope.type) {
      auto type = types_.find(scope.type);
      if (type == types_.end()) type = types_.emplace(scope.type, name(scope.type_name(scope.key))).first;
      entry.operands = type->second;
    }
    entry.name = scope.type && !*scope.name ? entry.operands : name(scope.name);
    return entry;
  });
}

void Tracer::leave(const void* key) noexcept {
  ScopeObserver::leave(key);
  close(key);
}

void Tracer::count(std::string_view what, std::int64_t value, std::int64_t time) {
  if (is_full()) return;
  chunk_.entries.push_back(
      {.begin = time, .end = time, .name = name(what), .value = value, .kind = TraceKind::counter});
}

void Tracer::count(const char* what, std::int64_t value) noexcept {
  ScopeObserver::count(what, value);
  try {
    if (!done_) count(std::string_view(what), value, trace_time());
  } catch (...) {  // out of memory: it is missing
  }
}

/// The memory of tensors, when it has changed.
void Tracer::note_memory() {
  const std::int64_t allocated = backend_of(device_).allocator(device_.index()).stats().allocated;
  if (allocated == std::exchange(allocated_, allocated)) return;
  count("memory of " + device_.str(), allocated, trace_time());
}

void Tracer::on_device(Device device, const Event& start, const Event& end) noexcept {
  ScopeObserver::on_device(device, start, end);
  try {
    if (!done_ && !open_.empty() && open_.back().entry >= 0 && !is_full())
      chunk_.spans.push_back({device, start, end, static_cast<std::uint32_t>(open_.back().entry)});
  } catch (...) {  // out of memory: it is missing
  }
}

}  // namespace minnow::detail
