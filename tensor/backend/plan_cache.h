#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// Combines the fields of a key to a hash.
class KeyHash {
 public:
  template <class... Values> KeyHash& add(Values... values) {
    (mix(static_cast<std::uint64_t>(values)), ...);
    return *this;
  }
  std::size_t value() const { return static_cast<std::size_t>(state_ ^ (state_ >> 32)); }

 private:
  void mix(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 29;
  }
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

/// A cache of plans (what a library prepares for a shape) by keys with == and hash().  Above its capacity the least
/// recently used plan is dropped; a plan in use stays alive.  Thread-safe.
template <class Key, class Plan> class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}

  /// The plan of a key; make() returns a std::shared_ptr<Plan> if there is none.  Nothing is kept if it throws.
  template <class Make> std::shared_ptr<Plan> get(const Key& key, Make&& make) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    std::shared_ptr<Plan> plan = make();
    order_.emplace_front(key, plan);
    index_.emplace(key, order_.begin());
    if (order_.size() > capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return plan;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }

 private:
  struct HashOf {
    std::size_t operator()(const Key& key) const { return key.hash(); }
  };
  using Entries = std::list<std::pair<Key, std::shared_ptr<Plan>>>;

  std::size_t capacity_;
  mutable std::mutex mutex_;
  Entries order_;  // most recently used first
  std::unordered_map<Key, typename Entries::iterator, HashOf> index_;
};

}  // namespace minnow::detail
