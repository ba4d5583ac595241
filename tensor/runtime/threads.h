#pragma once

#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow {

// Operations on the CPU run on minnow's own threads: each thread that calls operations has a team, made on first use.
// OpenMP's settings are read once, for the initial number of threads; what the program sets later (omp_set_num_threads,
// omp_set_dynamic, omp_set_max_active_levels) has no effect.
//
// - Results have the same bits for any number of threads, on one machine with one version of oneDNN: work is divided by
//   the sizes of the operands only.
// - Operations called in an OpenMP parallel region or a SerialRegion run on the calling thread.
// - If the system gives fewer threads than requested (process limit, no memory), operations run on those.
// - A thread that waits for work spins for 0.2 ms, yielding its core to other threads, and then sleeps; on a busy
//   machine it sleeps at once.  OMP_WAIT_POLICY and GOMP_SPINCOUNT, if set, decide instead.

/// The number of threads that a CPU operation may use: 1 in a SerialRegion, otherwise what set_num_threads() set.
/// Initially: OMP_NUM_THREADS (the first number of a list; ignored if it is not a number); otherwise one for each
/// processor that this process may run on, at most what the program set in OpenMP before, and at most the CPU quota of
/// its cgroup, rounded up.  Never more than OMP_THREAD_LIMIT or max_threads(); 1 if OMP_MAX_ACTIVE_LEVELS is 0, and in
/// a forked child.
int num_threads();

/// Sets the number of threads of later CPU operations, called from any thread of the process.  ValueError below 1 and
/// above max_threads().
void set_num_threads(int threads, SourceLocation where = SourceLocation::current());

/// The maximum for set_num_threads(): 8 for each processor of the machine, at least 64.
int max_threads();

/// While one exists, CPU operations of this thread use this thread only: for worker threads, each of which would
/// otherwise have its own team.  May be nested.
class SerialRegion {
 public:
  [[nodiscard]] SerialRegion();
  ~SerialRegion();
  SerialRegion(const SerialRegion&) = delete;
  SerialRegion& operator=(const SerialRegion&) = delete;
};

namespace detail {

/// The processors that the CPU quota of this process's cgroup and its parents allows (cgroup v2's cpu.max, v1's
/// cpu.cfs_quota_us): a fraction; 0 if there is no quota or it cannot be read.  `root` is a prefix of the paths, for
/// tests.
double cpu_quota(const std::string& root = "");

/// What the initial num_threads() depends on.
struct ThreadSettings {
  const char* omp_num_threads;  ///< the environment variable; may be nullptr
  int openmp;                   ///< omp_get_max_threads()
  int openmp_limit;             ///< omp_get_thread_limit()
  int openmp_levels;            ///< omp_get_max_active_levels()
  int processors;               ///< that this process may run on
  double quota;                 ///< cpu_quota()
};
int first_num_threads(const ThreadSettings& settings);

}  // namespace detail

}  // namespace minnow
