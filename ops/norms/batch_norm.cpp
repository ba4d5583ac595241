#include <minnow/ops/norms/batch_norm.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/ops/detail/dense.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow {
namespace {

/// operands: x first; the others have a number for each channel, or are undefined.
void check(Operands operands, double eps) {
  const Tensor& x = operands[0].tensor;
  if (x.dim() < 2)
    throw ShapeError(message("x must be [N, C, ...]", operands, "x.unsqueeze(0) adds a dimension for N"));
  if (!x.is_floating_point()) throw DTypeError(message("needs a floating-point dtype", operands, dtype_hint(operands)));
  for (const Operand& o : operands) {
    if (&o == operands.data() || o.left_out()) continue;
    if (o.tensor.dtype() != x.dtype() && !(is_half(x.dtype()) && o.tensor.dtype() == DType::float32))
      throw DTypeError(message("operands must have one floating-point dtype, or float32 beside halves", operands,
                               dtype_hint(operands)));
    if (o.tensor.shape() != Shape{x.size(1)})
      throw ShapeError(message(fmt::format("{} must have a number for each channel of x, [{}]", o.name, x.size(1)),
                               operands, "the channels are dimension 1 of x"));
  }
  if (!(eps >= 0))
    throw ValueError(message(fmt::format("eps must not be negative, got {}", eps), operands,
                             "it is added to the variance, whose root is divided by"));
}

/// The order in which x is read and written: its own where that is channels_last.
MemoryFormat format_of(const Tensor& x) {
  const bool last = x.dim() == 4 && !x.is_contiguous() && x.is_contiguous(MemoryFormat::channels_last);
  return last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

Tensor new_output(const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return result_like(x);
  return raw::new_result(x.shape(), x.strides(), x.dtype(), x.device());
}

/// Such a tensor as [outer, channels, inner].
View channels_of(const Tensor& t, std::int64_t channels, MemoryFormat format) {
  std::int64_t inner = 1;
  if (format == MemoryFormat::contiguous)
    for (int d = 2; d < t.dim(); ++d) inner *= t.size(d);
  return View(t.storage(), t.dtype(), {t.numel() / (channels * inner), channels, inner}, {channels * inner, inner, 1},
              t.storage_offset());
}

/// Everything but the channels.
Shape other_dims(const Tensor& x) {
  Shape dims{0};
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}
/// A number for each channel, to be broadcast with x.
Tensor beside(const Tensor& t, const Tensor& x, DType dtype) {
  Shape shape = Shape::filled(x.dim(), 1);
  shape[1] = x.size(1);
  return t.to(dtype).reshape(shape);
}

/// The backend wrote to `dense`, which is t or a contiguous copy.
void written(const Tensor& dense, const Tensor& t) {
  if (dense.is_same(t)) t.storage()->bump_version();
  else raw::copy_to(dense, t);
}

Gradients gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, DType of_bias, const Tensor& stats,
                    bool training, Needs needs) {
  const Operand operands[] = {{"grad", grad}, {"x", x}, {"weight", weight, kOptional}};
  Backend& backend = dispatch(operands);
  const std::int64_t channels = x.size(1);
  Gradients out(3);
  const MemoryFormat format = format_of(x);
  if (needs[0]) out[0] = new_output(x, format);
  if (needs[1]) out[1] = raw::new_result({channels}, weight.dtype(), x.device());
  if (needs[2]) out[2] = raw::new_result({channels}, of_bias, x.device());
  if (x.numel()) {
    const Tensor g = raw::contiguous(grad, format), from = raw::contiguous(x, format), w = dense(weight);
    const auto channels_in = [&](const Tensor& t) { return channels_of(t, channels, format); };
    backend.run(calls::BatchNormBackward{channels_in(g), channels_in(from), flat(w), stats,
                                         needs[0] ? channels_in(out[0]) : View(), flat(out[1]), flat(out[2]),
                                         training});
    return out;
  }
  for (const std::size_t i : {1U, 2U})
    if (needs[i]) raw::fill_(out[i], 0);
  return out;
}

/// The same of recorded functions, for derivatives of it.
Gradients recorded_gradients(const Tensor& grad, const Tensor& given, const Tensor& weight, DType of_bias,
                             const Tensor& stats, bool training, double eps, Needs needs) {
  const DType dtype = given.dtype(), wide = is_half(dtype) ? DType::float32 : dtype;
  const Shape dims = other_dims(given);
  const Tensor x = given.to(wide), g_y = grad.to(wide);
  const auto average = [&](const Tensor& t) { return mean(t, dims, true); };
  Tensor h, rstd;
  if (training) {
    const Tensor centered = sub(x, average(x));
    rstd = pow(add(average(square(centered)), eps), -0.5);
    h = mul(centered, rstd);
  } else {
    rstd = beside(stats.select(0, 1), x, wide);
    h = mul(sub(x, beside(stats.select(0, 0), x, wide)), rstd);
  }
  Gradients out(3);
  if (needs[0]) {
    const Tensor g = weight.defined() ? mul(g_y, beside(weight, x, wide)) : g_y;
    out[0] = (training ? mul(rstd, sub(sub(g, average(g)), mul(h, average(mul(g, h))))) : mul(rstd, g)).to(dtype);
  }
  if (needs[1]) out[1] = sum(mul(g_y, h), dims).to(weight.dtype());
  if (needs[2]) out[2] = sum(g_y, dims).to(of_bias);
  return out;
}

}  // namespace

