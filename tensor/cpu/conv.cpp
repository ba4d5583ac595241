#include <algorithm>
#include <atomic>
#include <minnow/tensor/cpu/activate.h>
#include <minnow/tensor/cpu/conv_columns.h>
#include <minnow/tensor/cpu/conv_direct.h>
#include <minnow/tensor/cpu/conv_few.h>
#include <minnow/tensor/cpu/conv_parts.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/dense_copy.h>
#include <minnow/tensor/cpu/onednn_plan.h>
#include <minnow/tensor/cpu/reference.h>
#include <minnow/tensor/cpu/winograd.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/threads.h>

// One input channel is read by conv_few.h, float32 with few positions and many weights is a product (conv_columns.h), and 3x3
// windows of many channels are computed by winograd.h.  Else oneDNN computes float32 and halves on dense channels-last
// activations (others are copied to that layout, and a single ungrouped input channel gets a second one of zeros); weights
// are reordered to the layout that it chooses.  Halves without a primitive on this machine are computed in float32; weight
// gradients of halves are sums in float32.  All other dtypes, and what oneDNN refuses, are computed in float64 by
// reference.h.  Results have the same bits for any number of threads.

namespace minnow::cpu {
namespace {

using onednn::memory;

constexpr const char* kBackward = "conv2d_backward";

bool has_library_dtype(const View& t) { return onednn::has_type(t.dtype()); }

View in_float64(const View& t) { return t.defined() ? packed(t, DType::float64) : t; }

/// With one channel NCHW and NHWC have the same strides, and oneDNN takes the slower one: a second channel of zeros is
/// added.
std::int64_t padded(std::int64_t channels) { return channels == 1 ? 2 : channels; }

View first_slices(const View& t, int dim, std::int64_t n) {
  Shape shape = t.shape();
  shape[dim] = n;
  return View(t.storage(), t.dtype(), shape, t.strides(), t.storage_offset());
}

/// Activations for oneDNN: channels-last, in `dtype`, with at least two channels if `pad`.
View activations(const View& t, DType dtype, bool pad) {
  const bool wide = pad && t.shape()[1] == 1;
  if (wide || t.dtype() != dtype || !t.is_contiguous(MemoryFormat::channels_last)) count_copies({1, 0});
  if (!wide) return packed(t, dtype, MemoryFormat::channels_last);
  Shape shape = t.shape();
  shape[1] = 2;
  const View padded = scratch(shape, dtype, MemoryFormat::channels_last);
  execute(calls::Fill{padded, 0});
  convert(t, first_slices(padded, 1, 1));
  return padded;
}

/// `t` itself if it has that dtype.
View in_dtype(const View& t, DType dtype) { return t.dtype() == dtype ? t : packed(t, dtype); }

/// A result in its own layout.
void store(const View& from, const View& to) {
  if (from.is_same(to)) return;
  count_copies({1, 0});
  convert(from, to);
}

/// Weights row-major, in `dtype`, with zeros for the channels that activations() added.
View weights(const View& w, DType dtype, bool pad) {
  if (!pad || w.shape()[1] != 1) return packed(w, dtype);
  Shape shape = w.shape();
  shape[1] = 2;
  const View wide = scratch(shape, dtype);
  execute(calls::Fill{wide, 0});
  convert(w, first_slices(wide, 1, 1));
  return wide;
}

/// AMX multiplies bfloat16 faster than Winograd's float32 can be.
bool takes_winograd(DType dtype, const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y) {
  const bool is_read = dtype == DType::float32 || (dtype == DType::bfloat16 && !onednn::has_amx());
  return is_read && suits_winograd(params, x, w, y);
}

/// Returns false if oneDNN has no such convolution on this machine (halves).
bool library_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                     Activation activation) {
  const DType dtype = x.dtype();
  const View out =
      y.is_contiguous(MemoryFormat::channels_last) ? y : scratch(y.shape(), dtype, MemoryFormat::channels_last);
  if (suits_few(params, x.shape(), w.shape())) {
    few_forward(params, in_dtype(x, DType::float32), packed(w, DType::float32),
                bias.defined() ? packed(bias, DType::float32) : bias, out, activation);
    store(out, y);
    return true;
  }
  const View b = bias.defined() ? packed(bias, dtype) : bias;
  const bool pad = params.groups == 1 && x.shape()[1] == 1;
  const View in = activations(x, dtype, pad), kernel = weights(w, dtype, pad);
  if (dtype == DType::float32 && suits_columns(params, in.shape(), kernel.shape(), y.shape())) {
    columns_forward(params, in, kernel, b, out);
    activate(activation, out);
    store(out, y);
    return true;
  }
  if (takes_winograd(dtype, params, in.shape(), kernel.shape(), y.shape())) {
    winograd_forward(params, in, in_dtype(kernel, DType::float32), b.defined() ? in_dtype(b, DType::float32) : b, out,
                     activation);
    store(out, y);
    return true;
  }
  if (!direct_forward(params, in, kernel, b, out, activation)) return false;
  if (dtype != DType::float32) activate(activation, out);
  store(out, y);
  return true;
}

bool library_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const DType dtype = grad.dtype();
  const bool pad = params.groups == 1 && grad_x.shape()[1] == 1;
  const View g = activations(grad, dtype, false), kernel = weights(w, dtype, pad);
  Shape shape = grad_x.shape();
  if (pad) shape[1] = padded(shape[1]);
  const bool direct = !pad && grad_x.is_contiguous(MemoryFormat::channels_last);
  const View out = direct ? grad_x : scratch(shape, dtype, MemoryFormat::channels_last);
  if (dtype == DType::float32 && suits_columns(params, shape, kernel.shape(), g.shape())) {
    columns_backward_input(params, g, kernel, out);
    store(out, grad_x);
    return true;
  }
  if (takes_winograd(dtype, params, shape, kernel.shape(), g.shape())) {
    winograd_backward_input(params, g, in_dtype(kernel, DType::float32), out);
    store(out, grad_x);
    return true;
  }
  if (!direct_backward_input(params, g, kernel, out)) return false;
  store(direct ? out : first_slices(out, 1, grad_x.shape()[1]), grad_x);
  return true;
}

