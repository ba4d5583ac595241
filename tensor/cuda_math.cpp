#include <minnow/tensor/cuda_math.h>

#include <atomic>

namespace minnow::cuda {
namespace {

std::atomic<MathOptions>& current() {
  static std::atomic<MathOptions> options{MathOptions{}};
  static_assert(std::atomic<MathOptions>::is_always_lock_free);
  return options;
}

}  // namespace

MathOptions math_options() { return current().load(std::memory_order_relaxed); }

void set_math_options(const MathOptions& options) { current().store(options, std::memory_order_relaxed); }

}  // namespace minnow::cuda
