#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/pointer_alignment.h>
#include <minnow/tensor/cuda/libraries/conv_bias.h>
#include <minnow/tensor/cuda/libraries/conv_fallback.h>
#include <minnow/tensor/cuda/libraries/conv_layout.h>
#include <minnow/tensor/cuda/libraries/conv_plan.h>
#include <minnow/tensor/cuda/libraries/dense_copy.h>
#include <minnow/tensor/runtime/cuda_math.h>

namespace minnow::cuda {
namespace {

using cudnn::ConvResult;

/// The alignment that tensor cores need; other memory is copied.
constexpr int kAlignment = 16;

bool usable(const View& t, MemoryFormat format) {
  return t.is_contiguous(format) && alignment_of(t.raw_data()) >= kAlignment;
}

/// An input that cuDNN can read: `t` or a copy.
View input(const Call& call, const View& t, MemoryFormat format) {
  if (usable(t, format)) return t;
  View copy = scratch(call, t.shape(), t.dtype(), format);
  convert(t, copy);
  return copy;
}

/// The memory that cuDNN writes: the output, or memory that is copied to it afterwards.
View target(const Call& call, const View& t, MemoryFormat format) {
  return usable(t, format) ? t : scratch(call, t.shape(), t.dtype(), format);
}

const void* image(const View& t, std::int64_t index) {
  const std::int64_t elements = t.shape()[1] * t.shape()[2] * t.shape()[3];
  return static_cast<const char*>(t.raw_data()) + index * elements * static_cast<std::int64_t>(t.itemsize());
}

/// The batch of a convolution, run in parts that are small enough for cuDNN.  x, w and y are in the format of the key.
struct Batch {
  const Call& call;
  ConvDirection direction;
  const Conv2dParams& params;
  View x, w, y;
  MemoryFormat format;

  ConvKey key(std::int64_t images) const {
    Shape xs = x.shape(), ys = y.shape();
    xs[0] = ys[0] = images;
    ConvKey out = conv_key(direction, x.dtype(), format, params, xs, w.shape(), ys);
    const MathOptions options = math_options();
    out.tf32 = options.conv_tf32;
    out.deterministic = options.deterministic;
    // Measuring a part would overwrite the sum of the parts before it.  What is measured as the fastest may change from
    // run to run.
    out.benchmark = options.cudnn_benchmark && images == x.shape()[0] && !options.deterministic;
    return out;
  }

  /// Calls use(first image, images) for each part, until one returns false.
  template <class Use> bool each_part(Use&& use) const {
    std::int64_t most = images_at_once(x.shape(), y.shape());
    const std::int64_t all = x.shape()[0];
    if (most == 0) return false;
    if (most >= kAlignment) most -= most % kAlignment;  // so that each part is aligned
    for (std::int64_t first = 0; first < all; first += most)
      if (!use(first, std::min(most, all - first))) return false;
    return true;
  }

