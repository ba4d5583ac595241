#include <initializer_list>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/sim/sim_backend.h>
#include <minnow/tensor/sim/sim_stream.h>

namespace minnow::sim {
namespace {

/// The CPU's kernels, for work on the device of `out`: once the copies of its current stream are done.
Backend& kernels(const Tensor& out) {
  sim_backend()->current_stream(out.device().index()).synchronize();
  return *cpu_backend();
}

/// The same for elementwise families, whose 0-dim CPU operands a copy may still be writing.
Backend& kernels(const Tensor& out, std::initializer_list<const Tensor*> operands) {
  for (const Tensor* operand : operands)
    if (operand->device().is_cpu()) operand->storage()->wait_ready();
  return kernels(out);
}

}  // namespace

void SimBackend::copy(const Tensor& from, const Tensor& to) { kernels(to).copy(from, to); }

void SimBackend::fill(const Tensor& out, Scalar value) { kernels(out).fill(out, value); }

void SimBackend::arange(const Tensor& out, double start, double step) { kernels(out).arange(out, start, step); }

void SimBackend::unary(const UnaryParams& params, const Tensor& x, const Tensor& out) {
  kernels(out, {&x}).unary(params, x, out);
}

void SimBackend::unary_slope(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) {
  kernels(out, {&grad, &saved}).unary_slope(params, grad, saved, out);
}

void SimBackend::unary_curve(const UnaryParams& params, const Tensor& grad, const Tensor& saved, const Tensor& out) {
  kernels(out, {&grad, &saved}).unary_curve(params, grad, saved, out);
}

bool SimBackend::binary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& out) {
  return kernels(out, {&a, &b}).binary(op, compute, a, b, out);
}

void SimBackend::ternary(int op, DType compute, const Tensor& a, const Tensor& b, const Tensor& c, double p,
                         const Tensor& out) {
  kernels(out, {&a, &b, &c}).ternary(op, compute, a, b, c, p, out);
}

void SimBackend::reduce(const ReduceParams& params, const Tensor& x, const Tensor& out) {
  kernels(out).reduce(params, x, out);
}

void SimBackend::arg_reduce(bool largest, const Tensor& x, const Tensor& values, const Tensor& indices) {
  kernels(indices).arg_reduce(largest, x, values, indices);
}

void SimBackend::softmax(const SoftmaxParams& params, const Tensor& x, const Tensor& y) {
  kernels(y).softmax(params, x, y);
}

void SimBackend::softmax_backward(const SoftmaxParams& params, const Tensor& grad, const Tensor& y,
                                  const Tensor& grad_x) {
  kernels(grad_x).softmax_backward(params, grad, y, grad_x);
}

bool SimBackend::cross_entropy(const CrossEntropyParams& params, const Tensor& logits, const Tensor& target,
                               const Tensor& losses, const Tensor& log_sum_exp) {
  return kernels(log_sum_exp).cross_entropy(params, logits, target, losses, log_sum_exp);
}

void SimBackend::cross_entropy_backward(const CrossEntropyParams& params, const Tensor& grad, const Tensor& logits,
                                        const Tensor& target, const Tensor& log_sum_exp, const Tensor& grad_logits) {
  kernels(grad_logits).cross_entropy_backward(params, grad, logits, target, log_sum_exp, grad_logits);
}

void SimBackend::matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                        const Tensor& out) {
  kernels(out).matmul(params, a, b, bias, out);
}

void SimBackend::linear_backward_weight(const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                                        const Tensor& grad_bias) {
  kernels(grad_w).linear_backward_weight(grad, x, grad_w, grad_bias);
}

MemoryFormat SimBackend::conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) {
  return cpu_backend()->conv2d_format(params, x, w);
}

void SimBackend::conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
                        const Tensor& y) {
  kernels(y).conv2d(params, x, w, bias, y);
}

void SimBackend::conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w,
                                       const Tensor& grad_x) {
  kernels(grad_x).conv2d_backward_input(params, grad, w, grad_x);
}

void SimBackend::conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x,
                                        const Tensor& grad_w, const Tensor& grad_bias) {
  kernels(grad_w).conv2d_backward_weight(params, grad, x, grad_w, grad_bias);
}

void SimBackend::max_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y, const Tensor& indices) {
  kernels(indices).max_pool2d(params, x, y, indices);
}

void SimBackend::max_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& indices,
                                     const Tensor& grad_x) {
  kernels(grad_x).max_pool2d_backward(params, grad, indices, grad_x);
}

void SimBackend::avg_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y) {
  kernels(y).avg_pool2d(params, x, y);
}

void SimBackend::avg_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& grad_x) {
  kernels(grad_x).avg_pool2d_backward(params, grad, grad_x);
}

bool SimBackend::gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  return kernels(out).gather(x, dim, index, out);
}

bool SimBackend::scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  return kernels(out).scatter_add(x, dim, index, out);
}

bool SimBackend::index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  return kernels(out).index_select(x, dim, index, out);
}

bool SimBackend::index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  return kernels(out).index_add(x, dim, index, out);
}

void SimBackend::uniform(PhiloxState state, double low, double high, const Tensor& out) {
  kernels(out).uniform(state, low, high, out);
}

void SimBackend::normal(PhiloxState state, double mean, double deviation, const Tensor& out) {
  kernels(out).normal(state, mean, deviation, out);
}

void SimBackend::randint(PhiloxState state, std::int64_t low, std::int64_t high, const Tensor& out) {
  kernels(out).randint(state, low, high, out);
}

void SimBackend::bernoulli(PhiloxState state, double p, const Tensor& out) { kernels(out).bernoulli(state, p, out); }

void SimBackend::update(const UpdateParams& params, std::span<const UpdateItem> items) {
  if (items.empty()) return;
  kernels(*items.front().param).update(params, items);
}

}  // namespace minnow::sim
