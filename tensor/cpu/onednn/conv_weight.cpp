#include <algorithm>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/onednn/conv_direct.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {
namespace {

using onednn::memory;

constexpr const char* kBackward = "conv2d_backward";

/// Whether a tap of the window reads padding alone.
bool has_idle_tap(const Conv2dParams& p, const Shape& x, const Shape& w, const Shape& y) {
  for (int d = 0; d < 2; ++d)
    for (std::int64_t k = 0; k < w[2 + d]; ++k) {
      const std::int64_t at = k * p.dilation[d] - p.padding[d];  // of the first output
      const std::int64_t first = at >= 0 ? 0 : (-at + p.stride[d] - 1) / p.stride[d];
      if (first >= y[2 + d] || at + first * p.stride[d] >= x[2 + d]) return true;
    }
  return false;
}

/// The weight and bias gradient of some images, on one thread: float32, of operands in `dtype`.
struct PartPlan {
  std::int64_t images = 0;
  onednn::Relayout x, grad;
  onednn::Executable sums;
  memory::desc layout;  // of the weight gradient
  bool clears = false;  // oneDNN's kernels for halves add up in its memory, and do not write the sums of an idle tap

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
    clears = dtype != DType::float32 && has_idle_tap(params, xs, w, ys);
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
    char *const grad_copy = own + x.bytes(), *const scratch = grad_copy + grad.bytes();
    if (clears) std::fill_n(scratch, sums.scratch_bytes(), '\0');
    sums.run(kBackward, {x.run(kBackward, x_data, own), grad.run(kBackward, grad_data, grad_copy), weight, bias},
             scratch);
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

std::shared_ptr<WeightPlan> weight_plan(const Conv2dParams& params, DType dtype, const Shape& x, const Shape& w,
                                        const Shape& y, bool bias) {
  return onednn::plans<WeightPlan>().get(conv_key(params, dtype, x, w, y, bias), [&] {
    return std::make_shared<WeightPlan>(params, x, w, y, bias, cut(y, w.numel()), dtype);
  });
}

/// Adds the sums of the parts to the first one, in order.
const float* add_parts(const View& parts) {
  const std::int64_t n = parts.shape()[0], size = parts.shape()[1];
  float* sum = static_cast<float*>(parts.raw_data());
  parallel_blocks(n > 1 ? size : 0, 1 << 12, parts.shape().numel() * 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = 1; p < n; ++p)
      for (std::int64_t i = begin; i < end; ++i) sum[i] += sum[p * size + i];
  });
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

}  // namespace

bool library::conv_backward_weight(const Conv2dParams& params, const View& g, const View& in, const Shape& shape,
                                   const View& grad_w, const View& grad_bias) {
  const bool with_bias = grad_bias.defined();
  const ConvParts parts = cut(g.shape(), shape.numel());
  const onednn::OneThread alone;
  const auto plan = weight_plan(params, in.dtype(), in.shape(), shape, g.shape(), with_bias);
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

std::vector<std::string> library::conv_names(ConvDirection direction, DType dtype, const Conv2dParams& params,
                                             const Shape& x, const Shape& w, const Shape& y) {
  if (direction != ConvDirection::backward_weight) return direct_names(direction, dtype, params, x, w, y);
  const auto plan = weight_plan(params, dtype, x, w, y, false);
  if (!plan->usable()) return {};
  return {plan->small.sums.implementation(), plan->large.sums.implementation()};
}

}  // namespace minnow::cpu
