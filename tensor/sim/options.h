#pragma once

#include <cstddef>

namespace minnow::sim {

/// The most simulated devices that a process can have.
inline constexpr int kMaxDevices = 16;

/// What the simulated devices are like.  Defaults come once from the environment: MINNOW_SIM_DEVICES=2,
/// MINNOW_SIM_MEMORY=64M (of each device), MINNOW_SIM_BANDWIDTH=2G (bytes a second).
struct Options {
  int devices = 1;
  std::size_t memory = 0;         ///< bytes of each device; 0: as much as the machine has
  std::size_t pinned_memory = 0;  ///< bytes of pinned host memory; 0: no limit
  double bandwidth = 0;           ///< of each device's copy engine; 0: as fast as the machine copies
};

/// Reads the three settings (nullptr: not set).  ValueError, naming the variable and what it may be.
Options parse_options(const char* devices, const char* memory, const char* bandwidth);

Options options();
/// Changes them for new allocations and copies.  Thread-safe, but meant for tests.  ValueError for a bad
/// number.
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
