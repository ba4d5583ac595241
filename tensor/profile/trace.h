#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow::profile {

struct TraceOptions {
  /// What begins after so many events, of all threads together, is left out, and counted.
  std::int64_t max_events = 1'000'000;
};

/// Writes what this thread does while the object lives to a file in Chrome's trace format, which Perfetto
/// (https://ui.perfetto.dev) and chrome://tracing show:
///
///     const profile::Trace trace("step.json");
///     nn::cross_entropy(net(x), y).backward();
///
/// Each operation is an event with its operands and your line; each call of a module, named by its path in the state
/// dict or else its type, contains the operations of its forward; an arrow joins an operation with its gradient
/// function.  Waiting for a batch, the loader's threads, copies, profile::Range, and the memory of tensors are there
/// too.  Times are the host's, of a GPU those of the launches; copies have a row with the device's time.  A checkpoint
/// shows its modules again in backward.
///
/// Costs about 0.3 us an operation.  The file is written at the end: about 130 bytes an event, which meanwhile take
/// about 100 bytes of memory; each thread keeps up to max_events of its own until then.  Objects may be nested; each
/// has all of its time, is for the thread that made it, and must end there: to destroy it on another one aborts the
/// program.  A process that is forked writes nothing.
class Trace {
 public:
  /// IoError for a file that cannot be written; ValueError for max_events below 1.
  [[nodiscard]] explicit Trace(std::string path, TraceOptions options = {},
                               SourceLocation where = SourceLocation::current());
  /// Saves; what fails then is a warning.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Ends the trace and writes the file; IoError, after which it can be called again; ValueError by another thread.
  /// Once written it does nothing.
  void save();
  /// How many events were left out (TraceOptions::max_events); complete after save().
  std::int64_t left_out() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minnow::profile
