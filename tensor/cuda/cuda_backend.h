#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::cuda {

/// NVIDIA GPUs.  Each family is in the file of its name (elementwise_*.cu, reduce.cu, matmul.cpp, ...).  A method starts
/// with a Call; work goes to the calling thread's current stream.  Thread-safe.
class CudaBackend final : public Backend {
 public:
  int device_count() const override;
  Allocator& allocator(int index) override;
  Allocator* pinned_allocator() override;
  Stream current_stream(int index) override;
  void set_current_stream(int index, const Stream& stream) override;
  Stream new_stream(int index) override;
  void synchronize(int index) override;
  std::unique_ptr<Recording> begin_recording(int index) override;

  void copy(const Tensor& from, const Tensor& to) override;
  void transfer(const Tensor& from, const Tensor& to, bool non_blocking) override;
  void fill(const Tensor& out, Scalar value) override;
  void arange(const Tensor& out, double start, double step) override;

  void unary(const UnaryParams& params, const Tensor& x, const Tensor& out) override;
  void unary_slope(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) override;
  void unary_curve(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) override;
  bool binary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& out) override;
  void ternary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& c, double p,
               const Tensor& out) override;

  void reduce(const ReduceParams& params, const Tensor& x, const Tensor& out) override;
  void arg_reduce(bool largest, const Tensor& x, const Tensor& values, const Tensor& indices) override;

  void softmax(const SoftmaxParams& params, const Tensor& x, const Tensor& y) override;
  void softmax_backward(const SoftmaxParams& params, const Tensor& grad, const Tensor& y,
                        const Tensor& grad_x) override;
  bool cross_entropy(const CrossEntropyParams& params, const Tensor& logits, const Tensor& target, const Tensor& losses,
                     const Tensor& exp_sums) override;
  void cross_entropy_backward(const CrossEntropyParams& params, const Tensor& grad, const Tensor& logits,
                              const Tensor& target, const Tensor& exp_sums, const Tensor& grad_logits) override;

  void matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
              const Tensor& out) override;
  void linear_backward_weight(const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                              const Tensor& grad_bias) override;

  MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) override;
  void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
              const Tensor& y) override;
  void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w,
                             const Tensor& grad_x) override;
  void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                              const Tensor& grad_bias) override;
  void max_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y, const Tensor& indices) override;
  void max_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& indices,
                           const Tensor& grad_x) override;
  void avg_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y) override;
  void avg_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& grad_x) override;

  bool gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override;
  bool scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override;
  bool index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override;
  bool index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override;

  void uniform(PhiloxState state, double low, double high, const Tensor& out) override;
  void normal(PhiloxState state, double mean, double deviation, const Tensor& out) override;
  void randint(PhiloxState state, std::int64_t low, std::int64_t high, const Tensor& out) override;
  void bernoulli(PhiloxState state, double p, const Tensor& out) override;

  void update(const UpdateParams& params, std::span<const UpdateItem> items) override;
};

}  // namespace minnow::cuda
