#pragma once

#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/sim/engine.h>
#include <minnow/tensor/stream.h>

namespace minnow::sim {

/// The copies given to it, in order, and the events that later work waits for: those do not pass through the engine,
/// where copies of other streams would come before them.  Kernels run on the calling thread when all of it is done.
/// Thread-safe.
class SimStream final : public Stream::State {
 public:
  explicit SimStream(Engine& engine) : engine_(engine) {}

  Event record() override;
  void wait(const Event& event) override;
  /// Blocks until its copies and what it waits for are done.  Rethrows the error of one that failed, and is usable
  /// again afterwards.
  void synchronize() override;

  /// Hands a copy to the engine; it starts after all that was given to this stream before.
  Event submit(std::shared_ptr<Copy> copy);

 private:
  Engine& engine_;
  std::mutex mutex_;
  std::shared_ptr<Copy> last_;  // nullptr: nothing outstanding
  std::vector<Event> awaited_;  // since last_
};

}  // namespace minnow::sim
