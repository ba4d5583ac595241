#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/call_site.h>

namespace minnow::profile {

/// Names for a profiler of GPUs.  With profiling on, each operation on a GPU and each Range is an NVTX range, which
/// Nsight Systems shows over its kernels.  Off by default; the environment variable MINNOW_PROFILE=1 turns it on.
/// Thread-safe.
void set_enabled(bool on);
bool is_enabled();

/// A named part of the program, on this thread, for as long as the object lives:
///
///     const profile::Range range("forward");
///
/// A Trace (trace.h) shows it too; there ranges that began in it end with it.  Tensor::backward and Optimizer::step
/// open the ranges "backward" and "step".  Does nothing while there is neither.
class Range {
 public:
  [[nodiscard]] explicit Range(const char* name, minnow::detail::ScopeKind kind = minnow::detail::ScopeKind::range);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const bool open_;  // for NVTX
  const minnow::detail::OpenScope scope_;
};

/// How often each operation of this thread is called, and how long it takes, while the object lives:
///
///     const profile::OperationCounts counts;
///     cross_entropy(net(x), y).backward();
///     std::cout << counts.str();
///
/// Operations count by the name that the user called; what they are composed of is part of them.  A gradient function
/// counts for itself, with the name of its operation.  The time is the host's: of a GPU, that of the launches.  Costs
/// about 0.1 us a call.  Objects may be nested; each is for the thread that made it, and ends there.
class OperationCounts final : private minnow::detail::CallObserver {
 public:
  struct Row {
    std::string name;
    bool backward = false;  ///< of the gradient function
    std::int64_t calls = 0;
    double seconds = 0;  ///< without that of operations inside, as those of a `backward` are
  };

  [[nodiscard]] OperationCounts() = default;

  /// Those that ended so far, the longest first.
  std::vector<Row> rows() const;
  /// The same as a table, with the sum.
  std::string str() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    const minnow::detail::CallSite* site;
    Clock::time_point begin;
    Clock::duration inside{};
  };

  void begin(const minnow::detail::CallSite& site) noexcept override;
  void end(const minnow::detail::CallSite& site) noexcept override;

  std::vector<Open> open_;
  std::map<std::string, Row, std::less<>> ended_[2];  ///< those of gradient functions are the second
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
