#pragma once

#include <utility>

namespace minnow::cpu {

/// This thread's T, made at first use and deleted when the thread ends.  A destructor of the user's that runs later still
/// (of a global tensor's owner) gets a new one, which is then left to the system.
template <class T, class Make> T& per_thread(const Make& make) {
  thread_local constinit T* own = nullptr;
  struct End {
    ~End() { delete std::exchange(own, nullptr); }
  };
  thread_local End end;
  static_cast<void>(end);
  if (!own) own = new T(make());
  return *own;
}
template <class T> T& per_thread() {
  return per_thread<T>([] { return T(); });
}

}  // namespace minnow::cpu
