#include <minnow/training/interrupt.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <mutex>

namespace minnow {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
struct sigaction before[std::size(kSignals)];
std::mutex guards_mutex;
int guards = 0;  // that exist: the first one sets the handlers, the last one brings those before back

std::atomic<int> received = 0;
std::atomic<long> first_ms = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<long>::is_always_lock_free);

/// One that follows within 0.2 s is the same one, which a shell or `timeout` sent both to the program and to its group.
void on_signal(int number) {
  const int error = errno;
  int none = 0;
  received.compare_exchange_strong(none, number);
  if (number == SIGINT || number == SIGTERM) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000 + 1;
    long first = 0;
    if (!first_ms.compare_exchange_strong(first, ms) && ms - first > 200) {
      std::signal(number, SIG_DFL);
      std::raise(number);
    }
  }
  errno = error;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) return;
  received = 0;
  first_ms = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (kSignals[i] == SIGXFSZ) std::signal(SIGXFSZ, SIG_IGN);
    else if (kSignals[i] != SIGHUP || before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (--guards > 0) return;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

int interrupted() noexcept { return received; }

}  // namespace minnow
