#pragma once

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

namespace detail {

/// Begin and end an NVTX range; do nothing in a build without CUDA.
void push_range(const char* name);
void pop_range();

}  // namespace detail
}  // namespace minnow::profile
