#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <vector>
#include <minnow/tensor/cpu/convolution/conv_few.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/convolution/conv_unfold.h>
#include <minnow/tensor/cpu/convolution/winograd.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/threads.h>

// One input channel is read by conv_few.h, and 3x3 windows of many channels are computed by winograd.h.  Else the
// library (library.h) computes float32 and halves on dense channels-last activations (others are copied to that layout,
// and a single ungrouped input channel gets a second one of zeros); weights are reordered to the layout that it
// chooses.  Halves without a primitive on this machine are computed in float32; weight gradients of halves are sums in
// float32.  float64, and what oneDNN has only plain loops for, is computed by conv_unfold.h.  Results have the same
// bits for any number of threads.

namespace minnow::cpu {
namespace {

bool has_library_dtype(const View& t) { return t.dtype() == DType::float32 || is_half(t.dtype()); }

/// With one channel NCHW and NHWC have the same strides, and oneDNN takes the slower one: a second channel of zeros is
/// added.
std::int64_t padded(std::int64_t channels) { return channels == 1 ? 2 : channels; }

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
bool takes_winograd(DType dtype, const Conv2dParams& params, const Shape& w, const Shape& y) {
  const bool is_read = dtype == DType::float32 || (dtype == DType::bfloat16 && !library::has_tiles());
  return is_read && suits_winograd(params, w, y);
}

/// How operands of one dtype are computed, by their sizes.  `x` and `w`: with the channels of padding.
ConvWay way_of(ConvDirection direction, DType dtype, const Conv2dParams& params, const Shape& x, const Shape& w,
               const Shape& y) {
  if (direction != ConvDirection::backward_input && suits_few(params, x, w)) return ConvWay::few;
  if (takes_winograd(dtype, params, w, y)) return ConvWay::winograd;
  return dtype == DType::float32 && suits_unfolding(direction, params, w, y) ? ConvWay::unfolded : ConvWay::library;
}

/// Returns false if oneDNN has no such convolution on this machine (halves).
bool library_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                     Activation activation) {
  const DType dtype = x.dtype();
  const ConvWay way = way_of(ConvDirection::forward, dtype, params, x.shape(), w.shape(), y.shape());
  if (way == ConvWay::unfolded) {
    unfold_forward(params, x, w, bias, y);
    activate(activation, y);
    return true;
  }
  const View out =
      y.is_contiguous(MemoryFormat::channels_last) ? y : scratch(y.shape(), dtype, MemoryFormat::channels_last);
  if (way == ConvWay::few) {
    few_forward(params, in_dtype(x, DType::float32), packed(w, DType::float32),
                bias.defined() ? packed(bias, DType::float32) : bias, out, activation);
    store(out, y);
    return true;
  }
  const View b = bias.defined() ? packed(bias, dtype) : bias;
  const bool pad = params.groups == 1 && x.shape()[1] == 1;
  const View in = activations(x, dtype, pad), kernel = weights(w, dtype, pad);
  if (way == ConvWay::winograd) {
    winograd_forward(params, in, in_dtype(kernel, DType::float32), b.defined() ? in_dtype(b, DType::float32) : b, out,
                     activation);
  } else {
    if (!library::conv_forward(params, in, kernel, b, out, activation)) return false;
    if (dtype != DType::float32) activate(activation, out);
  }
  store(out, y);
  return true;
}

bool library_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const DType dtype = grad.dtype();
  const ConvWay way = way_of(ConvDirection::backward_input, dtype, params, grad_x.shape(), w.shape(), grad.shape());
  if (way == ConvWay::unfolded) {
    unfold_backward_input(params, grad, w, grad_x);
    return true;
  }
  const bool pad = params.groups == 1 && grad_x.shape()[1] == 1;
  const View g = activations(grad, dtype, false), kernel = weights(w, dtype, pad);
  Shape shape = grad_x.shape();
  if (pad) shape[1] = padded(shape[1]);
  const bool direct = !pad && grad_x.is_contiguous(MemoryFormat::channels_last);
  const View out = direct ? grad_x : scratch(shape, dtype, MemoryFormat::channels_last);
  if (way == ConvWay::winograd) winograd_backward_input(params, g, in_dtype(kernel, DType::float32), out);
  else if (!library::conv_backward_input(params, g, kernel, out)) return false;
  store(direct ? out : first_slices(out, 1, grad_x.shape()[1]), grad_x);
  return true;
}

