#include <minnow/tensor/profile/trace.h>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/profile/tracer.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/warning.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/text.h>

namespace minnow::profile {
namespace {

using io::detail::json_quoted;

/// "operands":["float32[64, 784]"],"device":"cpu"
std::string operands_of(const TraceChunk& chunk, const TraceEntry& r) {
  const std::int64_t* at = chunk.operands.data() + r.operands;
  std::string list, device;
  for (int i = 0; i < r.operand_count; ++i) {
    const TraceOperand operand(*at++);
    list += fmt::format("{}\"{}{}\"", i ? "," : "", name_of(operand.dtype),
                        Shape(std::span(at, static_cast<std::size_t>(operand.rank))).str());
    at += operand.rank;
    if (device.empty() || !operand.device.is_cpu()) device = operand.device.str();
  }
  return fmt::format("\"operands\":[{}],\"device\":\"{}\"", list, device);
}

/// Writes events, one a line.
class Writer {
 public:
  Writer(io::AtomicFile& file, std::int64_t start) : file_(file), start_(start), process_(::getpid()) {}

  void begin(std::int64_t left_out) {
    text_ = fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"left_out\":{}}},\"traceEvents\":[\n", left_out);
  }
  void chunk(const TraceChunk& chunk);
  void thread_name(int thread, std::string_view name) {
    event("M", "thread_name", thread, start_);
    text_ += fmt::format(",\"args\":{{\"name\":{}}}}}", json_quoted(name));
  }
  /// Arrows from operations to the gradient functions of their nodes.
  void flows();
  void device_span(const TraceChunk& chunk, const TraceChunk::DeviceSpan& span, int thread, std::int64_t begin,
                   std::int64_t end) {
    event("X", chunk.names[chunk.entries[span.entry].name], thread, begin);
    text_ += fmt::format(",\"dur\":{},\"cat\":\"device\"}}", micros(end - begin));
  }
  void end() {
    text_ += "\n]}\n";
    flush();
    file_.commit();
  }

 private:
  struct Place {
    int thread;
    std::int64_t time;
  };

  static std::string micros(std::int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  void event(const char* phase, std::string_view name, int thread, std::int64_t time) {
    if (text_.size() > kFlushSize) flush();
    text_ +=
        fmt::format("{}{{\"ph\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{}", std::exchange(separator_, ",\n"),
                    phase, json_quoted(name), process_, thread, micros(std::max<std::int64_t>(0, time - start_)));
  }
  void entry(const TraceChunk& chunk, const TraceEntry& r);
  void flush() {
    file_.write(std::as_bytes(std::span(text_)));
    text_.clear();
  }

  static constexpr std::size_t kFlushSize = std::size_t{1} << 20;
  io::AtomicFile& file_;
  const std::int64_t start_;
  const int process_;
  const char* separator_ = "";
  std::string text_;
  std::unordered_map<std::uint64_t, Place> made_, run_;  // by node
};

void Writer::entry(const TraceChunk& chunk, const TraceEntry& r) {
  if (r.kind == TraceKind::counter) {
    event("C", chunk.names[r.name], chunk.thread, r.begin);
    text_ += fmt::format(",\"args\":{{\"value\":{}}}}}", r.value);
    return;
  }
  static constexpr const char* kKinds[] = {"operation", "backward", "module", "range"};
  event("X", chunk.names[r.name], chunk.thread, r.begin);
  text_ +=
      fmt::format(",\"dur\":{},\"cat\":\"{}\",\"args\":{{", micros(r.end - r.begin), kKinds[static_cast<int>(r.kind)]);
  std::string args;
  if (r.line) args = fmt::format("\"at\":{},", json_quoted(file_and_line({r.file, r.line})));
  if (r.kind == TraceKind::module) args += fmt::format("\"type\":{},", json_quoted(chunk.names[r.operands]));
  if (r.kind == TraceKind::range && r.value) args += fmt::format("\"bytes\":{},", r.value);
  if (r.kind <= TraceKind::gradient && r.operand_count) args += operands_of(chunk, r) + ",";
  text_ += std::string_view(args).substr(0, args.size() - !args.empty());
  text_ += "}}";
}

void Writer::chunk(const TraceChunk& chunk) {
  for (const TraceEntry& r : chunk.entries) {
    entry(chunk, r);
    if (r.kind == TraceKind::gradient && r.value)
      run_.emplace(static_cast<std::uint64_t>(r.value), Place{chunk.thread, r.begin});
  }
  for (const TraceChunk::Node& node : chunk.nodes)
    made_.emplace(node.order, Place{chunk.thread, chunk.entries[node.entry].begin});
}

void Writer::flows() {
  for (const auto& [node, run] : run_) {
    const auto made = made_.find(node);
    if (made == made_.end()) continue;  // before the trace
    event("s", "gradient", made->second.thread, made->second.time);
    text_ += fmt::format(",\"cat\":\"backward\",\"id\":{}}}", node);
    event("f", "gradient", run.thread, run.time);
    text_ += fmt::format(",\"cat\":\"backward\",\"id\":{},\"bp\":\"e\"}}", node);
  }
}

/// The host's time of an event, in that of a device.
class DeviceClock {
 public:
  DeviceClock(Device its, int thread) : device(its), row(thread), now_(current_stream(its).record()) {
    now_.synchronize();
    host_ = trace_time();
  }
  std::int64_t host_time(const Event& event) const {
    return host_ - static_cast<std::int64_t>(1e9 * now_.seconds_since(event));
  }

