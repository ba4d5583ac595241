#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/tensor.h>

namespace minnow {

// Parameters of the families.  Operation numbers are indices in the lists of kernels/.  Conventions are ours
// (dilation 1 = none); a library's are translated once, in the backend.

struct UnaryParams {
  int op = 0;  ///< index in kernels::UnaryOps
  double p0 = 0, p1 = 0;
};

/// A strided tensor seen as [outer, reduced, inner] for a reduction over the middle.
struct ReduceParams {
  int op = 0;    ///< index in kernels::ReduceOps
  double p = 0;  ///< the norm's order
};

/// out = activation(alpha * a b + beta * out (+ bias)), for a batch of matrices; each operand may be transposed by its
/// strides.
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

struct SoftmaxParams {
  int dim = -1;  ///< not negative when a backend sees it
  bool log = false;
};

struct CrossEntropyParams {
  std::int64_t ignore_index = -100;
};

/// One tensor of an optimizer's fused pass.  `state` are the rule's own tensors, shaped like the parameter.
struct UpdateItem {
  const Tensor* param;
  const Tensor* grad;
  const Tensor* state[3];
};

struct UpdateParams {
  int rule = 0;                   ///< index in kernels::UpdateRules
  std::span<const double> hyper;  ///< the rule's own struct of hyper-parameters, as an array of doubles
  /// Device memory that holds the same doubles and takes their place when set: in a step that is recorded once and
  /// replayed, they change from replay to replay.
  const double* replayed = nullptr;
};

/// Work that is recorded instead of done, to be done again and again: see CapturedStep.
class Recording {
 public:
  /// Gives up a recording that was not finished; its thread computes as before.
  virtual ~Recording() = default;
  /// Ends the recording.  BackendError when something in it cannot be recorded.
  virtual void finish() = 0;
  /// Does the recorded work, on the current stream.
  virtual void replay() = 0;
};

/// Everything a device can do, by families.  Front ends (tensor/ops) own every check and allocate outputs: a
/// backend gets checked, pre-allocated tensors that are all on one of its devices (an operand of an
/// elementwise family may be a 0-dim CPU tensor), and is free of shape logic.  Inputs may have any strides (0
/// where broadcast: they are expanded to the output's shape) unless a method says otherwise.  All work goes
/// to the current stream.
class Backend {
 public:
  virtual ~Backend() = default;

  // Devices, memory, streams.
  virtual int device_count() const = 0;
  virtual Allocator& allocator(int index) = 0;
  /// Page-locked host memory for copies to and from this backend's devices; nullptr when it has no use for
  /// any.
  virtual Allocator* pinned_allocator() = 0;
  virtual Stream current_stream(int index) = 0;
  virtual void set_current_stream(int index, const Stream& stream) = 0;
  virtual Stream new_stream(int index) = 0;
  virtual void synchronize(int index) = 0;
  /// From now on this thread's work on the device is recorded and not done.
  virtual std::unique_ptr<Recording> begin_recording(int index) = 0;

  // Copies.
  /// Any strides and dtypes, within one device.
  virtual void copy(const Tensor& from, const Tensor& to) = 0;
  /// Bytes between the host and this device, or between two of its devices; both sides dense in the same
  /// order and of one dtype.  With non_blocking the call may return first; the storages stay alive until the
  /// copy is done.
  virtual void transfer(const Tensor& from, const Tensor& to, bool non_blocking) = 0;
  virtual void fill(const Tensor& out, Scalar value) = 0;
  /// out[i] = start + i * step, contiguous.
  virtual void arange(const Tensor& out, double start, double step) = 0;

