#pragma once

#include <cstdint>

// The threads of parallel loops.  They are our own, not OpenMP's: a loop is complete with any number of them, and ends
// when its work is done, whether or not all of them woke; what OpenMP is set to, here or in the host program, cannot
// change a result.  oneDNN is only called for one thread (onednn.h).

namespace minnow::cpu {

/// Number of this thread among those that share a loop: 0 outside of loops and in the thread that began one.
int thread_number();

/// Whether this thread is inside a parallel loop, of ours or of OpenMP: loops begun there run on this thread alone.
bool in_parallel();

/// Numbers [begin, end) of a loop.
using LoopBody = void (*)(const void* object, std::int64_t begin, std::int64_t end);

/// Calls body for ranges that make up [0, n), from at most `threads` threads at the same time, of which this is number
/// 0.  Each begins with a share of its own, the same one in each loop of this length, and then helps the others.
/// Rethrows what body throws, after which numbers may be left out.  Each calling thread has helpers of its own, made
/// when they are first needed; where the system gives fewer the loop takes longer.
void run_on_team(std::int64_t n, int threads, LoopBody body, const void* object);

/// While one is alive, loops of this thread use at most `threads` threads: for operations that have divided memory
/// among them, whatever set_num_threads is told meanwhile.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace minnow::cpu
