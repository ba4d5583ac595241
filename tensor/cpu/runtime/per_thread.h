#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace minnow::cpu {

/// This thread's T, made on first use and deleted when the thread ends.  Destructors that run even later (of a global
/// tensor's owner) get a new one, which is never deleted.
template <class T, class Make> T& per_thread(const Make& make) {
  thread_local constinit T* own = nullptr;
  thread_local constinit bool ended = false;
  struct End {
    ~End() {
      ended = true;
      delete std::exchange(own, nullptr);
    }
  };
  thread_local End end;
  static_cast<void>(end);
  if (own) return *own;
  own = new T(make());
  if (ended) {
    static std::mutex mutex;
    static auto* const late_objects = new std::vector<T*>;  // still reachable, for leak checkers
    const std::lock_guard lock(mutex);
    late_objects->push_back(own);
  }
  return *own;
}
template <class T> T& per_thread() {
  return per_thread<T>([] { return T(); });
}

}  // namespace minnow::cpu
