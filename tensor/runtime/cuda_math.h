#pragma once

namespace minnow::cuda {

/// How cuBLASLt and cuDNN compute.  The defaults are PyTorch's.
struct MathOptions {
  /// Matrix products in float32 round their operands to TF32 (10 bits of fraction), which is several times faster.
  bool matmul_tf32 = false;
  /// The same for convolutions in float32.
  bool conv_tf32 = true;
  /// The first convolution of each shape measures all algorithms of cuDNN and keeps the fastest one, instead of using
  /// cuDNN's heuristic.  Pays if shapes repeat.
  bool cudnn_benchmark = false;
  /// Use only algorithms that give the same bits each time (set_deterministic); cudnn_benchmark has no effect then.
  bool deterministic = false;
};

/// The current options of the process.  Thread-safe.
MathOptions math_options();
/// Replaces all of them: `auto o = cuda::math_options(); o.matmul_tf32 = true; cuda::set_math_options(o);`.  Later
/// calls use them; without CUDA they have no effect.
void set_math_options(const MathOptions& options);

}  // namespace minnow::cuda
