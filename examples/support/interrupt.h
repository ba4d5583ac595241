#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

/// Signals that end the training early: Ctrl-C, SIGTERM, a closed terminal (SIGHUP), a closed pipe (SIGPIPE).
namespace interrupt {

inline std::atomic<int> received = 0;
inline std::atomic<long> first_ms = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<long>::is_always_lock_free);

/// Records the signal.  A second Ctrl-C or SIGTERM ends the program at once; one that follows within 0.2 s is the
/// same one, which a shell or `timeout` sent both to the program and to its group.
inline void on_signal(int number) {
  const int error = errno;
  int none = 0;
  received.compare_exchange_strong(none, number);
  if (number == SIGINT || number == SIGTERM) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000 + 1;
    long before = 0;
    if (!first_ms.compare_exchange_strong(before, ms) && ms - before > 200) {
      std::signal(number, SIG_DFL);
      std::raise(number);
    }
  }
  errno = error;
}

/// Makes SIGINT and SIGTERM end the program, also where a shell script started it in the background: nothing to save
/// yet.
inline void end_at_once() {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
}

/// From here on signals are recorded.  SIGHUP stays ignored if the caller ignores it (nohup).
inline void watch() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    if (number != SIGHUP || before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit fails instead
}

/// The signal that was received, or 0.
inline int signal() { return received; }

/// The exit status that shells use for it.
inline int exit_status() { return 128 + received; }

}  // namespace interrupt
