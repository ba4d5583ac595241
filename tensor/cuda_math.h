#pragma once

namespace minnow::cuda {

/// How NVIDIA's libraries compute.  The defaults are PyTorch's.
struct MathOptions {
  /// Products of float32 matrices round their operands to TF32 (10 bits of fraction), several times faster on tensor
  /// cores.
  bool matmul_tf32 = false;
  /// The same for convolutions of float32.
  bool conv_tf32 = true;
  /// The first convolution of each shape times every algorithm of cuDNN and keeps the fastest, instead of asking for
  /// the one that should be: worth it where shapes repeat.
  bool cudnn_benchmark = false;
  /// Only algorithms that give the same bits each time.
  bool deterministic = false;
};

/// The options in force, for the whole process.  Thread-safe.
MathOptions math_options();
/// Replaces them all: `auto o = cuda::math_options(); o.matmul_tf32 = true; cuda::set_math_options(o);`.  Work that
/// follows uses them; without CUDA they have no effect.
void set_math_options(const MathOptions& options);

}  // namespace minnow::cuda
