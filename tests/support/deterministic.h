#pragma once

#include <minnow/tensor/cuda_math.h>

namespace minnow::test {

/// Only deterministic algorithms on CUDA, for a scope: otherwise cuDNN may add in any order.
class Deterministic {
 public:
  Deterministic() {
    cuda::MathOptions options = before_;
    options.deterministic = true;
    cuda::set_math_options(options);
  }
  ~Deterministic() { cuda::set_math_options(before_); }
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;

 private:
  const cuda::MathOptions before_ = cuda::math_options();
};

}  // namespace minnow::test
