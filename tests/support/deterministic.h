#pragma once

#include <minnow/tensor/runtime/deterministic.h>

namespace minnow::test {

/// Only deterministic algorithms on CUDA, for a scope: otherwise cuDNN may add in any order.
class Deterministic {
 public:
  Deterministic() { set_deterministic(true); }
  ~Deterministic() { set_deterministic(before_); }
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;

 private:
  const bool before_ = is_deterministic();
};

}  // namespace minnow::test