/// The weight and bias gradient of some images, on one thread: float32, of operands in `dtype`.
struct PartPlan {
  std::int64_t images = 0;
  onednn::Relayout x, grad;
  onednn::Executable sums;
  memory::desc layout;  // of the weight gradient

  /// `want`: the layout of the weight gradient, or any.
  PartPlan(const Conv2dParams& params, Shape xs, const Shape& w, Shape ys, bool bias, std::int64_t n,
           const memory::desc& want, DType dtype)
      : images(n) {
    xs[0] = ys[0] = n;
    ConvLayouts d = conv_layouts(params, xs, w, ys, dtype, bias);
    if (bias) d.bias = row_major({w[0]}, DType::float32);
    const auto plan =
        onednn::conv_weight_plan(kBackward, params, {d.x, want, d.bias, d.y}, dtype == DType::float32 ? want : d.w);
    if (!plan) return;
    layout = plan.diff_weights_desc();
    x = onednn::Relayout(kBackward, d.x, plan.src_desc());
    grad = onednn::Relayout(kBackward, d.y, plan.diff_dst_desc());
    sums = onednn::executable<dnnl::convolution_backward_weights>(kBackward, plan,
                                                                  {{DNNL_ARG_SRC, plan.src_desc()},
                                                                   {DNNL_ARG_DIFF_DST, plan.diff_dst_desc()},
                                                                   {DNNL_ARG_DIFF_WEIGHTS, layout},
                                                                   {DNNL_ARG_DIFF_BIAS, d.bias}});
  }
  std::size_t bytes() const { return x.bytes() + grad.bytes() + sums.scratch_bytes(); }
  /// With the addresses of the part's first image.
  void run(const char* grad_data, const char* x_data, float* weight, float* bias, char* own) const {
    char* grad_copy = own + x.bytes();
    sums.run(kBackward, {x.run(kBackward, x_data, own), grad.run(kBackward, grad_data, grad_copy), weight, bias},
             grad_copy + grad.bytes());
  }
};

/// Parts have at most two sizes; their sums have one layout.
struct WeightPlan {
  PartPlan small, large;
  onednn::Executable rows;
  std::int64_t floats = 0;

  WeightPlan(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, bool bias,
             const ConvParts& parts, DType dtype)
      : small(params, x, w, y, bias, parts.small(), onednn::any_layout(grouped(w, params.groups), DType::float32),
              dtype),
        large(small.sums ? PartPlan(params, x, w, y, bias, parts.large(), small.layout, dtype) : small) {
    if (!usable()) return;
    rows = onednn::reorder(kBackward, small.layout, row_major(grouped(w, params.groups), DType::float32));
    floats = static_cast<std::int64_t>(small.layout.get_size() / sizeof(float));
  }
  bool usable() const { return small.sums && large.sums; }
};

/// Adds the sums of the parts to the first one, in order.
const float* add_parts(const View& parts) {
  const std::int64_t n = parts.shape()[0], size = parts.shape()[1];
  float* sum = static_cast<float*>(parts.raw_data());
  for (std::int64_t p = 1; p < n; ++p) {
    const float* part = sum + p * size;
    for (std::int64_t i = 0; i < size; ++i) sum[i] += part[i];
  }
  return sum;
}

