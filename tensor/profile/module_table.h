#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/profile/observers.h>

namespace minnow::profile {

/// Time and memory of each module that this thread calls while the object lives:
///
///     const profile::Table table;
///     nn::cross_entropy(net(x), y).backward();
///     std::cout << table.str();
///
///     module                  calls           ms      self ms  backward ms       kept       peak
///     Net                         1       10.105        0.030       14.700    12.5 MB    13.1 MB
///     conv1 (Conv2d)              1        4.210        4.210        5.102     5.9 MB     5.9 MB
///
/// Modules have their path in the state dict, or else the name of their type; "#2" is another module of the same name.
/// What is computed outside of modules is in no row.  Times are the host's.  What a checkpoint computes again are
/// further calls.  For backward it remembers the last 30,000 changes from a module to another.  Costs about 0.1 us an
/// operation.  Objects may be nested; each is for the thread that made it, and must end there.
class Table final : minnow::detail::CallObserver, minnow::detail::ScopeObserver {
 public:
  struct Row {
    std::string module;
    std::string type;
    std::int64_t calls = 0;
    double seconds = 0;           ///< with the modules that it calls
    double self_seconds = 0;      ///< without them
    double backward_seconds = 0;  ///< gradient functions of what it has computed, with the modules that it calls
    std::int64_t kept_bytes = 0;  ///< by which all calls let the tensors' memory grow: results, and what backward needs
    std::int64_t peak_bytes = 0;  ///< above what there was before, the most of one call
  };

  [[nodiscard]] Table() = default;

  /// Of calls that ended so far, those that took longest, forward and backward, first.
  std::vector<Row> rows() const;
  std::string str() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::ptrdiff_t kMaxNodes = 1 << 16;
  struct Entry {
    Row row;
    std::string name;  ///< without the number that tells it from others
    const std::type_info* type;
    int open = 0;  ///< calls
  };
  /// A module, called by that of another place.
  struct Place {
    std::size_t entry, outer;
  };
  /// A module that runs.
  struct Call {
    const void* key;
    std::size_t place;
    Clock::time_point begin;
    Clock::duration inside{};
    std::int64_t before = kUnknown, peak = 0;  ///< of the memory
  };
  /// A gradient function that runs.
  struct Gradient {
    const minnow::detail::CallSite* site;
    std::size_t place;
    Clock::time_point begin;
  };
  /// Nodes with these numbers were made in this place.
  struct Nodes {
    std::uint64_t first, last;
    std::size_t place;
  };

  void begin(const minnow::detail::CallSite& site) noexcept override;
  void end(const minnow::detail::CallSite& site) noexcept override;
  void operands(const minnow::detail::Operands& operands) override;
  void recorded(std::uint64_t node) noexcept override;
  void runs(std::uint64_t node) noexcept override;
  void enter(const minnow::detail::Scope& scope) noexcept override;
  void leave(const void* key) noexcept override;

  std::size_t entry_of(const minnow::detail::Scope& scope);
  void add(const Call& call);  ///< the innermost, which ends
  std::int64_t allocated() const;

  std::vector<Entry> entries_;
  std::map<const void*, std::size_t> newest_;                            // the entry of a module
  std::vector<Place> places_{{0, 0}};                                    // the first is outside of modules
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> place_of_;  // by place of the caller and entry
  std::vector<Call> calls_;
  std::vector<Nodes> nodes_;  // newest last
  bool outside_ = false;      // the newest node was made outside of modules
  std::vector<Gradient> gradients_;
  std::uint64_t next_node_ = 0;
  Device device_;  // whose memory is noted: the first that is not the CPU
};

}  // namespace minnow::profile
