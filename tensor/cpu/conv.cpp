#include <minnow/tensor/cpu/conv.h>

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/pack.h>
#include <minnow/tensor/cpu/reference.h>

namespace minnow::cpu {
namespace {
Tensor wide(const Tensor& t) { return t.defined() ? packed(t, DType::float64) : t; }
}  // namespace

MemoryFormat conv2d_format(const Conv2dParams&, const Tensor& x, const Tensor&) {
  return x.dtype() == DType::float64 ? MemoryFormat::contiguous : MemoryFormat::channels_last;
}

void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) {
  const Tensor out = scratch(y.shape(), DType::float64);
  reference::conv2d<double>(params, wide(x), wide(w), wide(bias), out);
  convert(out, y);
}

void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x) {
  const Tensor out = scratch(grad_x.shape(), DType::float64);
  reference::conv2d_backward_input<double>(params, wide(grad), wide(w), out);
  convert(out, grad_x);
}

void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                            const Tensor& grad_bias) {
  const Tensor out = scratch(grad_w.shape(), DType::float64);
  const Tensor bias = grad_bias.defined() ? scratch(grad_bias.shape(), DType::float64) : grad_bias;
  reference::conv2d_backward_weight<double>(params, wide(grad), wide(x), out, bias);
  convert(out, grad_w);
  if (bias.defined()) convert(bias, grad_bias);
}

MemoryFormat CpuBackend::conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) {
  return cpu::conv2d_format(params, x, w);
}

void CpuBackend::conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
                        const Tensor& y) {
  cpu::conv2d(params, x, w, bias, y);
}

void CpuBackend::conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w,
                                       const Tensor& grad_x) {
  cpu::conv2d_backward_input(params, grad, w, grad_x);
}

void CpuBackend::conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x,
                                        const Tensor& grad_w, const Tensor& grad_bias) {
  cpu::conv2d_backward_weight(params, grad, x, grad_w, grad_bias);
}

}  // namespace minnow::cpu
