#pragma once

#include <cstddef>

namespace minnow::sim {

/// The maximum number of simulated devices.
inline constexpr int kMaxDevices = 16;

/// The properties of the simulated devices.  The defaults are read once from the environment: MINNOW_SIM_DEVICES=2,
/// MINNOW_SIM_MEMORY=64M (of each device), MINNOW_SIM_BANDWIDTH=2G (bytes per second).
struct Options {
  int devices = 1;
  std::size_t memory = 0;         ///< in bytes, of each device; 0: the memory of the machine
  std::size_t pinned_memory = 0;  ///< in bytes; 0: no limit
  double bandwidth = 0;           ///< of each copy engine, in bytes per second; 0: no limit
};

/// Parses the three variables (nullptr: not set).  ValueError with the variable and its allowed values.
Options parse_options(const char* devices, const char* memory, const char* bandwidth);

Options options();
/// Changes the options for new allocations and copies, for tests.  ValueError for a number out of range.  Thread-safe.
void set_options(const Options& options);

/// Changes options for a scope.
class ScopedOptions {
 public:
  [[nodiscard]] explicit ScopedOptions(const Options& changed) : previous_(options()) { set_options(changed); }
  ~ScopedOptions() { set_options(previous_); }
  ScopedOptions(const ScopedOptions&) = delete;
  ScopedOptions& operator=(const ScopedOptions&) = delete;

 private:
  Options previous_;
};

}  // namespace minnow::sim
