#pragma once

#include <cstdint>

// The threads of parallel loops.  They are not OpenMP's, so a loop is complete with any number of them and ends when
// its work is done, even if some did not wake up, and OpenMP's settings cannot change a result.  oneDNN is only called
// for one thread (onednn.h).

namespace minnow::cpu {

/// The number of this thread in its loop: 0 outside of loops and for the thread that began one.
int thread_number();

/// Whether this thread is in a parallel loop, of ours or OpenMP's; loops begun there run on this thread only.
bool in_parallel();

/// Numbers [begin, end) of a loop.
using LoopBody = void (*)(const void* object, std::int64_t begin, std::int64_t end);

/// Calls body for ranges that make up [0, n), on at most `threads` threads, of which the caller is number 0.  Each
/// begins with its own share, the same in every loop of this length, and then takes work from the others.  Rethrows an
/// exception of body, after which some numbers may be left out.  Each calling thread has its own helpers, made on first
/// use; if the system gives fewer, the loop takes longer.
void run_on_team(std::int64_t n, int threads, LoopBody body, const void* object);

/// While one exists, loops of this thread use at most `threads` threads: for operations that have allocated memory for
/// each thread, if another thread calls set_num_threads() at the same time.
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