Tensor batch_norm(const In& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormFuncOptions& options) {
  const Operation op("batch_norm", x.where,
                     {{"x", *x},
                      {"running_mean", running_mean, kOptional},
                      {"running_var", running_var, kOptional},
                      {"weight", weight, kOptional},
                      {"bias", bias, kOptional}});
  check(op, options.eps);
  const bool training = options.training;
  if (running_mean.defined() != running_var.defined())
    throw ValueError(message("running_mean and running_var belong together", op, "give both or none"));
  if (!training && !running_mean.defined())
    throw ValueError(message("without training it needs running statistics", op,
                             "give running_mean and running_var, or {.training = true} for the statistics of x"));
  if (!(options.momentum >= 0 && options.momentum <= 1))
    throw ValueError(message(fmt::format("momentum must be in [0, 1], got {}", options.momentum), op, "e.g. 0.1"));
  const std::int64_t channels = x->size(1);
  if (training && x->numel() > 0 && x->numel() == channels)
    throw ValueError(message("training needs more than one element per channel", op,
                             "their variance would be 0: give larger batches, or call eval() on the module"));
  for (const Tensor* running : {&running_mean, &running_var})
    if (records(*running)) throw AutogradError(message("running statistics have no gradient", op, "detach() them"));
  const bool recorded = records(*x, weight) || records(bias);
  const MemoryFormat format = format_of(*x);
  Tensor y = new_output(*x, format), stats = raw::new_result({2, channels}, DType::float64, x->device());
  if (!y.numel()) {
    raw::fill_(stats, 0);
  } else {
    const Tensor from = raw::contiguous(x, format), w = dense(weight), b = dense(bias), mean = dense(running_mean),
                 variance = dense(running_var);
    op.run(calls::BatchNorm{channels_of(from, channels, format), flat(w), flat(b), flat(mean), flat(variance),
                            channels_of(y, channels, format), stats, training, options.momentum, options.eps});
    if (training && running_mean.defined()) {
      written(mean, running_mean);
      written(variance, running_var);
    }
  }
  if (is_heard()) [[unlikely]]
    tell("batch_norm", {y}, op, {{"training", training}, {"eps", options.eps}});
  if (!recorded) return y;
  const DType of_bias = bias.defined() ? bias.dtype() : x->dtype();
  return op.record(
      std::move(y), {x, weight, bias},
      [x = Saved(*x), w = Saved(weight), stats, of_bias, training, eps = options.eps](const Tensor& g, Needs needs) {
        if (is_grad_enabled()) return recorded_gradients(g, x(), w(), of_bias, stats, training, eps, needs);
        return gradients(g, x(), w(), of_bias, stats, training, needs);
      });
}