/// `t` if it is row-major float32, otherwise new memory.
View packed_output(const View& t) {
  return t.is_contiguous() && t.dtype() == DType::float32 ? t : scratch(t.shape(), DType::float32);
}

bool library_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                             const View& grad_bias) {
  const DType dtype = x.dtype();
  const ConvWay way = way_of(ConvDirection::backward_weight, dtype, params, x.shape(), grad_w.shape(), grad.shape());
  if (way == ConvWay::unfolded) {
    unfold_backward_weight(params, grad, x, grad_w, grad_bias);
    return true;
  }
  const bool pad = params.groups == 1 && x.shape()[1] == 1;
  const View g = activations(grad, dtype, false);
  if (way == ConvWay::library) {
    Shape shape = grad_w.shape();
    if (pad) shape[1] = padded(shape[1]);
    if (library::conv_backward_weight(params, g, activations(x, dtype, pad), shape, grad_w, grad_bias)) return true;
    return is_half(dtype) && library_backward_weight(params, activations(grad, DType::float32, false),
                                                     activations(x, DType::float32, false), grad_w, grad_bias);
  }
  const View out = packed_output(grad_w);
  if (way == ConvWay::few) few_backward_weight(params, g, in_dtype(x, DType::float32), out, grad_bias);
  else winograd_backward_weight(params, g, activations(x, dtype, pad), out, grad_bias);
  if (!out.is_same(grad_w)) convert(out, grad_w);
  return true;
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

ConvParts cut_into(std::int64_t all, std::int64_t wanted, std::int64_t weight_elements) {
  const std::int64_t max_parts = weight_elements <= (1 << 16) ? 16 : weight_elements <= (1 << 20) ? 8 : 4;
  return {all, std::clamp<std::int64_t>(wanted, 1, max_parts)};
}

ConvParts cut(const Shape& y, std::int64_t weight_elements) {
  constexpr std::uint64_t kPositions = 256;
  const auto many = std::bit_floor(static_cast<std::uint64_t>(y[0] * y[2] * y[3]) / kPositions);
  return cut_into(y[0], std::max(y[0] / 4, std::min(y[0], static_cast<std::int64_t>(many))), weight_elements);
}

std::vector<std::string> conv_implementations(ConvDirection direction, DType dtype, const Conv2dParams& params, Shape x,
                                              Shape w, const Shape& y) {
  switch (way_of(direction, dtype, params, x, w, y)) {
    case ConvWay::few: return {"few channels"};
    case ConvWay::winograd: return {"winograd"};
    case ConvWay::unfolded: return {"few positions"};
    case ConvWay::library: break;
  }
  if (params.groups == 1 && x[1] == 1) x[1] = w[1] = padded(1);
  std::vector<std::string> names = library::conv_names(direction, dtype, params, x, w, y);
  if (names.empty() && is_half(dtype)) return conv_implementations(direction, DType::float32, params, x, w, y);
  if (names.empty()) names = {"unfolded"};
  return names;
}

View first_slices(const View& t, int dim, std::int64_t n) {
  Shape shape = t.shape();
  shape[dim] = n;
  return View(t.storage(), t.dtype(), shape, t.strides(), t.storage_offset());
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
  unfold_forward(params, x, w, bias, y);
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
  unfold_backward_input(params, grad, w, grad_x);
}

/// The batch is divided into parts by its size and that of the weights only.  Each part is summed by one thread, and
/// the parts are added in order.
template <> void execute(const calls::Conv2dBackwardWeight& args) {
  const View &grad = args.grad, &x = args.x, &grad_w = args.grad_w, &grad_bias = args.grad_bias;
  const Conv2dParams& params = args.params;
  if (has_library_dtype(x) && library_backward_weight(params, grad, x, grad_w, grad_bias)) return;
  unfold_backward_weight(params, grad, x, grad_w, grad_bias);
}

}  // namespace minnow::cpu
