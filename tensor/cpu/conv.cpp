#include <minnow/tensor/cpu/conv.h>

#include <algorithm>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/conv_parts.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/onednn.h>
#include <minnow/tensor/cpu/pack.h>
#include <minnow/tensor/cpu/reference.h>
#include <minnow/tensor/cpu/winograd.h>
#include <minnow/tensor/threads.h>

namespace minnow::cpu {
namespace {

using onednn::Argument;
using onednn::memory;

constexpr const char* kForward = "conv2d";
constexpr const char* kBackward = "conv2d_backward";

bool by_library(const Tensor& t) { return onednn::has_type(t.dtype()); }

Tensor in_float64(const Tensor& t) { return t.defined() ? packed(t, DType::float64) : t; }

/// With one channel the layouts NCHW and NHWC are the same strides, and oneDNN takes the slow one: such a side gets a
/// second channel of zeros.
std::int64_t padded(std::int64_t channels) { return channels == 1 ? 2 : channels; }

Tensor head(const Tensor& t, int dim, std::int64_t n) {
  Shape shape = t.shape();
  shape[dim] = n;
  return Tensor(t.storage(), t.dtype(), shape, t.strides(), t.storage_offset());
}

/// Activations as the library takes them: channels-last, in `dtype`, at least two channels.
Tensor activations(const Tensor& t, DType dtype, bool pad) {
  if (!pad || t.shape()[1] != 1) return packed(t, dtype, MemoryFormat::channels_last);
  Shape shape = t.shape();
  shape[1] = 2;
  const Tensor wide = scratch(shape, dtype, MemoryFormat::channels_last);
  cpu_backend()->fill(wide, 0);
  convert(t, head(wide, 1, 1));
  return wide;
}

/// Weights row-major, in `dtype`, with zeros for the channels that activations() added.
Tensor weights(const Tensor& w, DType dtype, bool pad) {
  if (!pad || w.shape()[1] != 1) return packed(w, dtype);
  Shape shape = w.shape();
  shape[1] = 2;
  const Tensor wide = scratch(shape, dtype);
  cpu_backend()->fill(wide, 0);
  convert(w, head(wide, 1, 1));
  return wide;
}

/// The library wants a dimension of groups in front of grouped weights.
Shape grouped(const Shape& w, std::int64_t groups) {
  return groups == 1 ? w : Shape{groups, w[0] / groups, w[1], w[2], w[3]};
}

memory::desc rows(const Shape& shape, DType dtype) { return onednn::desc_of(shape, contiguous_strides(shape), dtype); }

/// Copies weights into the layout that a plan chose, if it is another.
class Reordered {
 public:
  Reordered(const memory::desc& have, const void* data, const memory::desc& want)
      : buffer_(have == want ? 0 : want.get_size()), data_(have == want ? const_cast<void*>(data) : buffer_.data()) {
    if (data_ != data) onednn::reorder(kForward, have, data, want, data_);
  }
  void* data() const { return data_; }

 private:
  onednn::Buffer buffer_;
  void* data_;
};

/// One convolution by the library: its operands' layouts.
struct Descs {
  memory::desc x, w, w_rows, bias, y;
};

Descs descs(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias) {
  const Shape gw = grouped(w, params.groups);
  return {onednn::desc_of(x, channels_last_strides(x), dtype), onednn::any_layout(gw, dtype), rows(gw, dtype),
          bias ? rows({w[0]}, dtype) : onednn::nothing(), onednn::desc_of(y, channels_last_strides(y), dtype)};
}

/// False when this machine has no such convolution in this dtype (half types).
bool library_forward(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
                     const Tensor& y) {
  const DType dtype = x.dtype();
  const bool pad = params.groups == 1 && x.shape()[1] == 1;
  const Tensor in = activations(x, dtype, pad), kernel = weights(w, dtype, pad);
  const Tensor b = bias.defined() ? packed(bias, dtype) : bias;
  const Tensor out =
      y.is_contiguous(MemoryFormat::channels_last) ? y : scratch(y.shape(), dtype, MemoryFormat::channels_last);
  if (dtype == DType::float32 && suits_winograd(params, in.shape(), kernel.shape(), y.shape()) &&
      winograd_forward(params, in, kernel, b, out)) {
    if (!out.is_same(y)) convert(out, y);
    return true;
  }
  const Descs d = descs(params, in.shape(), kernel.shape(), y.shape(), dtype, bias.defined());
  const onednn::ThreadCount threads(num_threads());
  const auto plan = onednn::conv_plan(kForward, params, {d.x, d.w, d.bias, d.y});
  if (!plan) return false;
  const Reordered w_data(d.w_rows, kernel.raw_data(), plan.weights_desc());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, d.x, in.raw_data()},
                                  {DNNL_ARG_WEIGHTS, plan.weights_desc(), w_data.data()},
                                  {DNNL_ARG_DST, d.y, out.raw_data()}};
  if (b.defined()) arguments.push_back({DNNL_ARG_BIAS, d.bias, b.raw_data()});
  onednn::run<dnnl::convolution_forward>(kForward, plan, arguments);
  if (!out.is_same(y)) convert(out, y);
  return true;
}

