#pragma once

#include <minnow/tensor/backend/calls/convolution.h>
#include <minnow/tensor/backend/calls/elementwise.h>
#include <minnow/tensor/backend/calls/fft.h>
#include <minnow/tensor/backend/calls/indexing.h>
#include <minnow/tensor/backend/calls/norms.h>
#include <minnow/tensor/backend/calls/products.h>
#include <minnow/tensor/backend/calls/random.h>
#include <minnow/tensor/backend/calls/reductions.h>
#include <minnow/tensor/backend/calls/training.h>

namespace minnow::detail {

template <class...> struct CallList {};

namespace calls {

/// All of them.  Backend's functions and the forwarding backends are generated from this list.
using All = CallList<Copy, ScaleBytes, Fill, Arange, Unary, UnarySlope, Binary, Ternary, Reduce, ManhattanDistance,
                     ArgReduce, Scan, Sort, SearchSorted, Softmax, SoftmaxBackward, Attention, AttentionBackward,
                     CrossEntropy, CrossEntropyBackward, LayerNorm, LayerNormBackward, RecurrentStep,
                     RecurrentStepBackward, BatchNorm, BatchNormBackward, Matmul, LinearBackwardWeight, QuantizedLinear,
                     BlockProduct, Dequantize, Lapack, Conv2d, Conv2dBackwardInput, Conv2dBackwardWeight, MaxPool2d,
                     MaxPool2dBackward, AvgPool2d, AvgPool2dBackward, GridSample, EmbeddingBag, CtcLoss,
                     CtcLossBackward, Fft, Gather, ScatterAdd, IndexSelect, IndexAdd, PadEdges, Uniform, Normal,
                     Randint, Bernoulli, Exponential, Update, ScaleGradients, GradientNorm, UpdateScale>;

}  // namespace calls

using Calls = calls::All;

}  // namespace minnow::detail
