#include <minnow/tensor/profile/transfer_report.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <ostream>
#include <tuple>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/text.h>

namespace minnow {
namespace {

/// File names are compared by address, since they are literals.
using Key = std::tuple<const char*, unsigned, TransferDirection>;

/// A copy whose duration is not yet known.
struct UntimedCopy {
  Key key;
  Event start, end;
};

class Ledger {
 public:
  void add(const Key& key, std::int64_t bytes, double seconds) {
    const std::lock_guard lock(mutex_);
    add_totals(key, bytes, seconds);
  }

  void add(const Key& key, std::int64_t bytes, const Event& start, const Event& end) {
    const std::lock_guard lock(mutex_);
    add_totals(key, bytes, 0);
    pending_.push_back({key, start, end});
    if (pending_.size() >= limit_) {
      add_finished_copies();
      limit_ = 2 * pending_.size() + kMinLimit;
    }
  }

  TransferReport report() {
    const std::lock_guard lock(mutex_);
    add_finished_copies();
    TransferReport result;
    for (const auto& [key, totals] : entries_) {
      const auto& [file, line, direction] = key;
      TransferTotals& sum = result.totals[static_cast<int>(direction)];
      sum.bytes += totals.bytes;
      sum.count += totals.count;
      sum.seconds += totals.seconds;
      result.lines.push_back({file, line, direction, totals});
    }
    std::stable_sort(result.lines.begin(), result.lines.end(),
                     [](const TransferLine& a, const TransferLine& b) { return a.totals.bytes > b.totals.bytes; });
    return result;
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    pending_.clear();
  }

 private:
  static constexpr std::size_t kMinLimit = 64;

  void add_totals(const Key& key, std::int64_t bytes, double seconds) {
    TransferTotals& totals = entries_[key];
    totals.bytes += bytes;
    totals.seconds += seconds;
    ++totals.count;
  }

  /// Adds the durations of finished copies to the totals.
  void add_finished_copies() {
    std::erase_if(pending_, [this](const UntimedCopy& copy) {
      try {
        if (!copy.end.is_ready()) return false;
        entries_[copy.key].seconds += copy.end.seconds_since(copy.start);
      } catch (...) {  // a failed copy is reported by the next synchronization
      }
      return true;
    });
  }

  std::mutex mutex_;
  std::map<Key, TransferTotals> entries_;
  std::vector<UntimedCopy> pending_;
  std::size_t limit_ = kMinLimit;
};

Ledger& ledger() {
  static auto* instance = new Ledger();  // never destroyed: globals may be copied when the program ends
  return *instance;
}

}  // namespace

std::string_view name_of(TransferDirection direction) {
  static constexpr std::string_view kNames[kTransferDirections] = {"to device", "to host", "between devices"};
  return kNames[static_cast<int>(direction)];
}

TransferReport transfer_report() { return ledger().report(); }

void reset_transfer_report() { ledger().reset(); }

std::string to_string(const TransferReport& report) {
  char row[160];
  std::snprintf(row, sizeof row, "%-16s %10s %8s %10s\n", "transfers", "bytes", "count", "seconds");
  std::string text = row;
  for (int i = 0; i < kTransferDirections; ++i) {
    const TransferTotals& t = report.totals[i];
    if (t.count == 0) continue;
    std::snprintf(row, sizeof row, "%-16s %10s %8lld %10.4f\n", name_of(TransferDirection(i)).data(),
                  format_bytes(t.bytes).c_str(), static_cast<long long>(t.count), t.seconds);
    text += row;
  }
  for (const TransferLine& line : report.lines) {
    std::snprintf(row, sizeof row, "  %10s %7lldx  %-15s  ", format_bytes(line.totals.bytes).c_str(),
                  static_cast<long long>(line.totals.count), name_of(line.direction).data());
    text += row + file_and_line({line.file.c_str(), line.line}) + "\n";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const TransferReport& report) {
  write_text(out, to_string(report));
  return out;
}

namespace detail {

void note_transfer(TransferDirection direction, std::int64_t bytes, double seconds, SourceLocation where) {
  ledger().add({where.file, where.line, direction}, bytes, seconds);
}

void note_transfer(TransferDirection direction, std::int64_t bytes, const Event& start, const Event& end,
                   SourceLocation where) {
  ledger().add({where.file, where.line, direction}, bytes, start, end);
}

}  // namespace detail
}  // namespace minnow
