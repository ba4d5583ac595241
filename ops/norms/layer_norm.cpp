#include <minnow/ops/norms/layer_norm.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/ops/detail/dense.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow {
namespace {

/// operands: x first, then weight and bias.
void check(Operands operands, const Shape& normalized, double eps) {
  const Tensor& x = operands[0].tensor;
  const int lead = x.dim() - normalized.rank();
  if (normalized.empty() || lead < 0 || !std::equal(normalized.begin(), normalized.end(), x.shape().begin() + lead))
    throw ShapeError(message("x must end with the sizes of normalized_shape, " + normalized.str(), operands,
                             "normalized_shape is the last sizes of x, one or more"));
  for (const Operand& o : operands) {
    if (o.left_out()) continue;
    const bool wider = is_half(x.dtype()) && o.tensor.dtype() == DType::float32;
    if ((o.tensor.dtype() != x.dtype() && !wider) || !o.tensor.is_floating_point())
      throw DTypeError(message("operands must have one floating-point dtype, or float32 beside halves", operands,
                               dtype_hint(operands)));
    if (&o != operands.data() && o.tensor.shape() != normalized)
      throw ShapeError(message("weight and bias must be of the sizes of normalized_shape", operands,
                               "here " + normalized.str() + ", or none at all"));
  }
  if (!(eps >= 0))
    throw ValueError(message(fmt::format("eps must not be negative, got {}", eps), operands,
                             "it is added to the variance, whose root is divided by"));
}

/// Contiguous elements as rows of n.
View rows_of(const Tensor& t, std::int64_t n) {
  return View(t.storage(), t.dtype(), {t.numel() / n, n}, {n, 1}, t.storage_offset());
}

Gradients gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& stats, std::int64_t n,
                    const Shape& normalized, bool centered, Needs needs) {
  const Operand operands[] = {{"grad", grad}, {"x", x}, {"weight", weight, kOptional}};
  Backend& backend = dispatch(operands);
  Gradients out(3);
  if (needs[0]) out[0] = result_like(x);
  for (const std::size_t i : {1U, 2U})
    if (needs[i]) out[i] = raw::new_result(normalized, x.dtype(), x.device());
  if (x.numel()) {
    const Tensor g = raw::contiguous(grad), from = raw::contiguous(x), w = dense(weight);
    backend.run(calls::LayerNormBackward{rows_of(g, n), rows_of(from, n), flat(w), stats,
                                         needs[0] ? rows_of(out[0], n) : View(), flat(out[1]), flat(out[2]), centered});
    return out;
  }
  for (const std::size_t i : {1U, 2U})
    if (needs[i]) raw::fill_(out[i], 0);
  return out;
}

/// The same of recorded functions, for derivatives of it.  Halves are computed in float32, as backends do.
Gradients recorded_gradients(const Tensor& grad, const Tensor& given, const Tensor& weight, const Shape& normalized,
                             double eps, bool centered, Needs needs) {
  const DType dtype = given.dtype(), wide = is_half(dtype) ? DType::float32 : dtype;
  Shape dims;
  for (int d = -normalized.rank(); d < 0; ++d) dims.push_back(d);
  const auto average = [&](const Tensor& t) { return mean(t, dims, true); };
  const Tensor x = given.to(wide), g_y = grad.to(wide), distance = centered ? sub(x, average(x)) : x;
  const Tensor rstd = pow(add(average(square(distance)), eps), -0.5), h = mul(distance, rstd);
  Gradients out(3);
  if (needs[0]) {
    const Tensor g = weight.defined() ? mul(g_y, weight.to(wide)) : g_y;
    out[0] = mul(rstd, sub(centered ? sub(g, average(g)) : g, mul(h, average(mul(g, h))))).to(dtype);
  }
  if (needs[1]) out[1] = sum_to(mul(g_y, h), normalized).to(dtype);
  if (needs[2]) out[2] = sum_to(grad, normalized);
  return out;
}

/// operands: x, weight and bias.
Tensor normalize(const BoundOperands<3>& op, const Shape& normalized_shape, double eps, bool centered) {
  const Tensor &x = op[0], &weight = op[1], &bias = op[2];
  check(op, normalized_shape, eps);
  if ((weight.defined() && weight.dtype() != x.dtype()) || (bias.defined() && bias.dtype() != x.dtype())) {
    const auto wide = [](const Tensor& t) { return t.defined() ? t.to(DType::float32) : t; };
    const Tensor a = wide(x), w = wide(weight), b = wide(bias);
    return normalize(op.with({{"x", a}, {"weight", w, kOptional}, {"bias", b, kOptional}}), normalized_shape, eps,
                     centered)
        .to(x.dtype());
  }
  const std::int64_t n = normalized_shape.numel();
  Tensor y = op.result(x.shape(), x.dtype()), stats;
  if (y.numel()) {
    if (op.records()) stats = op.result({2, y.numel() / n}, DType::float64);
    const Tensor from = raw::contiguous(x), w = dense(weight), b = dense(bias);
    op.run(calls::LayerNorm{rows_of(from, n), flat(w), flat(b), rows_of(y, n), stats, eps, centered});
  }
  if (is_heard()) [[unlikely]]
    tell(centered ? "layer_norm" : "rms_norm", {y}, op, {{"dims", normalized_shape.rank()}, {"eps", eps}});
  if (!op.records()) return y;
  return op.record(std::move(y), [x = Saved(x), w = Saved(weight), stats, n, normalized_shape, eps, centered](
                                     const Tensor& g, Needs needs) {
    if (is_grad_enabled()) return recorded_gradients(g, x(), w(), normalized_shape, eps, centered, needs);
    return gradients(g, x(), w(), stats, n, normalized_shape, centered, needs);
  });
}

}  // namespace

Tensor layer_norm(const In& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias, double eps) {
  const Operation op("layer_norm", x.where, {kKept, kWide},
                     {{"x", *x}, {"weight", weight, kOptional}, {"bias", bias, kOptional}});
  return normalize(op, normalized_shape, eps, true);
}

Tensor rms_norm(const In& x, const Shape& normalized_shape, const Tensor& weight, std::optional<double> eps) {
  const Tensor no_bias;
  const Operation op("rms_norm", x.where, {kKept, kWide},
                     {{"x", *x}, {"weight", weight, kOptional}, {"bias", no_bias, kOptional}});
  return normalize(op, normalized_shape, eps.value_or(op[0].dtype() == DType::float64 ? 0x1p-52 : 0x1p-23), false);
}

}  // namespace minnow
