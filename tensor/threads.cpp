#include <minnow/tensor/threads.h>

#include <algorithm>
#include <atomic>
#include <omp.h>
#include <pthread.h>
#include <string>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

std::atomic<int>& setting() {
  static auto* threads = [] {  // never destroyed: a global tensor's operation may come last
    // OpenMP's threads do not exist in the child of a fork, where waiting for them would not end.
    pthread_atfork(nullptr, nullptr, [] { setting().store(1, std::memory_order_relaxed); });
    return new std::atomic<int>(std::max(1, omp_get_max_threads()));
  }();
  return *threads;
}

thread_local int serial_depth = 0;

}  // namespace

int num_threads() { return serial_depth > 0 ? 1 : setting().load(std::memory_order_relaxed); }

void set_num_threads(int threads, SourceLocation where) {
  if (threads < 1)
    throw ValueError("set_num_threads: " + std::to_string(threads) + " threads cannot compute anything\ngive 1 or more",
                     where);
  setting().store(threads, std::memory_order_relaxed);
}

SerialRegion::SerialRegion() { ++serial_depth; }
SerialRegion::~SerialRegion() { --serial_depth; }

}  // namespace minnow
