#pragma once

#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow {

// Operations on the CPU compute with threads of minnow's own, a group for each thread that calls operations, made when
// it is first needed.  OpenMP is only asked for its settings, once, for the number to begin with; what the host program
// sets later (omp_set_num_threads, omp_set_dynamic, omp_set_max_active_levels) changes nothing.
//
// - Results have the same bits for any number of threads, on one machine with one version of oneDNN: work is divided by
//   the sizes of the operands alone.
// - Operations called inside a parallel region of the host program, or in a SerialRegion, run on the calling thread.
// - Where the system gives fewer threads than asked for (a limit of processes, no memory), operations run on those that
//   there are.
// - A thread that waits for work stays awake for 0.2 ms, giving its core to whoever wants it, and then sleeps; on a busy
//   machine it sleeps at once.  OMP_WAIT_POLICY and GOMP_SPINCOUNT, where set, decide instead.

/// Threads that one CPU operation may use: 1 inside a SerialRegion, else what set_num_threads gave.
/// At first: OMP_NUM_THREADS (the first number of a list; what is no number counts as not set); else one for each
/// processor that this process may run on, no more than the host program told OpenMP and than its cgroup's CPU quota
/// (rounded up).  Never more than OMP_THREAD_LIMIT or max_threads(); 1 where OMP_MAX_ACTIVE_LEVELS is 0, and in the
/// child of a fork.
int num_threads();

/// Sets the threads of later CPU operations, for all threads of the process.  ValueError below 1 and above
/// max_threads().
void set_num_threads(int threads, SourceLocation where = SourceLocation::current());

/// The most threads that set_num_threads takes: 8 for each processor of the machine, at least 64.
int max_threads();

/// While one is alive, CPU operations of this thread run on this thread alone: for worker threads, which
/// would otherwise each bring threads of their own.  May be nested.
class SerialRegion {
 public:
  [[nodiscard]] SerialRegion();
  ~SerialRegion();
  SerialRegion(const SerialRegion&) = delete;
  SerialRegion& operator=(const SerialRegion&) = delete;
};

namespace detail {

/// Processors that the cgroup of this process may use, by its CPU quota (cgroup v2's cpu.max, v1's cpu.cfs_quota_us, of
/// it and of those that it is in); a fraction, or 0 where there is no quota or nothing that can be read.
/// `root`: put before the paths, for tests.
double cpu_quota(const std::string& root = "");

/// What num_threads() begins with.
struct ThreadSettings {
  const char* omp_num_threads;  ///< the environment's; may be nullptr
  int openmp;                   ///< omp_get_max_threads()
  int openmp_limit;             ///< omp_get_thread_limit()
  int openmp_levels;            ///< omp_get_max_active_levels()
  int processors;               ///< that this process may run on
  double quota;                 ///< cpu_quota()
};
int first_num_threads(const ThreadSettings& settings);

}  // namespace detail

}  // namespace minnow