  Device device;
  int row;  ///< of the device in the file: the number of a thread that no thread has

 private:
  Event now_;
  std::int64_t host_;
};

constexpr int kFirstRow = 1'000'000;

/// What a thread let devices do.
void write_spans(Writer& writer, const TraceChunk& chunk, std::vector<DeviceClock>& clocks) {
  for (const TraceChunk::DeviceSpan& span : chunk.spans) {
    try {
      auto clock = std::ranges::find(clocks, span.device, &DeviceClock::device);
      if (clock == clocks.end()) {
        clock = clocks.emplace(clock, span.device, kFirstRow + static_cast<int>(clocks.size()));
        writer.thread_name(clock->row, "copies of " + span.device.str());
      }
      const std::int64_t begin = clock->host_time(span.start), end = clock->host_time(span.end);
      writer.device_span(chunk, span, clock->row, begin, std::max(begin, end));
    } catch (const BackendError&) {}  // the device has failed: the next synchronization reports it
  }
}

}  // namespace

struct Trace::State {
  State(std::string to, std::int64_t max_events, const std::shared_ptr<SharedTrace>& outer, SourceLocation made)
      : path(std::move(to)),
        where(made),
        session(std::make_shared<TraceSession>(max_events, outer)),
        tracer(session, "thread") {}

  const std::string path;
  const SourceLocation where;
  const pid_t process = ::getpid();
  const std::thread::id thread = std::this_thread::get_id();
  const std::int64_t start = trace_time();
  const std::shared_ptr<TraceSession> session;
  Tracer tracer;
  std::vector<TraceChunk> chunks;  // once it has ended, until the file is written
  bool ended = false, saved = false;
};

Trace::Trace(std::string path, TraceOptions options, SourceLocation where) {
  if (options.max_events < 1)
    throw ValueError("Trace: max_events must be at least 1, got " + std::to_string(options.max_events) +
                         "\nleave it out for a million",
                     where);
  { const io::AtomicFile check("Trace", path, where); }
  const ScopeObserver* scopes = calling_thread.scopes;
  state_ = std::make_unique<State>(std::filesystem::absolute(path).string(), options.max_events,
                                   scopes ? scopes->trace() : nullptr, where);
}

Trace::~Trace() {
  try {
    save();
  } catch (const std::exception& error) { warn("the trace is lost: " + std::string(error.what())); }
}

std::int64_t Trace::left_out() const { return state_->session->left_out(); }

void Trace::save() {
  State& s = *state_;
  if (s.saved || s.process != ::getpid()) return;  // the file is that of the process that made the trace
  if (s.thread != std::this_thread::get_id())
    throw ValueError("Trace: save() by another thread than the one that made the trace\ncall it there", s.where);
  if (!s.ended) {
    s.tracer.finish();
    s.chunks = s.session->close();
    s.ended = true;
  }
  io::AtomicFile file("Trace", s.path, s.where);
  Writer writer(file, s.start);
  writer.begin(left_out());
  std::map<int, std::string_view> threads;
  for (const TraceChunk& chunk : s.chunks) threads.emplace(chunk.thread, chunk.thread_name);
  for (const auto& [thread, name] : threads) writer.thread_name(thread, name);
  for (const TraceChunk& chunk : s.chunks) writer.chunk(chunk);
  writer.flows();
  std::vector<DeviceClock> clocks;
  for (const TraceChunk& chunk : s.chunks) write_spans(writer, chunk, clocks);
  writer.end();
  s.saved = true;
  s.chunks = {};
}

}  // namespace minnow::profile
