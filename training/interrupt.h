#pragma once

namespace minnow {

/// While it exists, the first Ctrl-C (SIGINT), SIGTERM, closed terminal (SIGHUP) or closed pipe (SIGPIPE) does not end
/// the program: interrupted() says so, and the training loop saves and ends.  A second SIGINT or SIGTERM ends it at
/// once.
///
///     InterruptGuard guard;
///     for (auto& [x, y] : loader) {
///       ...
///       if (interrupted()) return checkpoint.save(), 128 + interrupted();
///     }
///
/// A write beyond the limit of a file's size (SIGXFSZ) fails instead of ending the program.  A SIGHUP that the caller
/// ignores (nohup) stays ignored.  The handlers are the process's: guards that exist at the same time, such as one
/// around a training::Run, which has its own, see the same signal, and the last one that is destroyed brings the
/// handlers from before the first one back.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// The first signal while there was a guard, or 0; a guard that is made while there is no other sets it back.  A
/// shell's exit status for it is 128 + interrupted().
/// Thread-safe.
int interrupted() noexcept;

}  // namespace minnow
