#pragma once

#include <vector>
#include <minnow/tensor/cuda/libraries/cudnn.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda::cudnn {

/// An algorithm for one direction, its math type and workspace.
struct Choice {
  int algorithm = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::size_t workspace = 0;
};

/// A convolution in one direction, prepared for cuDNN.
struct ConvPlan {
  explicit ConvPlan(const ConvKey& key) : descriptors(key) {}

  Descriptors descriptors;
  std::vector<Choice> choices;     ///< the best one first; those that failed are removed
  bool fuses_bias = true;          ///< false after cuDNN refused
  bool is_to_be_measured = false;  ///< the choices were to be measured, but were made during a capture
};

/// The memory of one run, out = convolution + beta out.  `output` is the tensor that the direction computes.
struct ConvOperands {
  const void *x, *w, *y;
  const void* bias = nullptr;  ///< forward only
  double beta = 0;             ///< factor of the old values of the output

  void* output(ConvDirection direction) const {
    const void* out = direction == ConvDirection::forward ? y : direction == ConvDirection::backward_input ? x : w;
    return const_cast<void*>(out);
  }
};

enum class ConvResult { refused, done, done_with_bias };

/// Runs the convolution of a key on the call's stream.  refused: cuDNN has no algorithm for it.
ConvResult run(const Call& call, const ConvKey& key, const ConvOperands& operands);

}  // namespace minnow::cuda::cudnn