namespace {

/// x weight + bias of each channel.  With means of 0 and variances of 1 batch_norm is that, in one pass forward and one
/// backward; halves beside weights of float32 are computed in float32.
Tensor scaled(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const DType wide = is_half(x.dtype()) ? DType::float32 : x.dtype();
  const TensorOptions options{wide, x.device()};
  const auto in_wide = [wide](const Tensor& t) { return t.defined() ? t.to(wide) : t; };
  return batch_norm(in_wide(x), zeros({x.size(1)}, options), ones({x.size(1)}, options), in_wide(weight), in_wide(bias),
                    {.training = false, .eps = 0});
}

}  // namespace

Tensor instance_norm(const In& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Operation op("instance_norm", x.where, {{"x", *x}, {"weight", weight, kOptional}, {"bias", bias, kOptional}});
  check(op, eps);
  const std::int64_t samples = x->size(0), channels = x->size(1);
  if (x->dim() < 3 || (x->numel() > 0 && x->numel() == samples * channels))
    throw ValueError(message("needs more than one element per channel of a sample", op,
                             "x is [N, C, L...]; for [N, C] layer_norm or batch_norm"));
  if (x->numel() == 0) return scaled(*x, weight, bias).to(x->dtype());
  // The channels of all samples are channels of one.
  Shape as_one = x->shape();
  as_one[0] = 1;
  as_one[1] = samples * channels;
  const auto of_all = [&](const Tensor& t) { return t.defined() ? t.repeat({samples}) : t; };
  Tensor y = batch_norm(x->reshape(as_one), {}, {}, of_all(weight), of_all(bias), {.training = true, .eps = eps})
                 .reshape(x->shape());
  if (is_heard()) [[unlikely]]
    tell("instance_norm", {y}, op, {{"eps", eps}});
  return y;
}

namespace {

/// group_norm by the loops of layer_norm, which on the host take a weight for each channel of a row.
struct GroupNorm {
  std::int64_t groups, channels, run;  ///< channels of a group, elements of a channel
  double eps;

  GroupNorm(const Tensor& x, std::int64_t num_groups, double epsilon)
      : groups(num_groups), channels(x.size(1) / num_groups), run(x.numel() / (x.size(0) * x.size(1))), eps(epsilon) {}

  View rows(const Tensor& t) const {
    const std::int64_t n = channels * run;
    return View(t.storage(), t.dtype(), {t.numel() / n, n}, {n, 1}, t.storage_offset());
  }
  /// A contiguous tensor of a number for each channel.
  View by_channel(const Tensor& t) const {
    return t.defined() ? View(t.storage(), t.dtype(), {groups, channels}, {channels, 1}, t.storage_offset()) : View();
  }

  Gradients gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, DType of_bias, const Tensor& stats,
                      Needs needs) const {
    Backend& backend = dispatch({{"grad", grad}, {"x", x}, {"weight", weight, kOptional}});
    Gradients out(3);
    if (needs[0]) out[0] = result_like(x);
    if (needs[1]) out[1] = raw::new_result({groups * channels}, weight.dtype(), x.device());
    if (needs[2]) out[2] = raw::new_result({groups * channels}, of_bias, x.device());
    const Tensor g = raw::contiguous(grad), from = raw::contiguous(x), w = dense(weight);
    backend.run(calls::LayerNormBackward{rows(g), rows(from), by_channel(w), stats, needs[0] ? rows(out[0]) : View(),
                                         by_channel(out[1]), by_channel(out[2]), true});
    return out;
  }

