#include <minnow/tensor/cuda/memory/event_pool.h>

namespace minnow::cuda {

PooledEvent::~PooledEvent() {
  if (pool_) pool_->give_back(handle_);
}

bool PooledEvent::is_complete() const { return !pool_ || pool_->driver().is_complete(handle_); }

void PooledEvent::synchronize() const {
  if (pool_) pool_->driver().synchronize(handle_);
}

PooledEvent EventPool::record(StreamHandle stream) {
  PooledEvent event(*this, take());
  driver_.record(event.handle(), stream);
  return event;
}

EventHandle EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const EventHandle event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  return driver_.create_event(use_);
}

void EventPool::give_back(EventHandle event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    free_.push_back(event);
  } catch (...) {  // no memory for the list: the event is lost, which is harmless
  }
}

}  // namespace minnow::cuda
