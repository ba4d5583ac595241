#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow {

/// A backend that does nothing itself: each method that computes hands its address and its arguments to
///
///     template <class R, class... P, class... A> R Self::pass(R (Backend::*method)(P...), const A&... arguments)
///
/// which says when and by whom it is done.  Devices, memory, streams and transfers are Self's own.
template <class Self> class Forwarding : public Backend {
 public:
  void copy(const Tensor& from, const Tensor& to) override { self().pass(&Backend::copy, from, to); }
  void fill(const Tensor& out, Scalar value) override { self().pass(&Backend::fill, out, value); }
  void arange(const Tensor& out, double start, double step) override {
    self().pass(&Backend::arange, out, start, step);
  }

  void unary(const UnaryParams& params, const Tensor& x, const Tensor& out) override {
    self().pass(&Backend::unary, params, x, out);
  }
  void unary_slope(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) override {
    self().pass(&Backend::unary_slope, params, grad, saved, out);
  }
  void unary_curve(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) override {
    self().pass(&Backend::unary_curve, params, grad, saved, out);
  }
  bool binary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& out) override {
    return self().pass(&Backend::binary, op, compute, a, b, out);
  }
  void ternary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& c, double p,
               const Tensor& out) override {
    self().pass(&Backend::ternary, op, compute, a, b, c, p, out);
  }

  void reduce(const ReduceParams& params, const Tensor& x, const Tensor& out) override {
    self().pass(&Backend::reduce, params, x, out);
  }
  void arg_reduce(bool largest, const Tensor& x, const Tensor& values, const Tensor& indices) override {
    self().pass(&Backend::arg_reduce, largest, x, values, indices);
  }

  void softmax(const SoftmaxParams& params, const Tensor& x, const Tensor& y) override {
    self().pass(&Backend::softmax, params, x, y);
  }
  void softmax_backward(const SoftmaxParams& params, const Tensor& grad, const Tensor& y,
                        const Tensor& grad_x) override {
    self().pass(&Backend::softmax_backward, params, grad, y, grad_x);
  }
  bool cross_entropy(const CrossEntropyParams& params, const Tensor& logits, const Tensor& target, const Tensor& losses,
                     const Tensor& exp_sums) override {
    return self().pass(&Backend::cross_entropy, params, logits, target, losses, exp_sums);
  }
  void cross_entropy_backward(const CrossEntropyParams& params, const Tensor& grad, const Tensor& logits,
                              const Tensor& target, const Tensor& exp_sums, const Tensor& grad_logits) override {
    self().pass(&Backend::cross_entropy_backward, params, grad, logits, target, exp_sums, grad_logits);
  }

  void matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
              const Tensor& out) override {
    self().pass(&Backend::matmul, params, a, b, bias, out);
  }
  void linear_backward_weight(const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                              const Tensor& grad_bias) override {
    self().pass(&Backend::linear_backward_weight, grad, x, grad_w, grad_bias);
  }

  void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
              const Tensor& y) override {
    self().pass(&Backend::conv2d, params, x, w, bias, y);
  }
  void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w,
                             const Tensor& grad_x) override {
    self().pass(&Backend::conv2d_backward_input, params, grad, w, grad_x);
  }
  void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                              const Tensor& grad_bias) override {
    self().pass(&Backend::conv2d_backward_weight, params, grad, x, grad_w, grad_bias);
  }
  void max_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y, const Tensor& indices) override {
    self().pass(&Backend::max_pool2d, params, x, y, indices);
  }
  void max_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& indices,
                           const Tensor& grad_x) override {
    self().pass(&Backend::max_pool2d_backward, params, grad, indices, grad_x);
  }
  void avg_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y) override {
    self().pass(&Backend::avg_pool2d, params, x, y);
  }
  void avg_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& grad_x) override {
    self().pass(&Backend::avg_pool2d_backward, params, grad, grad_x);
  }

  bool gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override {
    return self().pass(&Backend::gather, x, dim, index, out);
  }
  bool scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override {
    return self().pass(&Backend::scatter_add, x, dim, index, out);
  }
  bool index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override {
    return self().pass(&Backend::index_select, x, dim, index, out);
  }
  bool index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) override {
    return self().pass(&Backend::index_add, x, dim, index, out);
  }

  void uniform(PhiloxState state, double low, double high, const Tensor& out) override {
    self().pass(&Backend::uniform, state, low, high, out);
  }
  void normal(PhiloxState state, double mean, double deviation, const Tensor& out) override {
    self().pass(&Backend::normal, state, mean, deviation, out);
  }
  void randint(PhiloxState state, std::int64_t low, std::int64_t high, const Tensor& out) override {
    self().pass(&Backend::randint, state, low, high, out);
  }
  void bernoulli(PhiloxState state, double p, const Tensor& out) override {
    self().pass(&Backend::bernoulli, state, p, out);
  }

  void update(const UpdateParams& params, std::span<const UpdateItem> items) override {
    self().pass(&Backend::update, params, items);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace minnow
