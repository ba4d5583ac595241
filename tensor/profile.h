#pragma once

namespace minnow::profile {

/// Names in a profiler: with profiling on, each operation on a GPU and each Range is a range of NVTX, which Nsight Systems
/// shows over its kernels.  Off by default; the environment variable MINNOW_PROFILE=1 turns it on too.  Thread-safe.
void set_enabled(bool on);
bool is_enabled();

/// A named part of the program for as long as it lives, on this thread:
///
///     const profile::Range range("forward");
///
/// Tensor::backward and Optimizer::step have theirs, "backward" and "step".  Nothing while profiling is off.
class Range {
 public:
  [[nodiscard]] explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const bool open_;
};

namespace detail {

/// Begins and ends a range of the profiler; nothing in a build without CUDA.
void push_range(const char* name);
void pop_range();

}  // namespace detail
}  // namespace minnow::profile