  /// The same of recorded functions, for derivatives of it.
  Gradients recorded_gradients(const Tensor& grad, const Tensor& given, const Tensor& weight, DType of_bias,
                               Needs needs) const {
    const DType dtype = given.dtype(), wide = is_half(dtype) ? DType::float32 : dtype;
    const Shape split{given.size(0), groups, channels, run}, group{2, 3}, others{0, 3};
    const auto average = [&](const Tensor& t) { return mean(t, group, true); };
    const Tensor x = given.to(wide).reshape(split), g_y = grad.to(wide).reshape(split), centered = sub(x, average(x));
    const Tensor rstd = pow(add(average(square(centered)), eps), -0.5), h = mul(centered, rstd);
    Gradients out(3);
    if (needs[0]) {
      const Tensor g = weight.defined() ? mul(g_y, weight.to(wide).reshape({groups, channels, 1})) : g_y;
      const Tensor of_x = mul(rstd, sub(sub(g, average(g)), mul(h, average(mul(g, h)))));
      out[0] = of_x.reshape(given.shape()).to(dtype);
    }
    if (needs[1]) out[1] = sum(mul(g_y, h), others).reshape({groups * channels}).to(weight.dtype());
    if (needs[2]) out[2] = sum(g_y, others).reshape({groups * channels}).to(of_bias);
    return out;
  }
};

}  // namespace

Tensor group_norm(const In& x_, std::int64_t num_groups, const Tensor& weight_, const Tensor& bias_, double eps) {
  const Operation op("group_norm", x_.where, {kKept, kWide},
                     {{"x", *x_}, {"weight", weight_, kOptional}, {"bias", bias_, kOptional}});
  const Tensor &x = op[0], &weight = op[1], &bias = op[2];
  check(op, eps);
  const std::int64_t channels = x.size(1);
  if (num_groups < 1 || channels % num_groups != 0)
    throw ValueError(message(fmt::format("{} channels are not divisible into {} groups", channels, num_groups), op,
                             "num_groups must divide the size of dimension 1 of x"));
  if (x.numel() == 0) return scaled(x, weight, bias).to(x.dtype());
  const DType dtype = x.dtype(), wide = is_half(dtype) ? DType::float32 : dtype;
  const std::int64_t groups = x.size(0) * num_groups, n = x.numel() / groups;
  const bool affine = weight.defined() || bias.defined();
  constexpr std::int64_t kRun = 4;  // below, the loops are not worth their beginning
  const GroupNorm norm(x, num_groups, eps);
  if (affine && op.backend().computes_on_host() && norm.run >= kRun) {
    const bool recorded = op.records();
    const Tensor out = result_like(x), from = raw::contiguous(x), w = dense(weight), b = dense(bias);
    const Tensor stats = recorded ? raw::new_result({2, groups}, DType::float64, x.device()) : Tensor();
    op.run(calls::LayerNorm{norm.rows(from), norm.by_channel(w), norm.by_channel(b), norm.rows(out), stats, eps, true});
    if (is_heard()) [[unlikely]]
      tell("group_norm", {out}, op, {{"groups", num_groups}, {"eps", eps}});
    if (!recorded) return out;
    const DType of_bias = bias.defined() ? bias.dtype() : dtype;
    return op.record(out, {x, weight, bias},
                     [x = Saved(x), w = Saved(weight), stats, of_bias, norm](const Tensor& g, Needs needs) {
                       if (is_grad_enabled()) return norm.recorded_gradients(g, x(), w(), of_bias, needs);
                       return norm.gradients(g, x(), w(), of_bias, stats, needs);
                     });
  }
  Tensor y = layer_norm((affine ? x.to(wide) : x).reshape({groups, n}), n, {}, {}, eps).reshape(x.shape());
  if (affine) y = scaled(y, weight, bias).to(dtype);
  if (is_heard()) [[unlikely]]
    tell("group_norm", {y}, op, {{"groups", num_groups}, {"eps", eps}});
  return y;
}

}  // namespace minnow
