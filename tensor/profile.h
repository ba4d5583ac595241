#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::profile {

/// Names for a profiler.  With profiling on, each operation on a GPU and each Range is an NVTX range, which Nsight
/// Systems shows over its kernels.  Off by default; the environment variable MINNOW_PROFILE=1 turns it on.
/// Thread-safe.
void set_enabled(bool on);
bool is_enabled();

/// A named part of the program, on this thread, for as long as the object lives:
///
///     const profile::Range range("forward");
///
/// Tensor::backward and Optimizer::step open the ranges "backward" and "step".  Does nothing while profiling is off.
class Range {
 public:
  [[nodiscard]] explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const bool open_;
};

/// An operation that ran by plain loops, because this machine or a library has nothing faster for its operands.
struct SlowPath {
  std::string op, why;
  std::string file;  ///< of the first call
  unsigned line = 0;
  std::int64_t count = 0;
};

/// The operations since the start of the process that took a slow path, in the order in which they were met first.  The
/// environment variable MINNOW_WARN_SLOW=1 also makes each a warning (warning.h), once, with the user's line.
/// Thread-safe.
std::vector<SlowPath> slow_paths();

namespace detail {

/// Adds to slow_paths() that the operation of the open CallSite, or else `op`, is slow.
void note_slow_path(std::string_view op, std::string_view why);

/// Begin and end an NVTX range; do nothing in a build without CUDA.
void push_range(const char* name);
void pop_range();

}  // namespace detail
}  // namespace minnow::profile
