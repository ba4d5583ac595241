#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/runtime/stream.h>

namespace minnow {

enum class TransferDirection { to_device, to_host, between_devices };
inline constexpr int kTransferDirections = 3;

/// "to device", "to host", "between devices".
std::string_view name_of(TransferDirection direction);

struct TransferTotals {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  double seconds = 0;  ///< duration of the copies; non-blocking ones are counted when they are done
};

/// The copies of one line of the user's program in one direction.
struct TransferLine {
  std::string file;
  unsigned line = 0;
  TransferDirection direction = TransferDirection::to_device;
  TransferTotals totals;
};

/// The copies between devices since the start of the process or reset_transfer_report().
///
///     transfers        bytes    count   seconds
///     to device     187.5 MB      938    0.0213
///     to host         3.7 kB      938    0.0011
///       187.5 MB  938x  to device  train.cpp:42
///         3.7 kB  938x  to host    train.cpp:47
struct TransferReport {
  TransferTotals totals[kTransferDirections];
  std::vector<TransferLine> lines;  ///< most bytes first

  const TransferTotals& operator[](TransferDirection direction) const { return totals[static_cast<int>(direction)]; }
};

/// Thread-safe.
TransferReport transfer_report();
/// Thread-safe.
void reset_transfer_report();
std::ostream& operator<<(std::ostream& out, const TransferReport& report);
std::string to_string(const TransferReport& report);

namespace detail {

/// Adds a copy to the report, made at `where`.  A copy that may still run has a start and an end event.
void note_transfer(TransferDirection direction, std::int64_t bytes, double seconds, SourceLocation where);
void note_transfer(TransferDirection direction, std::int64_t bytes, const Event& start, const Event& end,
                   SourceLocation where);

}  // namespace detail
}  // namespace minnow