bool library_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x) {
  const DType dtype = grad.dtype();
  const bool pad = params.groups == 1 && grad_x.shape()[1] == 1;
  const Tensor g = activations(grad, dtype, false), kernel = weights(w, dtype, pad);
  Shape shape = grad_x.shape();
  if (pad) shape[1] = padded(shape[1]);
  const bool direct = !pad && grad_x.is_contiguous(MemoryFormat::channels_last);
  const Tensor out = direct ? grad_x : scratch(shape, dtype, MemoryFormat::channels_last);
  if (dtype == DType::float32 && suits_winograd(params, shape, kernel.shape(), g.shape()) &&
      winograd_backward_input(params, g, kernel, out)) {
    if (!direct) convert(out, grad_x);
    return true;
  }
  const Descs d = descs(params, shape, kernel.shape(), g.shape(), dtype, false);
  const onednn::ThreadCount threads(num_threads());
  const auto plan = onednn::conv_input_plan(kBackward, params, {d.x, d.w, d.bias, d.y});
  if (!plan) return false;
  const Reordered w_data(d.w_rows, kernel.raw_data(), plan.weights_desc());
  onednn::run<dnnl::convolution_backward_data>(kBackward, plan,
                                               {{DNNL_ARG_DIFF_DST, d.y, g.raw_data()},
                                                {DNNL_ARG_WEIGHTS, plan.weights_desc(), w_data.data()},
                                                {DNNL_ARG_DIFF_SRC, d.x, out.raw_data()}});
  if (!direct) convert(head(out, 1, grad_x.shape()[1]), grad_x);
  return true;
}

/// Activations of some images in the layout of a plan: copied to `room` where theirs is another.
void* in_layout(const memory::desc& want, const memory::desc& have, char* data, char* room) {
  if (want == have) return data;
  onednn::reorder(kBackward, have, data, want, room);
  return room;
}

std::size_t room_for(const memory::desc& want, const memory::desc& have) {
  return want == have ? 0 : (want.get_size() + 63) / 64 * 64;
}

/// Weight and bias gradient of a number of images, on one thread.
struct PartPlan {
  std::int64_t images = 0;
  Descs d;
  dnnl::convolution_backward_weights::primitive_desc plan;
  dnnl::convolution_backward_weights primitive;

  /// `weights`: the layout of the sums, or any.  False where the library has no such plan.
  bool make(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Shape& w, bool bias, std::int64_t n,
            const memory::desc* weights) {
    Shape xs = x.shape(), ys = grad.shape();
    xs[0] = ys[0] = images = n;
    d = descs(params, xs, w, ys, DType::float32, bias);
    const memory::desc sums = weights ? *weights : d.w;
    if (suits_winograd(params, x.shape(), w, grad.shape()))
      plan = onednn::conv_weight_plan(
          kBackward, params,
          {onednn::any_layout(xs, DType::float32), sums, d.bias, onednn::any_layout(ys, DType::float32), true});
    if (!plan) plan = onednn::conv_weight_plan(kBackward, params, {d.x, sums, d.bias, d.y});
    if (plan) primitive = dnnl::convolution_backward_weights(plan);
    return static_cast<bool>(plan);
  }
  std::size_t bytes() const {
    if (!plan) return 0;
    return room_for(plan.src_desc(), d.x) + room_for(plan.diff_dst_desc(), d.y) + plan.scratchpad_desc().get_size();
  }
  void run(const Tensor& grad, const Tensor& x, std::int64_t first, float* weight, float* bias, char* own) const {
    char* grad_room = own + room_for(plan.src_desc(), d.x);
    char* rest = grad_room + room_for(plan.diff_dst_desc(), d.y);
    void* in = in_layout(plan.src_desc(), d.x, static_cast<char*>(x.raw_data()) + first * image_bytes(x), own);
    void* out = in_layout(plan.diff_dst_desc(), d.y, static_cast<char*>(grad.raw_data()) + first * image_bytes(grad),
                          grad_room);
    std::vector<Argument> arguments{{DNNL_ARG_SRC, plan.src_desc(), in},
                                    {DNNL_ARG_DIFF_DST, plan.diff_dst_desc(), out},
                                    {DNNL_ARG_DIFF_WEIGHTS, plan.diff_weights_desc(), weight}};
    if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, d.bias, bias});
    onednn::execute(kBackward, primitive, plan.scratchpad_desc(), rest, arguments);
  }
};

/// The parts' sums, added in their order into the first.
const float* add_parts(const Tensor& parts) {
  const std::int64_t n = parts.shape()[0], size = parts.shape()[1];
  float* sum = static_cast<float*>(parts.raw_data());
  for (std::int64_t p = 1; p < n; ++p) {
    const float* part = sum + p * size;
    for (std::int64_t i = 0; i < size; ++i) sum[i] += part[i];
  }
  return sum;
}

