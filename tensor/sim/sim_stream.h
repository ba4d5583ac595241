#pragma once

#include <memory>
#include <mutex>
#include <minnow/tensor/sim/engine.h>
#include <minnow/tensor/stream.h>

namespace minnow::sim {

/// The copies given to it, in order.  Kernels run on the calling thread when the copies of their stream are
/// done. Thread-safe.
class SimStream final : public Stream::State {
 public:
  explicit SimStream(Engine& engine) : engine_(engine) {}

  Event record() override;
  void wait(const Event& event) override;
  /// Blocks until its copies are done.  Rethrows the error of one that failed, and is usable again
  /// afterwards.
  void synchronize() override;

  /// Hands a copy to the engine; it starts after all that was given to this stream before.
  Event submit(std::shared_ptr<Copy> copy);

 private:
  Engine& engine_;
  std::mutex mutex_;
  std::shared_ptr<Copy> last_;  // nullptr: nothing outstanding
};

}  // namespace minnow::sim
