#pragma once

#include <memory>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/source_location.h>

namespace minnow {

namespace autograd {
class AutocastCache;
class AutocastScope;
}  // namespace autograd

struct AutocastOptions {
  bool enabled = true;        ///< false: operations in the scope compute in the dtypes of their operands
  bool cache_enabled = true;  ///< a parameter is converted once, however often it is used
  /// Also on a CPU that has no instructions for the dtype, where it is slower than float32.
  bool force = false;
};

/// Mixed precision, as torch.autocast: in its scope products, convolutions, attention and recurrent layers compute in
/// `dtype`, and operations that need the range or precision, such as losses, in float32.
///
///     for (auto& [images, labels] : train) {
///       Tensor loss;
///       {
///         Autocast guard(bfloat16);
///         loss = nn::cross_entropy(net(images), labels);
///       }
///       adam.zero_grad();
///       loss.backward();
///       adam.step();
///     }
///
/// Operands are converted, not parameters: these, their gradients and the optimizer's state stay float32.  The lists
/// are PyTorch's: those of its CPU backend on cpu and sim, those of CUDA on cuda; float64 is never converted.  Other
/// operations, and those in place, compute in the dtypes of their operands.  float16 needs an optim::GradScaler.
///
/// Guards may be nested; one with {.enabled = false} switches it off inside of another.  Each thread has its own, and
/// the newest one that lives counts; a guard ends in the thread where it began.
/// Converted parameters are kept until the outermost guard ends, or the parameter is written.  Backward computes in the
/// dtypes of the forward pass, inside or outside of the scope; checkpoint() recomputes under the guards of its call,
/// and CapturedStep captures again under others.  A function recorded by record() gets its operands as they are:
/// convert them first, x.to(float32), under a guard that is switched off, if it needs a dtype; its gradient function
/// runs without a guard, and the engine converts its gradients to the dtypes of its inputs.
///
/// On a CPU without AVX-512-BF16 or AMX (for float16: without AVX-512-FP16) a guard warns once and changes nothing,
/// unless .force.
class Autocast {
 public:
  /// dtype: bfloat16 or float16; DTypeError for another one.
  [[nodiscard]] explicit Autocast(DType dtype, AutocastOptions options = {},
                                  SourceLocation where = SourceLocation::current());
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::unique_ptr<autograd::AutocastScope> scope_;
};

/// Whether the innermost guard of this thread is switched on.
bool is_autocast_enabled();
/// The dtype of the innermost guard; bfloat16 without one.
DType get_autocast_dtype();
/// Drops the converted parameters that the guards of this thread keep.
void clear_autocast_cache();

}  // namespace minnow
