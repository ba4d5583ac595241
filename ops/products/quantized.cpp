#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/quantized.h>
#include <minnow/ops/detail/work_count.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail {
namespace {

/// Contiguous elements as a matrix.
View rows_of(const Tensor& x, std::int64_t columns) {
  const Shape shape{x.numel() / columns, columns};
  return View(x.storage(), x.dtype(), shape, contiguous_strides(shape), x.storage_offset());
}

}  // namespace

void check_quantized(Operands operands) {
  const Tensor &x = operands[0].tensor, &w = operands[1].tensor;
  if (x.dim() == 0 || x.size(-1) != w.size(1))
    throw ShapeError(message("the sizes do not match", operands, "x: [..., in]  weight: [out, in]  bias: [out]"));
  for (const Operand& o : operands) {
    if (o.left_out() || &o.tensor == &w) continue;
    if (o.tensor.dtype() != DType::float32)
      throw DTypeError(message("a layer that is quantized to int8 takes float32", operands, "convert: .to(float32)"));
    if (records(o.tensor))
      throw AutogradError(message("the layer is quantized to int8 and has no gradient", operands,
                                  "run it inside of a NoGradGuard; train before quantize_dynamic()"));
  }
}

QuantizedRows quantize_rows(const Tensor& w) {
  constexpr double kLeast = 1.1920928955078125e-07;  // for rows of zeros
  const Tensor scale = clamp_min(div(amax(abs(w), {1}), 127.5), kLeast);
  const Tensor values = clamp(round(mul(w, div(1.0, scale).unsqueeze(1))), -128, 127).to(DType::int8);
  return {values, scale};
}

Tensor quantized_linear(const In& x, const Tensor& w, const Tensor& scale, const Tensor& bias, Activation activation) {
  const Operation op("linear", x.where, {{"x", *x}, {"weight", w}, {"bias", bias, kOptional}});
  check_quantized(op);
  Shape shape = x->shape();
  shape[-1] = w.size(0);
  const Tensor y = raw::new_result(shape, DType::float32, x->device());
  WorkCount::add(y.numel() * w.size(1));
  if (y.numel())
    op.run(calls::QuantizedLinear{rows_of(raw::contiguous(x), w.size(1)), w, scale, bias, rows_of(y, w.size(0)), false,
                                  activation});
  if (is_heard()) [[unlikely]]
    tell("quantized_linear", {y}, {{"x", *x}, {"weight", w}, {"scale", scale}, {"bias", bias, kOptional}},
         {{"activation", static_cast<std::int64_t>(activation)}});
  return y;
}

void quantized_linear_add_(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& scale) {
  const CallSite site("linear", {});
  const Tensor none;
  const Operand operands[] = {{"x", x}, {"weight", w}, {"bias", none, kOptional}};
  Backend& backend = dispatch(operands);
  check_quantized(operands);
  WorkCount::add(y.numel() * w.size(1));
  if (y.numel()) backend.run(calls::QuantizedLinear{raw::contiguous(x), w, scale, none, y, true});
}

}  // namespace minnow::detail
