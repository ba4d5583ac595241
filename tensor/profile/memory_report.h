#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>
#include <minnow/tensor/device.h>

namespace minnow {

/// Memory of tensors that a line of the user's program made.
struct MemoryUse {
  Device device;
  std::string operation;  ///< empty if none was running
  std::string file;       ///< empty if the line is not known
  unsigned line = 0;
  std::int64_t tensors = 0;  ///< that share no memory
  std::int64_t bytes = 0;
  std::string what;  ///< "float32[64, 784]": of a single tensor, where it is known
};

/// The memory that tensors hold now, of those made since record_memory(); not memory of the caller (from_blob).
///
///     memory         bytes  tensors
///     cpu         812.3 MB       14
///        800.0 MB      8x  cpu    linear                train.cpp:42
///         12.3 MB      6x  cpu    load                  train.cpp:17
///     largest
///        100.0 MB  cpu    linear                train.cpp:42  float32[5000, 5000]
///
/// A gradient belongs to the line of its operation in forward, an optimizer's state to that of its first step.
struct MemoryReport {
  bool recording = false;
  std::vector<MemoryUse> lines;    ///< most bytes first
  std::vector<MemoryUse> largest;  ///< the ten largest tensors
};

/// Thread-safe.
MemoryReport memory_report();
/// Starts to remember, or no longer remembers, which line makes each tensor.  Off unless MINNOW_RECORD_MEMORY=1 is set;
/// costs a small allocation for each tensor.  While it is on, an OutOfMemoryError names the lines that hold most.
/// Thread-safe.
void record_memory(bool on = true);
std::ostream& operator<<(std::ostream& out, const MemoryReport& report);
std::string to_string(const MemoryReport& report);

}  // namespace minnow
