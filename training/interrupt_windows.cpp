#include <minnow/training/interrupt.h>

#include <atomic>
#include <csignal>
#include <iterator>
#include <mutex>

namespace minnow {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGBREAK};
void (*before[std::size(kSignals)])(int);
std::mutex guards_mutex;
int guards = 0;  // that exist: the first one sets the handlers, the last one brings those before back

std::atomic<int> received = 0;

/// Called once, on a thread of the system: the second signal finds the default, which ends the program.
void on_signal(int number) {
  int none = 0;
  received.compare_exchange_strong(none, number);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) return;
  received = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) before[i] = std::signal(kSignals[i], on_signal);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (--guards > 0) return;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], before[i]);
}

int interrupted() noexcept { return received; }

}  // namespace minnow
