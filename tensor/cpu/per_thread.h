#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace minnow::cpu {

/// This thread's T, made at first use and deleted when the thread ends.  A destructor of the user's that runs later still
/// (of a global tensor's owner) gets a new one, which stays.
template <class T, class Make> T& per_thread(const Make& make) {
  thread_local constinit T* own = nullptr;
  thread_local constinit bool over = false;
  struct End {
    ~End() {
      over = true;
      delete std::exchange(own, nullptr);
    }
  };
  thread_local End end;
  static_cast<void>(end);
  if (own) return *own;
  own = new T(make());
  if (over) {
    static std::mutex mutex;
    static auto* const left = new std::vector<T*>;  // found here by leak checkers
    const std::lock_guard lock(mutex);
    left->push_back(own);
  }
  return *own;
}
template <class T> T& per_thread() {
  return per_thread<T>([] { return T(); });
}

}  // namespace minnow::cpu