  /// Returns false if cuDNN does not support the convolution.  `fused` says whether the bias was added.
  bool run(const View& bias, bool& fused) const {
    return each_part([&](std::int64_t first, std::int64_t images) {
      cudnn::ConvOperands operands{image(x, first), w.raw_data(), image(y, first)};
      operands.bias = bias.defined() && first == 0 && images == x.shape()[0] ? bias.raw_data() : nullptr;
      operands.beta = direction == ConvDirection::backward_weight && first > 0 ? 1 : 0;
      const ConvResult outcome = cudnn::run(call, key(images), operands);
      fused = outcome == ConvResult::done_with_bias;
      return outcome != ConvResult::refused;
    });
  }
};

/// Both memory formats, the preferred one first.
struct Formats {
  MemoryFormat both[2];
  explicit Formats(MemoryFormat first)
      : both{first, first == MemoryFormat::contiguous ? MemoryFormat::channels_last : MemoryFormat::contiguous} {}
};

/// The gradient of the bias, from gradients in a format.
void bias_gradient(const Call& call, const View& grad, MemoryFormat format, const View& grad_bias) {
  const View out =
      usable(grad_bias, MemoryFormat::contiguous) ? grad_bias : scratch(call, grad_bias.shape(), grad_bias.dtype());
  sum_channels(call, grad, out, format);
  if (!out.is_same(grad_bias)) convert(out, grad_bias);
}

}  // namespace

MemoryFormat CudaBackend::conv2d_format(const Conv2dParams&, const View& x, const View&) { return conv_format(x); }

template <> void execute(const calls::Conv2d& args) {
  const View &x = args.x, &w = args.w, &bias = args.bias, &y = args.y;
  const Conv2dParams& params = args.params;
  if (y.numel() == 0) return;
  const Call call(args);
  const View row = bias.defined() ? input(call, bias, MemoryFormat::contiguous) : bias;
  const bool activates = args.activation != Activation::none;
  for (const MemoryFormat format : Formats(conv_format(x)).both) {
    const Batch batch{
        call,  ConvDirection::forward, params, input(call, x, format), input(call, w, format), target(call, y, format),
        format};
    bool fused = false;
    if (!batch.run(row, fused)) continue;
    // The activation is our kernel's, since cuDNN's may lose NaN; it adds a bias that is not fused as well.
    if (activates || (row.defined() && !fused)) add_bias(call, fused ? View() : row, args.activation, batch.y, format);
    if (!batch.y.is_same(y)) convert(batch.y, y);
    return;
  }
  plain_convolution(call, ConvDirection::forward, params, x, w, y);
  if (!row.defined() && !activates) return;
  const View out = target(call, y, MemoryFormat::contiguous);
  if (!out.is_same(y)) convert(y, out);
  add_bias(call, row, args.activation, out, MemoryFormat::contiguous);
  if (!out.is_same(y)) convert(out, y);
}

template <> void execute(const calls::Conv2dBackwardInput& args) {
  const View &grad = args.grad, &w = args.w, &grad_x = args.grad_x;
  const Conv2dParams& params = args.params;
  if (grad_x.numel() == 0) return;
  const Call call(args);
  for (const MemoryFormat format : Formats(conv_format(grad)).both) {
    const Batch batch{call,
                      ConvDirection::backward_input,
                      params,
                      target(call, grad_x, format),
                      input(call, w, format),
                      input(call, grad, format),
                      format};
    bool fused = false;
    if (!batch.run({}, fused)) continue;
    if (!batch.x.is_same(grad_x)) convert(batch.x, grad_x);
    return;
  }
  plain_convolution(call, ConvDirection::backward_input, params, grad_x, w, grad);
}

template <> void execute(const calls::Conv2dBackwardWeight& args) {
  const View &grad = args.grad, &x = args.x, &grad_w = args.grad_w, &grad_bias = args.grad_bias;
  const Conv2dParams& params = args.params;
  if (grad_w.numel() == 0) return;
  const Call call(args);
  const bool last = conv_format(x) == MemoryFormat::channels_last || conv_format(grad) == MemoryFormat::channels_last;
  for (const MemoryFormat format : Formats(last ? MemoryFormat::channels_last : MemoryFormat::contiguous).both) {
    const Batch batch{call,
                      ConvDirection::backward_weight,
                      params,
                      input(call, x, format),
                      target(call, grad_w, format),
                      input(call, grad, format),
                      format};
    bool fused = false;
    if (!batch.run({}, fused)) continue;
    if (!batch.w.is_same(grad_w)) convert(batch.w, grad_w);
    if (grad_bias.defined()) bias_gradient(call, batch.y, format, grad_bias);
    return;
  }
  plain_convolution(call, ConvDirection::backward_weight, params, x, grad_w, grad);
  if (grad_bias.defined())
    bias_gradient(call, input(call, grad, MemoryFormat::contiguous), MemoryFormat::contiguous, grad_bias);
}

}  // namespace minnow::cuda
