#include <minnow/tensor/cpu/winograd.h>

#include <minnow/tensor/cpu/conv_parts.h>

namespace minnow::cpu {
namespace {

using onednn::memory;

memory::desc any(const Shape& shape) { return onednn::any_layout(shape, DType::float32); }
memory::desc channels_last(const Shape& shape) {
  return onednn::desc_of(shape, channels_last_strides(shape), DType::float32);
}
memory::desc rows(const Shape& shape) { return onednn::desc_of(shape, contiguous_strides(shape), DType::float32); }

/// What differs between the directions: `in` and `out` are the activations read and written.
struct Forward {
  using Primitive = dnnl::convolution_forward;
  static constexpr const char* kName = "conv2d";
  static constexpr int kIn = DNNL_ARG_SRC, kOut = DNNL_ARG_DST;
  static auto plan(const Conv2dParams& params, const Shape& in, const Shape& w, const Shape& out, bool bias) {
    return onednn::conv_plan(kName, params, {any(in), any(w), bias ? rows({w[0]}) : onednn::nothing(), any(out), true});
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

std::size_t lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// The convolution of a number of images on one thread.
template <class Direction> struct Step {
  typename Direction::Primitive::primitive_desc plan;
  typename Direction::Primitive primitive;
  memory::desc in, out;  // as the tensors have them
  std::size_t in_bytes = 0, out_bytes = 0;

  bool make(const Conv2dParams& params, Shape x, const Shape& w, Shape y, bool bias, std::int64_t images) {
    x[0] = y[0] = images;
    plan = Direction::plan(params, x, w, y, bias);
    if (!plan) return false;
    primitive = typename Direction::Primitive(plan);
    in = channels_last(x), out = channels_last(y);
    in_bytes = lines(Direction::in(plan).get_size()), out_bytes = lines(Direction::out(plan).get_size());
    return true;
  }
  std::size_t bytes() const { return plan ? in_bytes + out_bytes + plan.scratchpad_desc().get_size() : 0; }

  void run(const char* from, void* weights, const Tensor& bias, char* to, char* own) const {
    char* result = own + in_bytes;
    onednn::reorder(Direction::kName, in, from, Direction::in(plan), own);
    std::vector<onednn::Argument> arguments{{Direction::kIn, Direction::in(plan), own},
                                            {DNNL_ARG_WEIGHTS, plan.weights_desc(), weights},
                                            {Direction::kOut, Direction::out(plan), result}};
    if (bias.defined()) arguments.push_back({DNNL_ARG_BIAS, rows(bias.shape()), bias.raw_data()});
    onednn::execute(Direction::kName, primitive, plan.scratchpad_desc(), result + out_bytes, arguments);
    onednn::reorder(Direction::kName, Direction::out(plan), result, out, to);
  }
};

template <class Direction>
bool convolve(const Conv2dParams& params, const Tensor& in, const Tensor& w, const Tensor& bias, const Tensor& out) {
  const std::vector<ConvPart> parts = cut(in.shape()[0], w.numel());
  const onednn::ThreadCount alone(1);  // the plans are for one thread each
  Step<Direction> one, other;
  if (!one.make(params, in.shape(), w.shape(), out.shape(), bias.defined(), parts.front().size)) return false;
  if (const std::int64_t last = parts.back().size; last != parts.front().size) {
    if (!other.make(params, in.shape(), w.shape(), out.shape(), bias.defined(), last)) return false;
    if (!(other.plan.weights_desc() == one.plan.weights_desc())) return false;  // they share one copy
  }
  const onednn::Buffer weights(one.plan.weights_desc().get_size());
  onednn::reorder(Direction::kName, rows(w.shape()), w.raw_data(), one.plan.weights_desc(), weights.data());
  const auto* from = static_cast<const char*>(in.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  for_parts(parts, std::max(one.bytes(), other.bytes()), [&](std::int64_t, const ConvPart& part, char* own) {
    (part.size == parts.front().size ? one : other)
        .run(from + part.first * image_bytes(in), weights.data(), bias, to + part.first * image_bytes(out), own);
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

bool winograd_forward(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias,
                      const Tensor& y) {
  return convolve<Forward>(params, x, w, bias, y);
}

bool winograd_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x) {
  return convolve<BackwardInput>(params, grad, w, {}, grad_x);
}

}  // namespace minnow::cpu
