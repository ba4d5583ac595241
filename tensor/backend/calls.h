#pragma once

#include <cstdint>
#include <span>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/view.h>

namespace minnow::detail {

template <class...> struct CallList {};

/// The calls of a backend: a struct for each, with its operands and parameters.  The caller has checked them and
/// allocated the outputs: all views are on one device of the backend (an operand of an elementwise call may be a 0-dim
/// view in host memory), and their shapes match.  Inputs may have any strides (0 if they were broadcast to the output's
/// shape) unless a call says otherwise.  Work goes to the current stream.  `op` is the index of an operation in its
/// list in kernels/.
///
/// The members of a call are references to views, numbers, or structs and spans of them.
/// kName is used if no CallSite is open; kHostOnly says what a call computes that GPUs refuse.  A call that can find wrong
/// data has the result Outcome; a device may report it at its next synchronization instead.  Each call is in the list Calls
/// at the end, and each backend defines execute() for it.
namespace calls {

/// A missing operand.  Not inline: files that are compiled for an instruction set would each have its destructor.
extern const View kUndefined;

/// to = from, converted.  Any strides and dtypes, on one device.
struct Copy {
  static constexpr const char* kName = "copy";
  const View& from;
  const View& to;
};

/// y = x scale + shift, rounded after each step: the same bits on every device.  x: uint8  y: float32, both contiguous.
struct ScaleBytes {
  static constexpr const char* kName = "scale_bytes";
  const View& x;
  const View& y;
  float scale, shift;
};

/// out = value.
struct Fill {
  static constexpr const char* kName = "fill";
  const View& out;
  Scalar value;
};

/// out[i] = start + i * step, contiguous.
struct Arange {
  static constexpr const char* kName = "arange";
  const View& out;
  double start, step;
};

// Elementwise.  Outputs have the inputs' common shape.

/// Computes in `compute` (float32, float64 or int64), as the others; operands and output convert at load and store.
struct Unary {
  static constexpr const char* kName = "unary";
  int op;
  DType compute;
  const View& x;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// out = grad * slope(saved); kernels/unary_traits.h says what an operation saves.
struct UnarySlope {
  static constexpr const char* kName = "unary_slope";
  int op;
  const View& grad;
  const View& saved;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// out = grad * curve(saved); curve is the derivative of slope.
struct UnaryCurve {
  static constexpr const char* kName = "unary_curve";
  int op;
  const View& grad;
  const View& saved;
  const View& out;
  double p0 = 0, p1 = 0;
};

struct Binary {
  static constexpr const char* kName = "binary";
  using Result = Outcome;
  int op;
  DType compute;
  const View& a;
  const View& b;
  const View& out;
};

struct Ternary {
  static constexpr const char* kName = "ternary";
  int op;
  DType compute;
  const View& a;
  const View& b;
  const View& c;
  const View& out;
  double p = 0;
};

// Reductions.  x: [outer, n, inner] with any strides; out: [outer, inner], contiguous.

struct Reduce {
  static constexpr const char* kName = "reduce";
  int op;
  const View& x;
  const View& out;
  double p = 0;  ///< order of a norm
};

/// The index (int64) of the largest (or smallest) element: of the first of equal ones, or of the first NaN.  values may
/// be undefined.
struct ArgReduce {
  static constexpr const char* kName = "arg_reduce";
  const View& x;
  const View& values;
  const View& indices;
  bool largest;
};

/// y = the running results along dim, from the end if `reverse`.  All contiguous and of one shape; x, y, factor:
/// floating-point or int64 (logsumexp, recurrence: floating-point; max, min on the host: any).  indices: int64, where the
/// largest or smallest element is (the last of equal ones and of NaNs); undefined for other operations.  factor: of a
/// recurrence only.
struct Scan {
  static constexpr const char* kName = "scan";
  ScanOp op;
  const View& x;
  const View& factor;
  const View& y;
  const View& indices;
  int dim;
  bool reverse;
};

/// The first k elements of each row in ascending (or descending) order, and where they were; with `only_last` the k-th alone.
/// Equal elements keep their order; NaN is the largest.  x: [rows, n]  values, indices (int64): [rows, k], k from 1 to n; contiguous.
struct Sort {
  static constexpr const char* kName = "sort";
  const View& x;
  const View& values;
  const View& indices;
  bool descending, only_last;
};

/// indices = how many elements of its row of `sorted` are less than each value (`right`: less or equal); for NaN all.
/// sorted: [rows, n], or [1, n] for all rows  values, indices (int64): [rows, m]; all contiguous, sorted and values of
/// one dtype: float32, float64 or int64.
struct SearchSorted {
  static constexpr const char* kName = "searchsorted";
  const View& sorted;
  const View& values;
  const View& indices;
  bool right;
};

// Softmax over one dimension (0 or more).  x, y, grad: contiguous.

/// y = softmax(x), or its logarithm.
struct Softmax {
  static constexpr const char* kName = "softmax";
  const View& x;
  const View& y;
  int dim;
  bool log;
};

struct SoftmaxBackward {
  static constexpr const char* kName = "softmax_backward";
  const View& grad;
  const View& y;
  const View& grad_x;
  int dim;
  bool log;
};

/// out = softmax(scale q k^T) v of each head.  q: [B, H, L, E]  k: [B, H, S, E]  v: [B, H, S, Ev]  out:
/// [B, H, L, Ev]; float32, no size 0, the elements of a vector adjacent.  causal: row i has weights up to column i only.
struct Attention {
  static constexpr const char* kName = "scaled_dot_product_attention";
  static constexpr const char* kHostOnly = "attention in one call";
  const View& q;
  const View& k;
  const View& v;
  const View& out;
  double scale;
  bool causal;
};

struct AttentionBackward {
  static constexpr const char* kName = "scaled_dot_product_attention_backward";
  static constexpr const char* kHostOnly = "attention in one call";
  const View &grad, &q, &k, &v, &grad_q, &grad_k, &grad_v;
  double scale;
  bool causal;
};

/// logits: [N, C] contiguous, or [S, C, N / S], whose columns are the rows; target: int64 [N] -> losses: [N], exp_sums:
/// [2 N], float32 if logits are half: the largest logits of all rows, and then the sums of e^(logit - largest).  The loss of
/// a row with ignore_index is 0.  total: one element, the sum of the losses, or, if `mean`, their mean over the rows that
/// are not ignored; or undefined.  With a total, exp_sums has two more elements: the sum of the losses, and the
/// number of rows that are not ignored.
struct CrossEntropy {
  static constexpr const char* kName = "cross_entropy";
  using Result = Outcome;
  const View& logits;
  const View& target;
  const View& losses;
  const View& total;
  const View& exp_sums;
  std::int64_t ignore_index;
  bool mean = false;
};

/// grad: [N], of the losses, or of their mean (with stride 0) -> grad_logits: as logits.
struct CrossEntropyBackward {
  static constexpr const char* kName = "cross_entropy_backward";
  const View& grad;
  const View& logits;
  const View& target;
  const View& exp_sums;
  const View& grad_logits;
  std::int64_t ignore_index;
  bool mean = false;
};

// Layer normalization.  x, y, grad, grad_x: [rows, n] and contiguous, neither size 0; weight, bias and their gradients:
// contiguous [n], or undefined.  stats: float64 [2, rows], each row's mean and then its 1 / sqrt(variance + eps).  Both in
// double: where a row's mean is large beside its deviation, a float's rounding would show in the result.

/// y = (x - mean) / sqrt(variance + eps) * weight + bias; if not centered, 0 is taken for the mean.  stats may be undefined:
/// they are wanted for the gradient only.
struct LayerNorm {
  static constexpr const char* kName = "layer_norm";
  const View& x;
  const View& weight;
  const View& bias;
  const View& y;
  const View& stats;
  double eps;
  bool centered;
};

/// Those of grad_x, grad_weight and grad_bias that are defined.
struct LayerNormBackward {
  static constexpr const char* kName = "layer_norm_backward";
  const View& grad;
  const View& x;
  const View& weight;
  const View& stats;
  const View& grad_x;
  const View& grad_weight;
  const View& grad_bias;
  bool centered;
};

/// A step of an LSTM: gates [n, 4 size], the maps of x and h, become i, f, g and o (sigmoid, and tanh for g);
/// next_cell = f cell + i g;  next_hidden = o tanh(next_cell).   cell, next_cell, next_hidden: [n, size].  All of one
/// floating-point dtype and contiguous, no size 0.
struct LstmStep {
  static constexpr const char* kName = "lstm_step";
  const View& gates;
  const View& cell;
  const View& next_cell;
  const View& next_hidden;
};

// Batch normalization.  x, y, grad, grad_x: [outer, channels, inner] and contiguous, no size 0.  weight, bias, the running
// statistics and the gradients of weight and bias: contiguous [channels], floating-point, or undefined.  stats: float64
// [2, channels], each channel's mean and then its 1 / sqrt(variance + eps).

/// y = (x - mean) / sqrt(variance + eps) * weight + bias.  In training mean and variance are those of x, and the running ones
/// move to them: running += momentum * (of x - running), with the variance's n - 1; else they are the running ones.
struct BatchNorm {
  static constexpr const char* kName = "batch_norm";
  const View &x, &weight, &bias, &running_mean, &running_var, &y, &stats;
  bool training;
  double momentum, eps;
};

/// Those of grad_x, grad_weight and grad_bias that are defined.  In training stats depend on x.
struct BatchNormBackward {
  static constexpr const char* kName = "batch_norm_backward";
  const View &grad, &x, &weight, &stats, &grad_x, &grad_weight, &grad_bias;
  bool training;
};

// Linear algebra.

/// a: [B, M, K]  b: [B, K, N]  out: [B, M, N]; B may have stride 0 (broadcast), and the strides of a
/// and b may be those of transposed matrices.  bias: [N] or undefined.
struct Matmul {
  static constexpr const char* kName = "matmul";
  const View& a;
  const View& b;
  const View& bias;
  const View& out;
  MatmulParams params = {};
};

/// grad_w = gradᵀ x, grad_bias = the sum of each column of grad.   grad: [N, O]  x: [N, I]  grad_w: [O, I]  grad_bias:
/// [O]; the results are contiguous.
struct LinearBackwardWeight {
  static constexpr const char* kName = "linear_backward";
  const View& grad;
  const View& x;
  const View& grad_w;
  const View& grad_bias;
};

/// y = activation(q(x) wᵀ scale + bias), or with `add` what y was besides.  q(x): x rounded to 8 bits with one scale and one zero
/// point for all of x, from its smallest and largest element and 0; the sums are exact, so that y has the same bits for any number
/// of threads.  All of y is NaN if x has NaN or infinity.
/// x: float32 [N, I]  w: int8 [O, I]  scale: float32 [O]  bias: float32 [O] or undefined  y: float32 [N, O]; all contiguous,
/// none empty, I at most 65536.
struct QuantizedLinear {
  static constexpr const char* kName = "quantized_linear";
  static constexpr const char* kHostOnly = "layers that are quantized to int8";
  const View& x;
  const View& w;
  const View& scale;
  const View& bias;
  const View& y;
  bool add = false;
  Activation activation = Activation::none;
};

/// `flag` of lu: a matrix without an inverse is no_solution.
struct Lapack {
  static constexpr const char* kName = "linalg";
  static constexpr const char* kHostOnly = "matrix factorizations";
  using Result = Outcome;
  LapackRoutine routine;
  const View& a;
  const View& b;
  const View& c;
  const View& d;
  bool flag = false;
};

// Convolution and pooling.  x: [N, C, H, W]  w: [O, C / groups, KH, KW]  bias: [O] or undefined.  The caller asks
// the backend for the memory format of the outputs (conv2d_format).

struct Conv2d {
  static constexpr const char* kName = "conv2d";
  const View& x;
  const View& w;
  const View& bias;
  const View& y;
  Conv2dParams params = {};
  Activation activation = Activation::none;  ///< applied last
};

struct Conv2dBackwardInput {
  static constexpr const char* kName = "conv2d_backward_input";
  const View& grad;
  const View& w;
  const View& grad_x;
  Conv2dParams params = {};
};

/// grad_bias may be undefined.
struct Conv2dBackwardWeight {
  static constexpr const char* kName = "conv2d_backward_weight";
  const View& grad;
  const View& x;
  const View& grad_w;
  const View& grad_bias;
  Conv2dParams params = {};
};

/// indices: int32 [N, C, OH, OW], h * W + w of the largest element of each window; y and indices have the same layout.
struct MaxPool2d {
  static constexpr const char* kName = "max_pool2d";
  const View& x;
  const View& y;
  const View& indices;
  Pool2dParams params = {};
};

struct MaxPool2dBackward {
  static constexpr const char* kName = "max_pool2d_backward";
  const View& grad;
  const View& indices;
  const View& grad_x;
  Pool2dParams params = {};
};

struct AvgPool2d {
  static constexpr const char* kName = "avg_pool2d";
  const View& x;
  const View& y;
  Pool2dParams params = {};
};

struct AvgPool2dBackward {
  static constexpr const char* kName = "avg_pool2d_backward";
  const View& grad;
  const View& grad_x;
  Pool2dParams params = {};
};

/// y = x at the places of grid; or, if one of the gradients is defined, that, of y's gradient y.
/// x: [N, C, sizes], offsets within a channel in 31 bits  grid: [N, places, dims]  y: [N, C, places]; grid and y
/// contiguous, all float32 or float64.  grad_x begins as zeros, grad_grid does not.
struct GridSample {
  static constexpr const char* kName = "grid_sample";
  static constexpr const char* kHostOnly = "samples in one call";
  const View &x, &grid, &y;
  const View &grad_x = kUndefined, &grad_grid = kUndefined;
  GridSampleParams params = {};
};

/// out[b] = the sum of the rows of weight at index[b].  weight: [rows, d]  index: int64 [B, L], L at
/// least 1  out: [B, d]; contiguous, float32 or float64.
struct EmbeddingBag {
  static constexpr const char* kName = "embedding_bag";
  static constexpr const char* kHostOnly = "bags in one call";
  using Result = Outcome;
  const View &weight, &index, &out;
};

/// Connectionist temporal classification: losses [N] of log-probabilities x [T, N, C], float32 or float64.  targets,
/// int64, contiguous: [N, S], or [sum of target_lengths], one sample after the other.  input_lengths, target_lengths:
/// int64 [N], contiguous.  alpha: T * (2 * targets.numel() + N) elements, which backward reads: the forward variables of
/// sample n, [T, 2 * target_length + 1], begin at T * (2 * its first target + n).
struct CtcLoss {
  static constexpr const char* kName = "ctc_loss";
  using Result = Outcome;
  const View& x;
  const View& targets;
  const View& input_lengths;
  const View& target_lengths;
  const View& alpha;
  const View& losses;
  std::int64_t blank;
};

/// grad: [N]; losses: those of the forward call; grad_x: contiguous.  zero_infinity: an infinite loss has the gradient 0.
struct CtcLossBackward {
  static constexpr const char* kName = "ctc_loss_backward";
  const View &grad, &x, &targets, &input_lengths, &target_lengths, &alpha, &losses, &grad_x;
  std::int64_t blank;
  bool zero_infinity;
};

/// Discrete Fourier transforms along dim, of float32 or float64.  A complex operand has a last dimension of 2.
///   complex x, complex y [.., n, .., 2]:   y[f] = scale sum_k x[k] w^(f k)
///   real x [.., n, ..], complex y:         the same, y has n / 2 + 1 numbers; those of a conjugate pair are times `middle`
///   complex x, real y [.., n, ..]:         y[f] = scale Re sum_k c[k] x[k] w^(f k), k to n / 2, c = middle for a
///                                          conjugate pair, else 1
/// w = e^(-2 pi i / n), or its inverse.
struct Fft {
  static constexpr const char* kName = "fft";
  const View& x;
  const View& y;
  int dim;
  bool inverse;
  double scale, middle;
};

// Indexing along dim.  index: int64.

/// out[..., i, ...] = x[..., index[..., i, ...], ...]; index has out's shape.
struct Gather {
  static constexpr const char* kName = "gather";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// out[..., index[..., i, ...], ...] += x[..., i, ...], or another `op` than adding, in the order of i.
struct ScatterAdd {
  static constexpr const char* kName = "scatter_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
  ScatterOp op = ScatterOp::add;
};

/// out = the slices of x along dim at the indices of index [n].  Negative indices are out of range.
struct IndexSelect {
  static constexpr const char* kName = "index_select";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// Adds the slices of x to those of out at the indices of index, in a fixed order, or combines them by another `op`.
struct IndexAdd {
  static constexpr const char* kName = "index_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
  ScatterOp op = ScatterOp::add;
};

// Random numbers: element i (row-major) depends on (state, i) only.  out: contiguous.

struct Uniform {
  static constexpr const char* kName = "uniform";
  PhiloxState state;
  const View& out;
  double low, high;
};

struct Normal {
  static constexpr const char* kName = "normal";
  PhiloxState state;
  const View& out;
  double mean, std;
};

/// Integers in [low, high).
struct Randint {
  static constexpr const char* kName = "randint";
  PhiloxState state;
  const View& out;
  std::int64_t low, high;
};

/// Bool: true with probability p.
struct Bernoulli {
  static constexpr const char* kName = "bernoulli";
  PhiloxState state;
  const View& out;
  double p;
};

/// Exponentially distributed: -log(u) / rate, above 0.
struct Exponential {
  static constexpr const char* kName = "exponential";
  PhiloxState state;
  const View& out;
  double rate;
};

/// One fused pass of an optimizer over all parameters.  found_inf: float32, one element, or undefined; nothing is changed
/// if it is not 0.
struct Update {
  static constexpr const char* kName = "update";
  UpdateParams params;
  std::span<const UpdateItem> items;
  const View& found_inf = kUndefined;
};

// A gradient scaler.  scale, found_inf: float32, growth_tracker: int32, one element each.

/// Multiplies all gradients (grad of each item; param is the same, and there are no states) by 1 / scale, and sets found_inf to 1 if an
/// element was not finite.
struct Unscale {
  static constexpr const char* kName = "unscale";
  std::span<const UpdateItem> items;
  const View& scale;
  const View& found_inf;
};

/// scale *= backoff_factor if found_inf is not 0, else *= growth_factor, unless it becomes infinite, each time when
/// growth_tracker has counted growth_interval steps.
struct UpdateScale {
  static constexpr const char* kName = "update_scale";
  const View& scale;
  const View& growth_tracker;
  const View& found_inf;
  double growth_factor, backoff_factor;
  std::int64_t growth_interval;
};

/// All of them.  Backend's functions and the forwarding backends are generated from this list.
using All = CallList<Copy, ScaleBytes, Fill, Arange, Unary, UnarySlope, UnaryCurve, Binary, Ternary, Reduce, ArgReduce,
                     Scan, Sort, SearchSorted, Softmax, SoftmaxBackward, Attention, AttentionBackward, CrossEntropy,
                     CrossEntropyBackward, LayerNorm, LayerNormBackward, LstmStep, BatchNorm, BatchNormBackward, Matmul,
                     LinearBackwardWeight, QuantizedLinear, Lapack, Conv2d, Conv2dBackwardInput, Conv2dBackwardWeight,
                     MaxPool2d, MaxPool2dBackward, AvgPool2d, AvgPool2dBackward, GridSample, EmbeddingBag, CtcLoss,
                     CtcLossBackward, Fft, Gather, ScatterAdd, IndexSelect, IndexAdd, Uniform, Normal, Randint,
                     Bernoulli, Exponential, Update, Unscale, UpdateScale>;

}  // namespace calls

using Calls = calls::All;

}  // namespace minnow::detail
