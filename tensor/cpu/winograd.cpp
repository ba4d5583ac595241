#include <minnow/tensor/cpu/winograd.h>

#include <minnow/tensor/cpu/conv_parts.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

using onednn::memory;

memory::desc any(const Shape& shape) { return onednn::any_layout(shape, DType::float32); }
memory::desc channels_last(const Shape& shape) {
  return onednn::desc_of(shape, channels_last_strides(shape), DType::float32);
}
memory::desc rows(const Shape& shape) { return onednn::desc_of(shape, contiguous_strides(shape), DType::float32); }
memory::desc bias_rows(const Shape& w, bool bias) { return bias ? rows({w[0]}) : onednn::nothing(); }

/// The differences between the directions; `in` and `out` are the activations that are read and written.
struct Forward {
  using Primitive = dnnl::convolution_forward;
  static constexpr const char* kName = "conv2d";
  static constexpr int kIn = DNNL_ARG_SRC, kOut = DNNL_ARG_DST;
  static auto plan(const Conv2dParams& params, const Shape& in, const Shape& w, const Shape& out, bool bias) {
    return onednn::conv_plan(kName, params, {any(in), any(w), bias_rows(w, bias), any(out), true});
  }
  static memory::desc in(const Primitive::primitive_desc& plan) { return plan.src_desc(); }
  static memory::desc out(const Primitive::primitive_desc& plan) { return plan.dst_desc(); }
};
struct BackwardInput {
  using Primitive = dnnl::convolution_backward_data;
  static constexpr const char* kName = "conv2d_backward";
  static constexpr int kIn = DNNL_ARG_DIFF_DST, kOut = DNNL_ARG_DIFF_SRC;
  static auto plan(const Conv2dParams& params, const Shape& in, const Shape& w, const Shape& out, bool) {
    return onednn::conv_input_plan(kName, params, {any(out), any(w), onednn::nothing(), any(in), true});
  }
  static memory::desc in(const Primitive::primitive_desc& plan) { return plan.diff_dst_desc(); }
  static memory::desc out(const Primitive::primitive_desc& plan) { return plan.diff_src_desc(); }
};

/// The convolution of some images on one thread.
template <class Direction> struct ImagesPlan {
  std::int64_t images = 0;
  onednn::Relayout in;
  onednn::Executable run, out;
  memory::desc weights;  // in the layout of the plan
  std::size_t result_bytes = 0;

  ImagesPlan(const Conv2dParams& params, Shape x, const Shape& w, Shape y, bool bias, std::int64_t n) : images(n) {
    x[0] = y[0] = n;
    const auto plan = Direction::plan(params, x, w, y, bias);
    if (!plan) return;
    const memory::desc from = Direction::in(plan), to = Direction::out(plan);
    weights = plan.weights_desc();
    in = onednn::Relayout(Direction::kName, channels_last(x), from);
    run = onednn::executable<typename Direction::Primitive>(Direction::kName, plan,
                                                            {{Direction::kIn, from},
                                                             {DNNL_ARG_WEIGHTS, weights},
                                                             {DNNL_ARG_BIAS, bias_rows(w, bias)},
                                                             {Direction::kOut, to}});
    out = onednn::reorder(Direction::kName, to, channels_last(y));
    result_bytes = (to.get_size() + 63) / 64 * 64;
  }
  std::size_t bytes() const { return in.bytes() + result_bytes + run.scratch_bytes(); }

  void operator()(const char* from, const void* w, const void* bias, char* to, char* own) const {
    char* result = own + in.bytes();
    run.run(Direction::kName, {in.run(Direction::kName, from, own), w, bias, result}, result + result_bytes);
    out.run(Direction::kName, {result, to});
  }
};

template <class Direction> struct WinogradPlan {
  WinogradPlan(const Conv2dParams& params, const Shape& in, const Shape& w, const Shape& out, bool bias,
               const ConvParts& parts)
      : small(params, in, w, out, bias, parts.small()), large(params, in, w, out, bias, parts.large()) {
    // Both use one copy of the weights.
    usable = small.run && large.run && small.weights == large.weights;
    if (usable) weights = onednn::Relayout(Direction::kName, rows(w), small.weights);
  }
  ImagesPlan<Direction> small, large;
  onednn::Relayout weights;
  bool usable;
};

template <class Direction>
bool convolve(const Conv2dParams& params, const View& in, const View& w, const View& bias, const View& out) {
  const ConvParts parts = cut(in.shape()[0], w.numel());
  const onednn::OneThread alone;
  const bool with_bias = bias.defined();
  const auto plan = onednn::plans<WinogradPlan<Direction>>().get(
      conv_key(params, in.dtype(), in.shape(), w.shape(), out.shape(), with_bias), [&] {
        return std::make_shared<WinogradPlan<Direction>>(params, in.shape(), w.shape(), out.shape(), with_bias, parts);
      });
  if (!plan->usable) return false;
  const onednn::Buffer room(plan->weights.bytes());
  const void* weights = plan->weights.run(Direction::kName, w.raw_data(), room.data());
  const auto* from = static_cast<const char*>(in.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  for_parts(
      parts, std::max(plan->small.bytes(), plan->large.bytes()), [&](std::int64_t, const ConvPart& part, char* own) {
        (part.size == plan->small.images ? plan->small : plan->large)(from + part.first * image_bytes(in), weights,
                                                                      with_bias ? bias.raw_data() : nullptr,
                                                                      to + part.first * image_bytes(out), own);
      });
  return true;
}

}  // namespace

bool suits_winograd(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y) {
  constexpr std::int64_t kChannels = 16, kMostWeights = std::int64_t{9} << 16, kSide = 8, kWork = 1 << 23;
  const bool plain = params.groups == 1 && params.stride[0] == 1 && params.stride[1] == 1 && params.dilation[0] == 1 &&
                     params.dilation[1] == 1 && params.padding[0] <= 1 && params.padding[1] <= 1;
  return plain && w[2] == 3 && w[3] == 3 && w[0] % kChannels == 0 && w[1] % kChannels == 0 &&
         w.numel() <= kMostWeights && y[2] >= kSide && y[3] >= kSide && x[0] >= 4 &&
         y[0] * y[2] * y[3] * w.numel() >= kWork;
}

bool winograd_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  return convolve<Forward>(params, x, w, bias, y);
}

bool winograd_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  return convolve<BackwardInput>(params, grad, w, {}, grad_x);
}

}  // namespace minnow::cpu
