#include <minnow/tensor/sim/sim_stream.h>

#include <algorithm>

namespace minnow::sim {
namespace {

/// Complete when the last copy of its stream and the events that the stream waited for are.  seconds() is not before
/// the event was recorded.
class SimEvent final : public Event::State {
 public:
  SimEvent(Engine& engine, std::shared_ptr<Copy> copy, std::vector<Event> awaited, double recorded)
      : engine_(engine), copy_(std::move(copy)), awaited_(std::move(awaited)), recorded_(recorded) {}

  bool is_ready() override {
    return (!copy_ || copy_->done.load(std::memory_order_acquire)) &&
           std::all_of(awaited_.begin(), awaited_.end(), [](const Event& e) { return e.is_ready(); });
  }
  void synchronize() override {
    if (copy_) engine_.wait(*copy_);
    for (const Event& event : awaited_) event.synchronize();
  }
  double seconds() override {
    synchronize();
    double end = copy_ ? std::max(recorded_, copy_->end) : recorded_;
    for (const Event& event : awaited_)
      if (event.state()) end = std::max(end, event.state()->seconds());
    return end;
  }

 private:
  Engine& engine_;
  const std::shared_ptr<Copy> copy_;
  const std::vector<Event> awaited_;
  const double recorded_;
};

}  // namespace

Event SimStream::record(EventUse) {
  const std::lock_guard lock(mutex_);
  return Event(std::make_shared<SimEvent>(engine_, last_, awaited_, now()));
}

void SimStream::wait(const Event& event) {
  if (event.is_ready()) {
    event.synchronize();  // rethrows its error
    return;
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(awaited_, [](const Event& e) {
    if (!e.is_ready()) return false;
    e.synchronize();
    return true;
  });
  awaited_.push_back(event);
}

Event SimStream::submit(std::shared_ptr<Copy> copy) {
  const std::lock_guard lock(mutex_);
  std::vector<Event> before = awaited_;
  if (last_) before.emplace_back(std::make_shared<SimEvent>(engine_, last_, std::vector<Event>(), 0.0));
  copy->after.insert(copy->after.end(), before.begin(), before.end());
  Event done(std::make_shared<SimEvent>(engine_, copy, std::vector<Event>(), 0.0));
  engine_.submit(copy);
  last_ = std::move(copy);
  awaited_.clear();
  return done;
}

void SimStream::synchronize() {
  std::shared_ptr<Copy> last;
  std::vector<Event> awaited;
  {
    const std::lock_guard lock(mutex_);
    if (!last_ && awaited_.empty()) return;
    last = last_;
    awaited = awaited_;
  }
  const auto drop_waited_for = [&] {
    const std::lock_guard lock(mutex_);
    if (last_ == last) last_.reset();
    std::erase_if(awaited_, [&](const Event& e) {
      return std::any_of(awaited.begin(), awaited.end(), [&](const Event& done) { return done.state() == e.state(); });
    });
  };
  try {
    if (last) engine_.wait(*last);
    for (const Event& event : awaited) event.synchronize();
  } catch (...) {
    drop_waited_for();
    throw;
  }
  drop_waited_for();
}

}  // namespace minnow::sim
