#include <minnow/tensor/profile/memory_report.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <tuple>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/storage_origin.h>
#include <minnow/tensor/text.h>

namespace minnow {
namespace {

bool recorded_from_the_start() {
  const char* value = std::getenv("MINNOW_RECORD_MEMORY");
  return value && std::string_view(value) == "1";
}

auto line_of(const MemoryUse& use) {
  return std::tuple(use.device.type(), use.device.index(), use.line, std::string_view(use.file),
                    std::string_view(use.operation));
}

bool is_larger(const MemoryUse& a, const MemoryUse& b) { return a.bytes > b.bytes; }

/// Joins the uses of each line; most bytes first.
std::vector<MemoryUse> by_line(std::vector<MemoryUse> uses) {
  std::sort(uses.begin(), uses.end(), [](const MemoryUse& a, const MemoryUse& b) { return line_of(a) < line_of(b); });
  std::vector<MemoryUse> lines;
  for (MemoryUse& use : uses) {
    use.what.clear();
    if (lines.empty() || line_of(lines.back()) != line_of(use)) {
      lines.push_back(std::move(use));
      continue;
    }
    lines.back().tensors += use.tensors;
    lines.back().bytes += use.bytes;
  }
  std::stable_sort(lines.begin(), lines.end(), is_larger);
  return lines;
}

std::string text_of(const MemoryUse& use) {
  std::string text = use.device.str() + "  " + (use.operation.empty() ? "?" : use.operation);
  text.resize(std::max<std::size_t>(text.size(), 28), ' ');
  return text + "  " + file_and_line({use.file.c_str(), use.line}) + (use.what.empty() ? "" : "  " + use.what);
}

std::string line_text(const MemoryUse& use) {
  char row[64];
  std::snprintf(row, sizeof row, "  %10s %7lldx  ", format_bytes(use.bytes).c_str(),
                static_cast<long long>(use.tensors));
  return row + text_of(use) + "\n";
}

}  // namespace

namespace detail {

std::atomic<bool> StorageOrigin::recording{recorded_from_the_start()};

/// The list of all entries.
struct Origins {
  std::mutex mutex;
  StorageOrigin* first = nullptr;

  static Origins& all() {
    static auto* origins = new Origins();  // never destroyed: global tensors may be destroyed last
    return *origins;
  }

  std::vector<MemoryUse> uses() {
    const std::lock_guard lock(mutex);
    std::vector<MemoryUse> result;
    for (const StorageOrigin* o = first; o; o = o->next_)
      result.push_back({o->device_, o->op_, o->where_.file, o->where_.line, 1, o->bytes_, o->what_});
    return result;
  }
};

StorageOrigin::StorageOrigin(std::size_t bytes, Device device)
    : bytes_(static_cast<std::int64_t>(bytes)), device_(device), op_(CallSite::op()), where_(CallSite::where()) {
  Origins::all();  // allocated here: link() does not throw
}

void StorageOrigin::link() noexcept {
  Origins& all = Origins::all();
  const std::lock_guard lock(all.mutex);
  next_ = all.first;
  if (next_) next_->previous_ = this;
  all.first = this;
  linked_ = true;
}

StorageOrigin::~StorageOrigin() {
  if (!linked_) return;
  Origins& all = Origins::all();
  const std::lock_guard lock(all.mutex);
  (previous_ ? previous_->next_ : all.first) = next_;
  if (next_) next_->previous_ = previous_;
}

void StorageOrigin::describe(SourceLocation where, const Wanted* wanted) {
  std::string what = wanted ? std::string(name_of(wanted->dtype)) + wanted->shape.str() : "";
  const std::lock_guard lock(Origins::all().mutex);
  what_.swap(what);
  if (where_.line == 0) where_ = where;
}

std::string largest_memory_uses(const std::string& device) {
  if (!StorageOrigin::recording.load(std::memory_order_relaxed)) return "";
  constexpr std::size_t kMost = 3;
  std::string text;
  std::size_t listed = 0;
  for (const MemoryUse& use : by_line(Origins::all().uses()))
    if (listed < kMost && device.substr(0, device.find(',')) == use.device.str()) {
      text += '\n';
      text += line_text(use);
      text.pop_back();
      ++listed;
    }
  return text;
}

}  // namespace detail

MemoryReport memory_report() {
  constexpr std::size_t kLargest = 10;
  MemoryReport report;
  report.recording = StorageOrigin::recording.load(std::memory_order_relaxed);
  report.largest = Origins::all().uses();
  report.lines = by_line(report.largest);
  std::stable_sort(report.largest.begin(), report.largest.end(), is_larger);
  if (report.largest.size() > kLargest) report.largest.erase(report.largest.begin() + kLargest, report.largest.end());
  return report;
}

void record_memory(bool on) { StorageOrigin::recording.store(on, std::memory_order_relaxed); }

std::string to_string(const MemoryReport& report) {
  std::string text = "memory           bytes  tensors\n";
  char row[64];
  std::vector<MemoryUse> devices = report.lines;
  for (MemoryUse& use : devices) use = {use.device, "", "", 0, use.tensors, use.bytes, ""};
  for (const MemoryUse& use : by_line(std::move(devices))) {
    std::snprintf(row, sizeof row, "%-12s%10s %8lld\n", use.device.str().c_str(), format_bytes(use.bytes).c_str(),
                  static_cast<long long>(use.tensors));
    text += row;
  }
  for (const MemoryUse& use : report.lines) text += line_text(use);
  if (!report.largest.empty()) text += "largest\n";
  for (const MemoryUse& use : report.largest) text += line_text(use);
  if (!report.recording) text += "memory is not recorded: call record_memory() first\n";
  return text;
}

std::ostream& operator<<(std::ostream& out, const MemoryReport& report) {
  write_text(out, to_string(report));
  return out;
}

}  // namespace minnow
