#pragma once

#include <vector>
#include <minnow/tensor/cuda/libraries/cudnn.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda::cudnn {

/// An algorithm of one direction, the arithmetic it runs in and the memory it needs.
struct Choice {
  int algorithm = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::size_t workspace = 0;
};

/// A convolution in one direction that cuDNN is ready to run.
struct Plan {
  explicit Plan(const ConvKey& key) : descriptors(key) {}

  Descriptors descriptors;
  std::vector<Choice> choices;  ///< the best first; those that did not run are taken out
  bool fuses_bias = true;       ///< until the library refuses
};

/// Memory of one run.  `output` is the tensor that the direction computes; alpha 1, beta as given.
struct Operands {
  const void *x, *w, *y;
  const void* bias = nullptr;  ///< forward only
  double beta = 0;             ///< the factor of the output's old values

  void* output(ConvDirection direction) const {
    const void* out = direction == ConvDirection::forward ? y : direction == ConvDirection::backward_input ? x : w;
    return const_cast<void*>(out);
  }
};

enum class Outcome { refused, done, done_with_bias };

/// Runs the convolution of a key on the call's stream.  refused: no algorithm of the library takes it.
Outcome run(const Call& call, const ConvKey& key, const Operands& operands);

/// grad_bias = beta grad_bias + the sums of grad over images and pixels; false where the library has no such sum.
bool bias_gradient(const Call& call, const ConvKey& key, const void* grad, void* grad_bias, double beta);

}  // namespace minnow::cuda::cudnn