/// Stores sums in oneDNN's layout to the weight gradient, without the channels of padding.
void store_weight_gradient(const onednn::Executable& to_rows, const float* sums, const Shape& shape,
                           const View& grad_w) {
  const bool direct = grad_w.is_contiguous() && grad_w.shape() == shape && grad_w.dtype() == DType::float32;
  const View rows = direct ? grad_w : scratch(shape, DType::float32);
  to_rows.run(kBackward, {sums, rows.raw_data()});
  if (!direct) convert(first_slices(rows, 1, grad_w.shape()[1]), grad_w);
}

/// `t` if it is row-major float32, otherwise new memory.
View packed_output(const View& t) {
  return t.is_contiguous() && t.dtype() == DType::float32 ? t : scratch(t.shape(), DType::float32);
}

/// The sum of each channel of a channels-last tensor.
void sum_channels(const View& t, const View& out) {
  const std::int64_t channels = t.shape()[1], rows = t.numel() / channels;
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>,
                        View(t.storage(), t.dtype(), {1, rows, channels}, {t.numel(), channels, 1}, t.storage_offset()),
                        View(out.storage(), out.dtype(), {1, channels}, {channels, 1}, out.storage_offset())});
}

/// By oneDNN, in the dtype of `in` and `g`; false if it has no such convolution.  `shape`: that of the weights.
bool parts_backward_weight(const Conv2dParams& params, const View& g, const View& in, const Shape& shape,
                           const View& grad_w, const View& grad_bias) {
  const bool with_bias = grad_bias.defined();
  const ConvParts parts = cut(in.shape()[0], shape.numel());
  const onednn::OneThread alone;
  const auto plan = onednn::plans<WeightPlan>().get(
      conv_key(params, in.dtype(), in.shape(), shape, g.shape(), with_bias),
      [&] { return std::make_shared<WeightPlan>(params, in.shape(), shape, g.shape(), with_bias, parts, in.dtype()); });
  if (!plan->usable()) return false;
  if (plan->small.x.bytes() != 0) count_copies({1, 0});
  if (plan->small.grad.bytes() != 0) count_copies({1, 0});

  const View weight = scratch({parts.count, plan->floats}, DType::float32),
             bias = scratch({parts.count, shape[0]}, DType::float32);
  for_parts(parts, std::max(plan->small.bytes(), plan->large.bytes()),
            [&](std::int64_t i, const ConvPart& part, char* own) {
              (part.size == plan->small.images ? plan->small : plan->large)
                  .run(static_cast<const char*>(g.raw_data()) + part.first * image_bytes(g),
                       static_cast<const char*>(in.raw_data()) + part.first * image_bytes(in),
                       static_cast<float*>(weight.raw_data()) + i * plan->floats,
                       with_bias ? static_cast<float*>(bias.raw_data()) + i * shape[0] : nullptr, own);
            });
  store_weight_gradient(plan->rows, add_parts(weight), shape, grad_w);
  if (with_bias) {
    add_parts(bias);
    convert(View(bias.storage(), bias.dtype(), {shape[0]}, {1}), grad_bias);
  }
  return true;
}

bool library_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                             const View& grad_bias) {
  const bool pad = params.groups == 1 && x.shape()[1] == 1, with_bias = grad_bias.defined();
  if (suits_few(params, x.shape(), grad_w.shape())) {
    const View out = packed_output(grad_w);
    few_backward_weight(params, activations(grad, grad.dtype(), false), in_dtype(x, DType::float32), out, grad_bias);
    if (!out.is_same(grad_w)) convert(out, grad_w);
    return true;
  }
  Shape shape = grad_w.shape();
  if (pad) shape[1] = padded(shape[1]);
  const DType dtype = x.dtype();
  const auto by_winograd = [&](const View& g, const View& in) {
    const View out = packed_output(grad_w);
    winograd_backward_weight(params, g, in, out, grad_bias);
    if (!out.is_same(grad_w)) convert(out, grad_w);
    return true;
  };
  if (is_half(dtype) && takes_winograd(dtype, params, x.shape(), shape, grad.shape()))
    return by_winograd(activations(grad, dtype, false), activations(x, dtype, pad));
  if (is_half(dtype) && parts_backward_weight(params, activations(grad, dtype, false), activations(x, dtype, pad),
                                              shape, grad_w, grad_bias))
    return true;
  const View g = activations(grad, DType::float32, false), in = activations(x, DType::float32, pad);
  if (suits_columns(params, in.shape(), shape, g.shape())) {
    const View out = packed_output(grad_w);
    columns_backward_weight(params, g, in, out);
    if (!out.is_same(grad_w)) convert(out, grad_w);
    if (with_bias) sum_channels(g, grad_bias);
    return true;
  }
  if (suits_winograd(params, in.shape(), shape, g.shape())) return by_winograd(g, in);
  return parts_backward_weight(params, g, in, shape, grad_w, grad_bias);
}

}  // namespace