/// The sums in the library's layout become a row-major weight gradient, without the channels of padding.
void give_weights(const PartPlan& p, const float* sums, const Shape& shape, const Tensor& grad_w) {
  const bool direct = grad_w.is_contiguous() && grad_w.shape() == shape && grad_w.dtype() == DType::float32;
  const Tensor rows = direct ? grad_w : scratch(shape, DType::float32);
  onednn::reorder(kBackward, p.plan.diff_weights_desc(), sums, p.d.w_rows, rows.raw_data());
  if (!direct) convert(head(rows, 1, grad_w.shape()[1]), grad_w);
}

bool library_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                             const Tensor& grad_bias) {
  const bool pad = params.groups == 1 && x.shape()[1] == 1, with_bias = grad_bias.defined();
  const Tensor g = activations(grad, DType::float32, false), in = activations(x, DType::float32, pad);
  Shape shape = grad_w.shape();
  if (pad) shape[1] = padded(shape[1]);
  const std::vector<ConvPart> parts = cut(x.shape()[0], shape.numel());
  const auto n = static_cast<std::int64_t>(parts.size());

  // Parts are of at most two sizes; their sums have one layout.  The plans are for one thread each.
  const onednn::ThreadCount alone(1);
  PartPlan small, large;
  if (!small.make(params, g, in, shape, with_bias, parts.front().size, nullptr)) return false;
  const memory::desc layout = small.plan.diff_weights_desc();
  const auto other =
      std::find_if(parts.begin(), parts.end(), [&](const ConvPart& p) { return p.size != small.images; });
  if (other != parts.end() && !large.make(params, g, in, shape, with_bias, other->size, &layout)) return false;

  const auto floats = static_cast<std::int64_t>(layout.get_size() / sizeof(float));
  const Tensor weight = scratch({n, floats}, DType::float32), bias = scratch({n, shape[0]}, DType::float32);
  for_parts(parts, std::max(small.bytes(), large.bytes()), [&](std::int64_t i, const ConvPart& part, char* own) {
    (part.size == small.images ? small : large)
        .run(g, in, part.first, static_cast<float*>(weight.raw_data()) + i * floats,
             with_bias ? static_cast<float*>(bias.raw_data()) + i * shape[0] : nullptr, own);
  });
  give_weights(small, add_parts(weight), shape, grad_w);
  if (with_bias) {
    add_parts(bias);
    convert(Tensor(bias.storage(), bias.dtype(), {shape[0]}, {1}), grad_bias);
  }
  return true;
}

}  // namespace

std::vector<ConvPart> cut(std::int64_t batch, std::int64_t weight_elements) {
  const std::int64_t most = weight_elements <= (1 << 16) ? 16 : weight_elements <= (1 << 20) ? 8 : 4;
  const std::int64_t parts = std::clamp<std::int64_t>(batch / 4, 1, most);  // fewer images each are not worth a plan
  std::vector<ConvPart> out;
  for (std::int64_t i = 0; i < parts; ++i)
    out.push_back({batch * i / parts, batch * (i + 1) / parts - batch * i / parts});
  return out;
}

std::int64_t image_bytes(const Tensor& t) {
  return t.shape()[1] * t.shape()[2] * t.shape()[3] * static_cast<std::int64_t>(t.itemsize());
}

MemoryFormat conv2d_format(const Conv2dParams&, const Tensor& x, const Tensor&) {
  return by_library(x) ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) {
  if (by_library(x)) {
    if (library_forward(params, x, w, bias, y)) return;
    const Tensor out = scratch(y.shape(), DType::float32, MemoryFormat::channels_last);
    const Tensor b = bias.defined() ? packed(bias, DType::float32) : bias;
    if (library_forward(params, packed(x, DType::float32, MemoryFormat::channels_last), packed(w, DType::float32), b,
                        out))
      return convert(out, y);
  }
  const Tensor out = scratch(y.shape(), DType::float64);
  reference::conv2d<double>(params, in_float64(x), in_float64(w), in_float64(bias), out);
  convert(out, y);
}

void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x) {
  if (by_library(grad)) {
    if (library_backward_input(params, grad, w, grad_x)) return;
    const Tensor out = scratch(grad_x.shape(), DType::float32, MemoryFormat::channels_last);
    if (library_backward_input(params, packed(grad, DType::float32, MemoryFormat::channels_last),
                               packed(w, DType::float32), out))
      return convert(out, grad_x);
  }
  const Tensor out = scratch(grad_x.shape(), DType::float64);
  reference::conv2d_backward_input<double>(params, in_float64(grad), in_float64(w), out);
  convert(out, grad_x);
}

void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                            const Tensor& grad_bias) {
  if (by_library(x) && library_backward_weight(params, grad, x, grad_w, grad_bias)) return;
  const Tensor out = scratch(grad_w.shape(), DType::float64);
  const Tensor bias = grad_bias.defined() ? scratch(grad_bias.shape(), DType::float64) : grad_bias;
  reference::conv2d_backward_weight<double>(params, in_float64(grad), in_float64(x), out, bias);
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
