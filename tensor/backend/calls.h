#pragma once

#include <cstdint>
#include <span>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/view.h>

namespace minnow::detail {

/// What a call found in the elements of its operands: nothing was read or written out of bounds.
enum class [[nodiscard]] Outcome : std::uint8_t{
    ok,
    captured,  ///< nothing yet: the call is part of a captured step and is made by its replays
    index_out_of_range,
    class_out_of_range,  ///< a target is neither in [0, classes) nor ignore_index
    zero_divisor,        ///< an integer was divided by zero
};

// Parameters of families that have many.  Conventions are ours (dilation 1 = none); a library's are translated once, in
// the backend.

/// out = activation(alpha * a b + beta * out (+ bias)).
struct MatmulParams {
  double alpha = 1;
  double beta = 0;
  Activation activation = Activation::none;  ///< of floating results only
};

struct Conv2dParams {
  std::int64_t stride[2] = {1, 1};
  std::int64_t padding[2] = {0, 0};
  std::int64_t dilation[2] = {1, 1};
  std::int64_t groups = 1;
};

struct Pool2dParams {
  std::int64_t kernel[2] = {1, 1};
  std::int64_t stride[2] = {1, 1};
  std::int64_t padding[2] = {0, 0};
  std::int64_t dilation[2] = {1, 1};
  bool count_include_pad = true;
};

/// One tensor of an optimizer's fused pass.  `state` are the rule's own tensors, shaped like the parameter; nullptr
/// where the rule runs without.
struct UpdateItem {
  static constexpr int kMaxStates = 3;
  const View* param;
  const View* grad;
  const View* state[kMaxStates];
};

struct UpdateParams {
  int rule = 0;                       ///< index in kernels::UpdateRules
  std::span<const double> constants;  ///< the rule's Constants<double>, as an array
  /// Device memory that holds the same doubles and takes their place when set: in a captured step they change from
  /// replay to replay.
  const double* replayed = nullptr;
};

/// The calls that compute: one struct for each, with its operands and parameters.  Front ends check them and allocate
/// the outputs: all views are on one device of the backend (an operand of an elementwise call may be a 0-dim one in
/// host memory), and their shapes fit.  Inputs may have any strides (0 where broadcast: they are expanded to the output's
/// shape) unless a call says otherwise.  All work goes to the current stream.  `op` is an operation's place in its list
/// in kernels/.
///
/// A call is a plain struct whose members are references to views, numbers, or a kind of argument that captured steps
/// know how to keep (captured_arguments.h).  kName names it where no operation of the user's is known.  One that may
/// find wrong data has the result Outcome; a device may also report that at its next synchronization.  Each is in the
/// list Calls at the end, and each backend defines execute() for it.
namespace calls {

/// Any strides and dtypes, within one device.
struct Copy {
  static constexpr const char* kName = "copy";
  const View& from;
  const View& to;
};

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

struct Unary {
  static constexpr const char* kName = "unary";
  int op;
  const View& x;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// out = grad * slope(saved): see kernels/unary.h for what an op saves.
struct UnarySlope {
  static constexpr const char* kName = "unary_slope";
  int op;
  const View& grad;
  const View& saved;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// out = grad * curve(saved), curve being the derivative of slope.
struct UnaryCurve {
  static constexpr const char* kName = "unary_curve";
  int op;
  const View& grad;
  const View& saved;
  const View& out;
  double p0 = 0, p1 = 0;
};

/// Computes in `compute` (float32, float64 or int64); operands and output convert at load and store.
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
  double p = 0;  ///< the norm's order
};

/// First index of the largest (or smallest) element; NaN wins.  values may be undefined.  indices: int64.
struct ArgReduce {
  static constexpr const char* kName = "arg_reduce";
  const View& x;
  const View& values;
  const View& indices;
  bool largest;
};

/// y = the running sums of x along dim, from its end on if `reverse`.  x, y: contiguous, floating-point or int64.
struct Cumsum {
  static constexpr const char* kName = "cumsum";
  const View& x;
  const View& y;
  int dim;
  bool reverse;
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

/// logits: [N, C] contiguous, target: int64 [N] -> losses: [N], exp_sums: [2, N], float32 where logits are half: each
/// row's largest logit and the sum of e^(logit - largest).  A row of ignore_index gives 0.
struct CrossEntropy {
  static constexpr const char* kName = "cross_entropy";
  using Result = Outcome;
  const View& logits;
  const View& target;
  const View& losses;
  const View& exp_sums;
  std::int64_t ignore_index;
};

/// grad: [N], of each row's loss -> grad_logits: [N, C].
struct CrossEntropyBackward {
  static constexpr const char* kName = "cross_entropy_backward";
  const View& grad;
  const View& logits;
  const View& target;
  const View& exp_sums;
  const View& grad_logits;
  std::int64_t ignore_index;
};

// Linear algebra.

/// a: [B, M, K]  b: [B, K, N]  out: [B, M, N]; B may be broadcast by stride 0, and each operand transposed by its
/// strides; bias (may be undefined): [N].
struct Matmul {
  static constexpr const char* kName = "matmul";
  const View& a;
  const View& b;
  const View& bias;
  const View& out;
  MatmulParams params = {};
};

/// grad_w = gradᵀ x, grad_bias = the sums of grad's columns.   grad: [N, O]  x: [N, I]  grad_w: [O, I]  grad_bias:
/// [O]; the results are contiguous.
struct LinearBackwardWeight {
  static constexpr const char* kName = "linear_backward";
  const View& grad;
  const View& x;
  const View& grad_w;
  const View& grad_bias;
};

// Convolution and pooling.  x: [N, C, H, W]  w: [O, C / groups, KH, KW]  bias: [O] or undefined.  The memory format
// that the backend wants for its outputs is asked first.

struct Conv2d {
  static constexpr const char* kName = "conv2d";
  const View& x;
  const View& w;
  const View& bias;
  const View& y;
  Conv2dParams params = {};
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

/// indices: int32 [N, C, OH, OW], h * W + w of the largest element of each window; y and indices have one layout.
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

/// out[..., index[..., i, ...], ...] += x[..., i, ...].
struct ScatterAdd {
  static constexpr const char* kName = "scatter_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// out = the slices of x that index [n] names; negative indices are refused.
struct IndexSelect {
  static constexpr const char* kName = "index_select";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

/// The slices of out that index names += the slices of x, in a fixed order.
struct IndexAdd {
  static constexpr const char* kName = "index_add";
  using Result = Outcome;
  const View& x;
  const View& index;
  const View& out;
  int dim;
};

// Random numbers: element i (row-major) is a function of (state, i) alone.  out: contiguous.

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
  double mean, deviation;
};

/// Integers of [low, high).
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

/// Optimizers: one fused pass over all parameters.
struct Update {
  static constexpr const char* kName = "update";
  UpdateParams params;
  std::span<const UpdateItem> items;
};

}  // namespace calls

template <class...> struct CallList {};

/// All calls.  From this list come Backend's functions, the backends that hand calls on, and what captured steps keep.
using Calls = CallList<calls::Copy, calls::Fill, calls::Arange, calls::Unary, calls::UnarySlope, calls::UnaryCurve,
                       calls::Binary, calls::Ternary, calls::Reduce, calls::ArgReduce, calls::Cumsum, calls::Softmax,
                       calls::SoftmaxBackward, calls::CrossEntropy, calls::CrossEntropyBackward, calls::Matmul,
                       calls::LinearBackwardWeight, calls::Conv2d, calls::Conv2dBackwardInput,
                       calls::Conv2dBackwardWeight, calls::MaxPool2d, calls::MaxPool2dBackward, calls::AvgPool2d,
                       calls::AvgPool2dBackward, calls::Gather, calls::ScatterAdd, calls::IndexSelect, calls::IndexAdd,
                       calls::Uniform, calls::Normal, calls::Randint, calls::Bernoulli, calls::Update>;

}  // namespace minnow::detail
