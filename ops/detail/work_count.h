#pragma once

#include <cstdint>

namespace minnow::detail {

/// Counts the multiply-adds of products and convolutions on this thread while it lives, also those of an inner one.
class WorkCount {
 public:
  WorkCount();
  ~WorkCount();
  WorkCount(const WorkCount&) = delete;
  WorkCount& operator=(const WorkCount&) = delete;

  std::int64_t multiply_adds() const { return multiply_adds_; }
  static void add(std::int64_t multiply_adds) noexcept {
    if (current != nullptr) current->multiply_adds_ += multiply_adds;
  }

 private:
  static constinit thread_local WorkCount* current;
  std::int64_t multiply_adds_ = 0;
  WorkCount* outer_;
};

}  // namespace minnow::detail
