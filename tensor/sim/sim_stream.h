#pragma once

#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/sim/engine.h>

namespace minnow::sim {

/// An ordered queue of copies, and the events that later work waits for.  Events are not queued in the engine, where
/// they would wait behind copies of other streams.  Loops run on the calling thread when all of this is done.
/// Thread-safe.
class SimStream final : public Stream::State {
 public:
  explicit SimStream(Engine& engine) : engine_(engine) {}

  Event record(EventUse use) override;
  void wait(const Event& event) override;
  /// Blocks until its copies and the awaited events are done.  Rethrows the error of one that failed; the stream can be
  /// used again afterwards.
  void synchronize() override;

  /// Submits a copy, which starts after all earlier work of this stream.
  Event submit(std::shared_ptr<Copy> copy);

 private:
  Engine& engine_;
  std::mutex mutex_;
  std::shared_ptr<Copy> last_;  // nullptr if none is pending
  std::vector<Event> awaited_;  // since last_
};

}  // namespace minnow::sim
