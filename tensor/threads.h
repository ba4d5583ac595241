#pragma once

#include <minnow/tensor/source_location.h>

namespace minnow {

/// Threads that one CPU operation may use: 1 inside a SerialRegion, else what set_num_threads gave (at first
/// OpenMP's own number: OMP_NUM_THREADS, or the hardware's threads; 1 in the child of a fork).  Results do not depend on it.
int num_threads();

/// Sets the threads of later CPU operations, for all threads of the process.  ValueError below 1.
void set_num_threads(int threads, SourceLocation where = SourceLocation::current());

/// While one is alive, CPU operations of this thread run on this thread alone: for worker threads, which
/// would otherwise each bring a pool of their own.  May be nested.
class SerialRegion {
 public:
  [[nodiscard]] SerialRegion();
  ~SerialRegion();
  SerialRegion(const SerialRegion&) = delete;
  SerialRegion& operator=(const SerialRegion&) = delete;
};

}  // namespace minnow
