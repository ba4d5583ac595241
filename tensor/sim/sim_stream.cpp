#include <algorithm>
#include <minnow/tensor/sim/sim_stream.h>

namespace minnow::sim {
namespace {

/// Complete when a copy is; seconds() is when the stream passed it: not before it was recorded.
class SimEvent final : public Event::State {
 public:
  SimEvent(Engine& engine, std::shared_ptr<Copy> copy, double recorded)
      : engine_(engine), copy_(std::move(copy)), recorded_(recorded) {}

  bool is_ready() override { return !copy_ || copy_->done.load(std::memory_order_acquire); }
  void synchronize() override {
    if (copy_) engine_.wait(*copy_);
  }
  double seconds() override {
    synchronize();
    return copy_ ? std::max(recorded_, copy_->end) : recorded_;
  }

 private:
  Engine& engine_;
  const std::shared_ptr<Copy> copy_;
  const double recorded_;
};

}  // namespace

Event SimStream::record() {
  const std::lock_guard lock(mutex_);
  return Event(std::make_shared<SimEvent>(engine_, last_, now()));
}

void SimStream::wait(const Event& event) {
  if (event.is_ready()) {
    event.synchronize();  // tells of a failure
    return;
  }
  auto barrier = std::make_shared<Copy>();
  barrier->after.push_back(event);
  submit(std::move(barrier));
}

Event SimStream::submit(std::shared_ptr<Copy> copy) {
  const std::lock_guard lock(mutex_);
  if (last_) copy->after.emplace_back(std::make_shared<SimEvent>(engine_, last_, 0.0));
  Event done(std::make_shared<SimEvent>(engine_, copy, 0.0));
  engine_.submit(copy);
  last_ = std::move(copy);
  return done;
}

void SimStream::synchronize() {
  std::shared_ptr<Copy> last;
  {
    const std::lock_guard lock(mutex_);
    if (!last_) return;
    last = last_;
  }
  const auto forget = [&] {
    const std::lock_guard lock(mutex_);
    if (last_ == last) last_.reset();
  };
  try {
    engine_.wait(*last);
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

}  // namespace minnow::sim
