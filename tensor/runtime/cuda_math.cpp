#include <minnow/tensor/runtime/cuda_math.h>

#include <atomic>
#include <bit>
#include <cstdint>

namespace minnow::cuda {
namespace {

// As an integer: for an atomic struct some compilers call libatomic.
static_assert(sizeof(MathOptions) == sizeof(std::uint32_t));
std::atomic<std::uint32_t> current = std::bit_cast<std::uint32_t>(MathOptions{});

}  // namespace

MathOptions math_options() { return std::bit_cast<MathOptions>(current.load(std::memory_order_relaxed)); }

void set_math_options(const MathOptions& options) {
  current.store(std::bit_cast<std::uint32_t>(options), std::memory_order_relaxed);
}

}  // namespace minnow::cuda
