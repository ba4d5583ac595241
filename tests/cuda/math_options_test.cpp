#include <gtest/gtest.h>
#include <minnow/tensor/runtime/cuda_math.h>

namespace minnow::cuda {
namespace {

TEST(MathOptions, DefaultsArePyTorchsAndCanBeSet) {
  const MathOptions before = math_options();
  EXPECT_FALSE(MathOptions{}.matmul_tf32);
  EXPECT_TRUE(MathOptions{}.conv_tf32);
  EXPECT_FALSE(MathOptions{}.cudnn_benchmark);
  EXPECT_FALSE(MathOptions{}.deterministic);
  set_math_options({.matmul_tf32 = true, .conv_tf32 = false, .deterministic = true});
  EXPECT_TRUE(math_options().matmul_tf32);
  EXPECT_FALSE(math_options().conv_tf32);
  EXPECT_FALSE(math_options().cudnn_benchmark);
  EXPECT_TRUE(math_options().deterministic);
  set_math_options(before);
}

}  // namespace
}  // namespace minnow::cuda
