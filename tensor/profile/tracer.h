#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow::detail {

/// What an entry of a trace is of.
enum class TraceKind : std::uint8_t { operation, gradient, module, range, counter };

/// Times are those of the steady clock, in nanoseconds.  Texts are numbers of names in the chunk.
struct TraceEntry {
  std::int64_t begin, end;
  const char* file = "";
  std::uint32_t line = 0, name = 0;
  std::int64_t value = 0;      ///< the node of a gradient, the value of a counter, the bytes of a copy
  std::uint32_t operands = 0;  ///< where they begin in the chunk; of a module the name of its type
  TraceKind kind;
  std::uint8_t operand_count = 0;
};

/// What a thread did, in the order in which it began.
struct TraceChunk {
  struct Node {
    std::uint64_t order;
    std::uint32_t entry;  ///< the operation that made it
  };
  struct DeviceSpan {
    Device device;
    Event start, end;
    std::uint32_t entry;  ///< during which it was asked for
  };

  int thread = 0;
  std::string thread_name;
  std::vector<TraceEntry> entries;
  std::vector<std::int64_t> operands;  ///< of each a TraceOperand, packed, and its sizes
  std::vector<std::string> names;
  std::vector<Node> nodes;
  std::vector<DeviceSpan> spans;
  std::int64_t left_out = 0;  ///< entries beyond the limit
};

/// An operand as it stands in a chunk before its sizes.
struct TraceOperand {
  static std::int64_t packed(Device device, DType dtype, int rank) {
    return static_cast<std::int64_t>(rank) << 32 | std::int64_t{device.index()} << 16 |
           static_cast<std::int64_t>(device.type()) << 8 | static_cast<std::int64_t>(dtype);
  }
  explicit TraceOperand(std::int64_t packed)
      : rank(static_cast<int>(packed >> 32)),
        device(static_cast<DeviceType>(packed >> 8 & 0xff), static_cast<int>(packed >> 16 & 0xffff)),
        dtype(static_cast<DType>(packed & 0xff)) {}

  int rank;
  Device device;
  DType dtype;
};

/// A trace, to which several threads give what they did.  Thread-safe.
class TraceSession final : public SharedTrace, public std::enable_shared_from_this<TraceSession> {
 public:
  /// `outer`: the trace around it, which is a session too.
  TraceSession(std::int64_t max_events, const std::shared_ptr<SharedTrace>& outer)
      : max_events_(max_events), outer_(std::static_pointer_cast<TraceSession>(outer)) {}

  std::shared_ptr<const void> follow(const char* name, int number) noexcept override;

  /// `of_helper`: the trace around it gets it too, while what the thread of both does it has itself.
  void add(TraceChunk chunk, bool of_helper);
  /// What it has, of which the earliest max_events; what comes later is dropped.
  std::vector<TraceChunk> close();
  std::int64_t max_events() const { return max_events_; }
  /// How many events did not fit.
  std::int64_t left_out() const;

 private:
  void cut();

  const std::int64_t max_events_;
  const std::shared_ptr<TraceSession> outer_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::int64_t left_out_ = 0;
  std::vector<TraceChunk> chunks_;
};

/// Records what its thread does while it lives, for a trace.
class Tracer final : CallObserver, ScopeObserver {
 public:
  /// Of the trace's own thread, called `name`, or helper `number`.
  Tracer(std::shared_ptr<TraceSession> session, std::string_view name, int number = -1);
  ~Tracer();

  /// Gives the session what there is, and records nothing more.  What is open ends here.
  void finish() noexcept;

 private:
  struct Open {
    const void* key;
    std::int64_t entry;  // -1: none
  };

  void begin(const CallSite& site) noexcept override;
  void end(const CallSite& site) noexcept override;
  void operands(const Operands& operands) override;
  void recorded(std::uint64_t node) noexcept override;
  void runs(std::uint64_t node) noexcept override;
  void enter(const Scope& scope) noexcept override;
  void leave(const void* key) noexcept override;
  void count(const char* name, std::int64_t value) noexcept override;
  void on_device(Device device, const Event& start, const Event& end) noexcept override;
  std::shared_ptr<SharedTrace> trace() const noexcept override { return done_ ? ScopeObserver::trace() : session_; }

  template <class Make> void open(const void* key, const Make& make) noexcept;
  void close(const void* key) noexcept;
  void note_memory();
  std::uint32_t name(std::string_view text);
  bool is_full() noexcept;
  void count(std::string_view name, std::int64_t value, std::int64_t time);
  TraceEntry* operation();

  const std::shared_ptr<TraceSession> session_;
  const bool is_helper_;
  TraceChunk chunk_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::map<const std::type_info*, std::uint32_t> types_;
  std::vector<Open> open_;
  std::uint64_t next_node_ = 0;
  Device device_;  // of the operands that came last
  std::int64_t allocated_ = -1;
  bool done_ = false;
};

/// The clock of TraceEntry.
inline std::int64_t trace_time() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace minnow::detail