  // Elementwise.  Outputs have the inputs' common shape.
  virtual void unary(const UnaryParams& params, const Tensor& x, const Tensor& out) = 0;
  /// out = grad * slope(saved): see kernels/unary.h for what an op saves.
  virtual void unary_slope(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) = 0;
  /// out = grad * curve(saved), curve being the derivative of slope.
  virtual void unary_curve(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) = 0;
  /// Computes in `compute` (float32, float64 or int64); operands and output convert at load and store.
  /// Returns false when an integer was divided by zero.
  virtual bool binary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& out) = 0;
  virtual void ternary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& c, double p,
                       const Tensor& out) = 0;

  // Reductions.  x: [outer, n, inner] with any strides; out: [outer, inner], contiguous.
  virtual void reduce(const ReduceParams& params, const Tensor& x, const Tensor& out) = 0;
  /// First index of the largest (or smallest) element; NaN wins.  values may be undefined.  indices: int64.
  virtual void arg_reduce(bool largest, const Tensor& x, const Tensor& values, const Tensor& indices) = 0;

  // Softmax over one dimension.  x, y, grad: contiguous.
  virtual void softmax(const SoftmaxParams& params, const Tensor& x, const Tensor& y) = 0;
  virtual void softmax_backward(const SoftmaxParams& params, const Tensor& grad, const Tensor& y,
                                const Tensor& grad_x) = 0;
  /// logits: [N, C] contiguous, target: int64 [N] -> losses: [N], exp_sums: [2, N], float32 where logits
  /// are half: each row's largest logit and the sum of e^(logit - largest).  A row of ignore_index gives 0. False when a target is neither in [0, C) nor ignore_index (a device may report it at its next
  /// synchronization).
  virtual bool cross_entropy(const CrossEntropyParams& params, const Tensor& logits, const Tensor& target,
                             const Tensor& losses, const Tensor& exp_sums) = 0;
  /// grad: [N], of each row's loss -> grad_logits: [N, C].
  virtual void cross_entropy_backward(const CrossEntropyParams& params, const Tensor& grad, const Tensor& logits,
                                      const Tensor& target, const Tensor& exp_sums, const Tensor& grad_logits) = 0;

  // Linear algebra.  a: [B, M, K]  b: [B, K, N]  out: [B, M, N]; B may be broadcast by stride 0; bias (may be
  // undefined): [N].
  virtual void matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                      const Tensor& out) = 0;
  /// grad_w = gradᵀ x, grad_bias = the sums of grad's columns.   grad: [N, O]  x: [N, I]  grad_w: [O, I]  grad_bias:
  /// [O]; the results are contiguous.
  virtual void linear_backward_weight(const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                                      const Tensor& grad_bias) = 0;

  // Convolution and pooling.  x: [N, C, H, W]  w: [O, C / groups, KH, KW]  bias: [O] or undefined.  The
  // memory format that the backend wants for its outputs is asked first.
  virtual MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) = 0;
  virtual void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
                      const Tensor& y) = 0;
  virtual void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w,
                                     const Tensor& grad_x) = 0;
  /// grad_bias may be undefined.
  virtual void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x,
                                      const Tensor& grad_w, const Tensor& grad_bias) = 0;
  /// indices: int32 [N, C, OH, OW], h * W + w of the largest element of each window; y and indices have one
  /// layout.
  virtual void max_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y, const Tensor& indices) = 0;
  virtual void max_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& indices,
                                   const Tensor& grad_x) = 0;
  virtual void avg_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y) = 0;
  virtual void avg_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& grad_x) = 0;

  // Indexing.  Methods return false when an index is out of range (nothing is read or written out of bounds);
  // a device may report it at its next synchronization instead.
  /// out[..., i, ...] = x[..., index[..., i, ...], ...] along dim; index (int64) has out's shape.
  virtual bool gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = 0;
  /// out[..., index[..., i, ...], ...] += x[..., i, ...].
  virtual bool scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = 0;
  /// out = the slices of x along dim that index (int64 [n]) names; negative indices are refused.
  virtual bool index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = 0;
  /// The slices of out along dim that index names += the slices of x, in a fixed order.
  virtual bool index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = 0;

  // Random numbers: element i (row-major) is a function of (state, i) alone.  out: contiguous.
  virtual void uniform(PhiloxState state, double low, double high, const Tensor& out) = 0;
  virtual void normal(PhiloxState state, double mean, double deviation, const Tensor& out) = 0;
  /// Integers of [low, high).
  virtual void randint(PhiloxState state, std::int64_t low, std::int64_t high, const Tensor& out) = 0;
  /// Bool: true with probability p.
  virtual void bernoulli(PhiloxState state, double p, const Tensor& out) = 0;

  // Optimizers: one fused pass over all parameters.
  virtual void update(const UpdateParams& params, std::span<const UpdateItem> items) = 0;
};

}  // namespace minnow