namespace {
std::atomic<std::int64_t> copied_activations{0}, copied_weights{0};
}

ConvCopies conv_copies() { return {copied_activations.load(), copied_weights.load()}; }
void count_copies(ConvCopies more) {
  copied_activations.fetch_add(more.activations, std::memory_order_relaxed);
  copied_weights.fetch_add(more.weights, std::memory_order_relaxed);
}

ConvParts cut(std::int64_t batch, std::int64_t weight_elements) {
  const std::int64_t max_parts = weight_elements <= (1 << 16) ? 16 : weight_elements <= (1 << 20) ? 8 : 4;
  return {batch, std::clamp<std::int64_t>(batch / 4, 1, max_parts)};  // a part has at least 4 images, if possible
}

onednn::PlanKey conv_key(const Conv2dParams& p, DType dtype, const Shape& x, const Shape& w, const Shape& y,
                         bool bias) {
  onednn::PlanKey key;
  key.add(p.stride[0], p.stride[1], p.padding[0], p.padding[1], p.dilation[0], p.dilation[1], p.groups);
  return key.add(static_cast<int>(dtype), bias).add(x).add(w).add(y);
}

std::int64_t image_bytes(const View& t) {
  return t.shape()[1] * t.shape()[2] * t.shape()[3] * static_cast<std::int64_t>(t.itemsize());
}

/// channels_last for float32 and halves, contiguous for other dtypes.
MemoryFormat CpuBackend::conv2d_format(const Conv2dParams&, const View& x, const View&) {
  return has_library_dtype(x) ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

namespace {

/// Whether the activation is applied already.
bool convolve(const calls::Conv2d& args) {
  const View &x = args.x, &w = args.w, &bias = args.bias, &y = args.y;
  const Conv2dParams& params = args.params;
  if (has_library_dtype(x)) {
    if (library_forward(params, x, w, bias, y, args.activation)) return true;
    const View out = scratch(y.shape(), DType::float32, MemoryFormat::channels_last);
    const View b = bias.defined() ? packed(bias, DType::float32) : bias;
    if (library_forward(params, packed(x, DType::float32, MemoryFormat::channels_last), packed(w, DType::float32), b,
                        out, Activation::none)) {
      convert(out, y);
      return false;
    }
  }
  const View out = scratch(y.shape(), DType::float64);
  reference::conv2d<double>(params, in_float64(x), in_float64(w), in_float64(bias), out);
  convert(out, y);
  return false;
}

}  // namespace

template <> void execute(const calls::Conv2d& args) {
  if (!convolve(args)) activate(args.activation, args.y);
}

template <> void execute(const calls::Conv2dBackwardInput& args) {
  const View &grad = args.grad, &w = args.w, &grad_x = args.grad_x;
  const Conv2dParams& params = args.params;
  if (has_library_dtype(grad)) {
    if (library_backward_input(params, grad, w, grad_x)) return;
    const View out = scratch(grad_x.shape(), DType::float32, MemoryFormat::channels_last);
    if (library_backward_input(params, packed(grad, DType::float32, MemoryFormat::channels_last),
                               packed(w, DType::float32), out))
      return convert(out, grad_x);
  }
  const View out = scratch(grad_x.shape(), DType::float64);
  reference::conv2d_backward_input<double>(params, in_float64(grad), in_float64(w), out);
  convert(out, grad_x);
}

/// The batch is divided into parts by its size and that of the weights only.  Each part is summed by one thread, and
/// the parts are added in order.
template <> void execute(const calls::Conv2dBackwardWeight& args) {
  const View &grad = args.grad, &x = args.x, &grad_w = args.grad_w, &grad_bias = args.grad_bias;
  const Conv2dParams& params = args.params;
  if (has_library_dtype(x) && library_backward_weight(params, grad, x, grad_w, grad_bias)) return;
  const View out = scratch(grad_w.shape(), DType::float64);
  const View bias = grad_bias.defined() ? scratch(grad_bias.shape(), DType::float64) : grad_bias;
  reference::conv2d_backward_weight<double>(params, in_float64(grad), in_float64(x), out, bias);
  convert(out, grad_w);
  if (bias.defined()) convert(bias, grad_bias);
}

}  // namespace minnow::cpu
