#pragma once

#include <mutex>
#include <utility>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

class EventPool;

/// An event of a pool, to which the destructor returns it.  Move-only.
class PooledEvent {
 public:
  PooledEvent() = default;
  PooledEvent(EventPool& pool, EventHandle handle) : pool_(&pool), handle_(handle) {}
  PooledEvent(PooledEvent&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), handle_(other.handle_) {}
  PooledEvent& operator=(PooledEvent&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~PooledEvent();

  EventHandle handle() const { return handle_; }
  bool is_complete() const;
  void synchronize() const;

 private:
  EventPool* pool_ = nullptr;
  EventHandle handle_ = nullptr;
};

/// A pool of the events of one device: in a steady state none is created.  Must outlive its events.  Thread-safe.
class EventPool {
 public:
  EventPool(Driver& driver, EventUse use) : driver_(driver), use_(use) {}

  /// An event that completes when the work submitted to the stream so far has.
  PooledEvent record(StreamHandle stream);
  Driver& driver() const { return driver_; }

 private:
  friend class PooledEvent;
  EventHandle take();
  void give_back(EventHandle event) noexcept;

  Driver& driver_;
  const EventUse use_;
  std::mutex mutex_;
  std::vector<EventHandle> free_;
};

}  // namespace minnow::cuda
