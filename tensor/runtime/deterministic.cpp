#include <minnow/tensor/runtime/deterministic.h>

#include <minnow/tensor/runtime/cuda_math.h>

namespace minnow {

void set_deterministic(bool on) {
  cuda::MathOptions options = cuda::math_options();
  options.deterministic = on;
  cuda::set_math_options(options);
}

bool is_deterministic() { return cuda::math_options().deterministic; }

}  // namespace minnow
