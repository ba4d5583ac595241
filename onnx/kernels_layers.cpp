#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <minnow/onnx/detail/kernels.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/detail/recurrent.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::onnx::detail {
namespace {

using Results = std::vector<Tensor>;
using Numbers = std::vector<std::int64_t>;

Results gemm(const Step& s) {
  const double alpha = s.number("alpha", 1), beta = s.number("beta", 1);
  const bool turns_a = s.integer("transA", 0) != 0, turns_b = s.integer("transB", 0) != 0;
  const Tensor a = turns_a ? s.x(0).mT() : s.x(0);
  if (alpha == 1 && beta == 1 && s.has(2) && s.x(2).dim() == 1 && s.x(1).dim() == 2 &&
      s.x(2).size(0) == s.x(1).size(turns_b ? 0 : 1))
    return {linear(a, turns_b ? s.x(1) : s.x(1).mT(), s.x(2))};
  Tensor y = matmul(a, turns_b ? s.x(1).mT() : s.x(1));
  if (alpha != 1) y = mul(y, alpha);
  if (s.has(2)) y = add(y, beta == 1 ? s.x(2) : mul(s.x(2), beta));
  return {y};
}

/// Windows over the dimensions behind the channels.
struct Windows {
  Numbers kernel, stride, dilation, before, after;

  Windows(const Step& s, const Tensor& x, Numbers size) : kernel(std::move(size)) {
    const std::size_t dims = kernel.size();
    if (dims < 1 || dims > 3) s.refuse("minnow has it of one to three dimensions behind the channels");
    if (x.dim() != static_cast<int>(dims) + 2)
      throw ShapeError(minnow::detail::message(s.node().op, fmt::format("it takes {} dimensions", dims + 2), {{"x", x}},
                                               "samples and channels come first; of one sample: x.unsqueeze(0)"));
    stride = s.list("strides", Numbers(dims, 1));
    dilation = s.list("dilations", Numbers(dims, 1));
    Numbers pads = s.list("pads", Numbers(2 * dims, 0));
    if (stride.size() != dims || dilation.size() != dims || pads.size() != 2 * dims)
      s.refuse("its attributes do not have a number for each dimension");
    const std::string automatic = s.text("auto_pad", "NOTSET");
    const bool upper = automatic == "SAME_UPPER";
    if (automatic == "VALID") pads.assign(2 * dims, 0);
    else if (upper || automatic == "SAME_LOWER")
      for (std::size_t d = 0; d < dims; ++d) {
        const std::int64_t size_in = x.size(static_cast<int>(d) + 2), by = std::max<std::int64_t>(stride[d], 1);
        const std::int64_t all =
            std::max<std::int64_t>(((size_in + by - 1) / by - 1) * by + (kernel[d] - 1) * dilation[d] + 1 - size_in, 0);
        pads[d] = upper ? all / 2 : all - all / 2;
        pads[dims + d] = all - pads[d];
      }
    else if (automatic != "NOTSET") s.refuse("its auto_pad is not known");
    before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
    after.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  }

  std::size_t dims() const { return kernel.size(); }
  /// Whether functions of minnow have this padding: the same at both ends, of a pool at most half its size.
  bool is_usual(bool pools) const {
    bool fits = before == after;
    for (std::size_t d = 0; d < dims(); ++d) fits = fits && (!pools || 2 * before[d] <= kernel[d]);
    return fits;
  }
  /// x with this element around it where they do not; then there is no other padding.
  Tensor padded(const Tensor& x, double element, bool pools) {
    if (is_usual(pools)) return x;
    Numbers padding;
    for (std::size_t d = dims(); d-- > 0;) padding.insert(padding.end(), {before[d], after[d]});
    std::fill(before.begin(), before.end(), 0);
    after = before;
    return pad(x, padding, PadMode::constant, element);
  }
  std::int64_t one(const Numbers& n) const { return n[0]; }
  Pair two(const Numbers& n) const { return {n[0], n[1]}; }
  Triple three(const Numbers& n) const { return {n[0], n[1], n[2]}; }
};

Numbers space_of(const Tensor& t) {
  Numbers sizes;
  for (int d = 2; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return sizes;
}

Results conv(const Step& s) {
  const Tensor &w = s.x(1), b = s.optional(2);
  Windows n(s, s.x(0), space_of(w));
  const Tensor x = n.padded(s.x(0), 0, false);
  const std::int64_t groups = s.integer("group", 1);
  if (n.dims() == 1)
    return {conv1d(
        x, w, b,
        {.stride = n.one(n.stride), .padding = n.one(n.before), .dilation = n.one(n.dilation), .groups = groups})};
  if (n.dims() == 2)
    return {conv2d(
        x, w, b,
        {.stride = n.two(n.stride), .padding = n.two(n.before), .dilation = n.two(n.dilation), .groups = groups})};
  return {conv3d(
      x, w, b,
      {.stride = n.three(n.stride), .padding = n.three(n.before), .dilation = n.three(n.dilation), .groups = groups})};
}

Results conv_transpose(const Step& s) {
  const Tensor &x = s.x(0), &w = s.x(1), b = s.optional(2);
  const Windows n(s, x, space_of(w));
  if (s.has("output_shape") || n.before != n.after || s.text("auto_pad", "NOTSET") != "NOTSET")
    s.refuse("it has output_shape, auto_pad or other padding at the end\nminnow reads output_padding");
  const Numbers more = s.list("output_padding", Numbers(n.dims(), 0));
  if (more.size() != n.dims()) s.refuse("its output_padding has not a number for each dimension");
  const std::int64_t groups = s.integer("group", 1);
  if (n.dims() == 1)
    return {conv_transpose1d(x, w, b,
                             {.stride = n.one(n.stride),
                              .padding = n.one(n.before),
                              .output_padding = n.one(more),
                              .groups = groups,
                              .dilation = n.one(n.dilation)})};
  if (n.dims() == 2)
    return {conv_transpose2d(x, w, b,
                             {.stride = n.two(n.stride),
                              .padding = n.two(n.before),
                              .output_padding = n.two(more),
                              .groups = groups,
                              .dilation = n.two(n.dilation)})};
  return {conv_transpose3d(x, w, b,
                           {.stride = n.three(n.stride),
                            .padding = n.three(n.before),
                            .output_padding = n.three(more),
                            .groups = groups,
                            .dilation = n.three(n.dilation)})};
}

Results max_pool(const Step& s) {
  if (s.outputs() > 1) s.refuse("positions of largest elements are not read");
  Windows n(s, s.x(0), s.list("kernel_shape", {}));
  const Tensor x = n.padded(s.x(0), -kInfinity, true);
  const bool ceil = s.integer("ceil_mode", 0) != 0;
  if (n.dims() == 1)
    return {max_pool1d(
        x, n.one(n.kernel),
        {.stride = n.one(n.stride), .padding = n.one(n.before), .dilation = n.one(n.dilation), .ceil_mode = ceil})};
  if (n.dims() == 2)
    return {max_pool2d(
        x, n.two(n.kernel),
        {.stride = n.two(n.stride), .padding = n.two(n.before), .dilation = n.two(n.dilation), .ceil_mode = ceil})};
  return {max_pool3d(
      x, n.three(n.kernel),
      {.stride = n.three(n.stride), .padding = n.three(n.before), .dilation = n.three(n.dilation), .ceil_mode = ceil})};
}

Results average_pool(const Step& s) {
  Windows n(s, s.x(0), s.list("kernel_shape", {}));
  const bool ceil = s.integer("ceil_mode", 0) != 0, counts = s.integer("count_include_pad", 0) != 0;
  if (n.dilation != Numbers(n.dims(), 1)) s.refuse("it has dilations");
  const auto pooled = [&](const Tensor& x) {
    if (n.dims() == 1)
      return avg_pool1d(
          x, n.one(n.kernel),
          {.stride = n.one(n.stride), .padding = n.one(n.before), .ceil_mode = ceil, .count_include_pad = counts});
    if (n.dims() == 2)
      return avg_pool2d(
          x, n.two(n.kernel),
          {.stride = n.two(n.stride), .padding = n.two(n.before), .ceil_mode = ceil, .count_include_pad = counts});
    return avg_pool3d(
        x, n.three(n.kernel),
        {.stride = n.three(n.stride), .padding = n.three(n.before), .ceil_mode = ceil, .count_include_pad = counts});
  };
  const Tensor& x = s.x(0);
  if (n.is_usual(true)) return {pooled(x)};
  const Windows given = n;
  const Tensor y = pooled(n.padded(x, 0, true));
  if (counts) return {y};
  n = given;  // the share of each window that is inside
  Shape one = x.shape();
  one[0] = one[1] = 1;
  return {div(y, pooled(n.padded(ones(one, {x.dtype(), x.device()}), 0, true)))};
}

Results global_pool(const Step& s, bool largest) {
  const Tensor& x = s.x(0);
  Shape dims;
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  if (dims.empty()) s.refuse("there is nothing behind the channels");
  return {largest ? amax(x, dims, true) : mean(x, dims, true)};
}

Results batch_norm(const Step& s) {
  const double momentum = std::clamp(1 - s.number("momentum", 0.9), 0.0, 1.0);
  return {minnow::batch_norm(s.x(0), s.x(3), s.x(4), s.x(1), s.x(2),
                             {.training = s.training, .momentum = momentum, .eps = s.number("epsilon", 1e-5)})};
}

/// The last sizes of x, from the axis on.
Shape normalized(const Step& s) {
  const Tensor& x = s.x(0);
  Shape shape;
  for (int d = s.dim(s.integer("axis", -1), x.dim()); d < x.dim(); ++d) shape.push_back(x.size(d));
  return shape;
}

Results group_norm(const Step& s) {
  Tensor weight = s.x(1), bias = s.x(2);
  const std::int64_t groups = s.integer("num_groups", 1), channels = s.x(0).dim() > 1 ? s.x(0).size(1) : 0;
  constexpr std::int64_t kByChannel = 21;
  if (s.opset < kByChannel && groups > 0) {
    weight = repeat_interleave(weight, channels / groups);
    bias = repeat_interleave(bias, channels / groups);
  }
  return {minnow::group_norm(s.x(0), groups, weight, bias, s.number("epsilon", 1e-5))};
}

/// Of one dimension the elements that ONNX calls nearest, by its formulas.
Tensor nearest(const Step& s, const Tensor& x, int dim, std::int64_t size, double scale) {
  const std::string at = s.text("coordinate_transformation_mode", "half_pixel"),
                    rounds = s.text("nearest_mode", "round_prefer_floor");
  const std::int64_t whole = x.size(dim);
  const auto place = [&](std::int64_t i) {
    const auto n = static_cast<double>(i);
    if (at == "asymmetric") return n / scale;
    if (at == "align_corners")
      return size == 1 ? 0.0 : n * static_cast<double>(whole - 1) / static_cast<double>(size - 1);
    if (at == "pytorch_half_pixel" && size == 1) return 0.0;
    return (n + 0.5) / scale - 0.5;
  };
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < size; ++i) {
    const double p = place(i);
    const double found = rounds == "floor"                ? std::floor(p)
                         : rounds == "ceil"               ? std::ceil(p)
                         : rounds == "round_prefer_floor" ? std::ceil(p - 0.5)
                                                          : std::floor(p + 0.5);
    index.push_back(std::clamp(static_cast<std::int64_t>(found), std::int64_t{0}, whole - 1));
  }
  return index_select(x, dim, tensor(index, x.device()));
}

/// What Resize says of each dimension: its size, or its scale.
std::vector<double> resized(const Step& s, bool by_size) {
  const Tensor& x = s.x(0);
  Numbers axes(static_cast<std::size_t>(x.dim()));
  std::iota(axes.begin(), axes.end(), 0);
  axes = s.list("axes", axes);
  const std::vector<double> given = by_size ? s.x(3).to_vector<double>() : s.x(2).to_vector<double>();
  if (given.size() != axes.size()) s.refuse("it has not a number for each dimension");
  std::vector<double> values;
  for (const std::int64_t size : x.shape()) values.push_back(by_size ? static_cast<double>(size) : 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(given[i] >= 0 && given[i] < 0x1p31)) s.refuse("its numbers are negative, or far too large");
    values[static_cast<std::size_t>(s.dim(axes[i], x.dim()))] = given[i];
  }
  return values;
}

InterpolateOptions interpolation_of(const Step& s, int space) {
  const std::string mode = s.text("mode", "nearest"), at = s.text("coordinate_transformation_mode", "half_pixel"),
                    rounds = s.text("nearest_mode", "round_prefer_floor");
  InterpolateOptions o{.align_corners = at == "align_corners", .antialias = s.integer("antialias", 0) != 0};
  const bool halves = at == "half_pixel" || at == "pytorch_half_pixel", within = s.integer("exclude_outside", 0) != 0;
  if (mode == "nearest" && at == "asymmetric" && rounds == "floor") o.mode = Interpolation::nearest;
  else if (mode == "nearest" && (halves || o.align_corners || at == "asymmetric"))
    o.mode = Interpolation::nearest_exact;
  else if (mode == "linear" && (halves || o.align_corners) && (within || !o.antialias))
    o.mode = space == 1 ? Interpolation::linear : space == 2 ? Interpolation::bilinear : Interpolation::trilinear;
  else if (mode == "cubic" && (halves || o.align_corners) && within == o.antialias &&
           std::abs(s.number("cubic_coeff_a", -0.75) - (o.antialias ? -0.5 : -0.75)) < 1e-6)
    o.mode = Interpolation::bicubic;
  else
    s.refuse("its modes " + mode + ", " + at + ", " + rounds +
             ", its cubic_coeff_a or its exclude_outside are no interpolation of minnow");
  return o;
}

Results resize(const Step& s) {
  const Tensor& x = s.x(0);
  if (s.text("keep_aspect_ratio_policy", "stretch") != "stretch") s.refuse("it keeps the aspect ratio");
  InterpolateOptions o = interpolation_of(s, x.dim() - 2);
  const bool by_size = s.has(3);
  const std::vector<double> values = resized(s, by_size);
  Tensor y = x;
  for (int d = 0; d < x.dim(); ++d) {
    const double value = values[static_cast<std::size_t>(d)], whole = static_cast<double>(x.size(d));
    const bool stays = value == (by_size ? whole : 1);
    const auto size = static_cast<std::int64_t>(by_size ? value : std::floor(value * whole));
    if (o.mode == Interpolation::nearest_exact) {
      if (!stays) y = nearest(s, y, d, size, by_size ? value / whole : value);
      continue;
    }
    if (d < 2 && !stays) s.refuse("it resizes samples or channels");
    if (d > 4) s.refuse("it has more than three dimensions behind the channels");
    if (size == 1 && !stays && o.mode != Interpolation::nearest &&
        s.text("coordinate_transformation_mode", "half_pixel") == "pytorch_half_pixel")
      s.refuse("of a dimension of one element it takes the first");
    if (d < 2) continue;
    if (by_size) o.size.values[o.size.count++] = size;
    else o.scale_factor.values[o.scale_factor.count++] = value;
  }
  return {o.mode == Interpolation::nearest_exact ? y : interpolate(x, o)};
}

Results grid_sampled(const Step& s) {
  const std::string mode = s.text("mode", "linear"), padding = s.text("padding_mode", "zeros");
  GridSampleOptions o{.align_corners = s.integer("align_corners", 0) != 0};
  if (mode == "nearest") o.mode = Interpolation::nearest;
  else if (mode == "cubic" || mode == "bicubic") o.mode = Interpolation::bicubic;
  else if (mode != "linear" && mode != "bilinear") s.refuse("its mode is not known");
  if (padding == "border") o.padding_mode = GridPadding::border;
  else if (padding == "reflection") o.padding_mode = GridPadding::reflection;
  else if (padding != "zeros") s.refuse("its padding_mode is not known");
  return {grid_sample(s.x(0), s.x(1), o)};
}

Results col2im(const Step& s) {
  const Numbers size = s.integers(1), kernel = s.integers(2);
  const Numbers stride = s.list("strides", {1, 1}), dilation = s.list("dilations", {1, 1}),
                pads = s.list("pads", {0, 0, 0, 0});
  if (size.size() != 2 || kernel.size() != 2 || stride.size() != 2 || dilation.size() != 2 || pads.size() != 4 ||
      pads[0] != pads[2] || pads[1] != pads[3])
    s.refuse("minnow has it of images, with the same padding at both ends");
  return {
      fold(s.x(0), {size[0], size[1]}, {kernel[0], kernel[1]},
           {.dilation = {dilation[0], dilation[1]}, .padding = {pads[0], pads[1]}, .stride = {stride[0], stride[1]}})};
}

/// A scale or a zero point in the shape that broadcasts to x: one number, or one for each place along the axis.
Tensor along_axis(const Step& s, const Tensor& x, const Tensor& t) {
  if (s.integer("block_size", 0) != 0) s.refuse("its scales are of blocks\nminnow reads one for each place of an axis");
  if (t.dim() == 0 || x.dim() == 0) return t;
  Shape shape = Shape::filled(x.dim(), 1);
  shape[s.dim(s.integer("axis", 1), x.dim())] = t.numel();
  return t.reshape(shape);
}

Results dequantize(const Step& s) {
  const Tensor& x = s.x(0);
  const Tensor scale = s.x(1).to(x.device());
  Tensor y = x.to(scale.dtype());
  if (s.has(2)) y = sub(y, along_axis(s, x, s.x(2).to(x.device(), scale.dtype())));
  return {mul(y, along_axis(s, x, scale))};
}

Results quantize(const Step& s) {
  const Tensor& x = s.x(0);
  const std::int64_t named = s.integer("output_dtype", 0);
  const DType dtype = s.has(2) ? s.x(2).dtype() : named == 0 ? DType::uint8 : dtype_of(named).value_or(DType::float32);
  if (dtype != DType::uint8 && dtype != DType::int8) s.refuse("it gives another dtype than int8 and uint8");
  const double low = dtype == DType::int8 ? -128 : 0;
  Tensor y = round(div(x, along_axis(s, x, s.x(1).to(x.device(), x.dtype()))));
  if (s.has(2)) y = add(y, along_axis(s, x, s.x(2).to(x.device(), x.dtype())));
  return {clamp(y, low, low + 255).to(dtype)};
}

/// To 8 bits from the least to the largest element, and 0.
Results quantize_dynamic(const Step& s) {
  const Tensor& x = s.x(0);
  const Tensor least = clamp_max(x.amin(), 0), width = sub(clamp_min(x.amax(), 0), least);
  const Tensor scale = where(eq(width, 0), 1, div(width, 255));
  const Tensor zero = clamp(round(div(neg(least), scale)), 0, 255);
  const Tensor y = clamp(add(round(div(x, scale)), zero), 0, 255);
  return {y.to(DType::uint8), scale, zero.to(DType::uint8)};
}

/// Gates of ONNX's order as minnow has them, of one direction: place i takes gate order[i].
Tensor ordered(const Tensor& w, std::span<const std::int64_t> order) {
  const std::int64_t size = w.size(0) / static_cast<std::int64_t>(order.size());
  std::vector<Tensor> parts;
  for (const std::int64_t gate : order) parts.push_back(w.narrow(0, gate * size, size));
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

Results recurrent(const Step& s) {
  using minnow::detail::Recurrence;
  const std::string& op = s.node().op;
  const bool lstm = op == "LSTM", gru = op == "GRU";
  Recurrence kind = lstm ? Recurrence::lstm : gru ? Recurrence::gru : Recurrence::tanh;
  if (const auto found = s.node().attributes.find("activations"); found != s.node().attributes.end()) {
    const auto* names = std::get_if<std::vector<std::string>>(&found->second);
    const bool relu = !lstm && !gru && names && !names->empty() && (*names)[0] == "Relu";
    if (relu) kind = Recurrence::relu;
    else if (lstm || gru || !names || names->empty() || (*names)[0] != "Tanh")
      s.refuse("it names activations of its own");
  }
  if (s.has(4) || s.integer("layout", 0) != 0 || s.has("clip") || s.integer("input_forget", 0) != 0 || s.has(7) ||
      (gru && s.integer("linear_before_reset", 0) == 0))
    s.refuse("it has sequence_lens, layout, clip, input_forget or peepholes, or a GRU resets before its map");
  constexpr std::int64_t kLstm[] = {0, 2, 3, 1}, kGru[] = {1, 0, 2}, kRnn[] = {0};
  const std::span<const std::int64_t> order = lstm  ? std::span<const std::int64_t>(kLstm)
                                              : gru ? std::span<const std::int64_t>(kGru)
                                                    : kRnn;
  const auto gates = static_cast<std::int64_t>(order.size());
  const Tensor &x = s.x(0), &w = s.x(1), &r = s.x(2);
  const std::string direction = s.text("direction", "forward");
  if (x.dim() != 3 || w.dim() != 3 || r.dim() != 3 || w.size(0) != (direction == "bidirectional" ? 2 : 1) ||
      r.size(0) != w.size(0) || w.size(1) != gates * r.size(2) || r.size(1) != w.size(1) || w.size(2) != x.size(2) ||
      x.size(0) == 0)
    s.refuse("its weights are not of the sizes that ONNX says");
  const std::int64_t size = r.size(2);
  const auto state = [&](std::size_t i, std::int64_t d) {
    if (!s.has(i)) return zeros({x.size(1), size}, {.dtype = x.dtype(), .device = x.device()});
    return s.x(i).select(0, d).expand({x.size(1), size});
  };
  Results all, last_h, last_c;
  for (std::int64_t d = 0; d < w.size(0); ++d) {
    const bool reverse = d == 1 || direction == "reverse";
    minnow::detail::RecurrentWeights weights{ordered(w.select(0, d), order), ordered(r.select(0, d), order), {}, {}};
    if (s.has(3)) {
      const Tensor b = s.x(3).select(0, d);
      if (b.dim() != 1 || b.size(0) != 2 * gates * size) s.refuse("its bias is not of the size that ONNX says");
      weights.input_bias = ordered(b.narrow(0, 0, gates * size), order);
      weights.hidden_bias = ordered(b.narrow(0, gates * size, gates * size), order);
    }
    const auto [h, c] = minnow::detail::recurrent_layer(kind, reverse ? flip(x, {0}) : x,
                                                        {state(5, d), lstm ? state(6, d) : Tensor()}, weights);
    last_h.push_back(h.select(0, h.size(0) - 1));
    if (lstm) last_c.push_back(c);
    all.push_back(reverse ? flip(h, {0}) : h);
  }
  return {stack(all, 1), stack(last_h), lstm ? stack(last_c) : Tensor()};
}

constexpr Kernel kKernels[] = {
    {"Gemm", gemm},
    {"MatMul", [](const Step& s) -> Results { return {matmul(s.x(0), s.x(1))}; }},
    {"Einsum",
     [](const Step& s) -> Results {
       std::vector<Tensor> in;
       for (std::size_t i = 0; i < s.count(); ++i) in.push_back(s.x(i));
       return {einsum(s.text("equation", ""), in)};
     }},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"GlobalAveragePool", [](const Step& s) { return global_pool(s, false); }},
    {"GlobalMaxPool", [](const Step& s) { return global_pool(s, true); }},
    {"BatchNormalization", batch_norm},
    {"InstanceNormalization",
     [](const Step& s) -> Results { return {instance_norm(s.x(0), s.x(1), s.x(2), s.number("epsilon", 1e-5))}; }},
    {"LayerNormalization",
     [](const Step& s) -> Results {
       return {layer_norm(s.x(0), normalized(s), s.x(1), s.optional(2), s.number("epsilon", 1e-5))};
     }},
    {"RMSNormalization",
     [](const Step& s) -> Results { return {rms_norm(s.x(0), normalized(s), s.x(1), s.number("epsilon", 1e-5))}; }},
    {"GroupNormalization", group_norm},
    {"Softmax", [](const Step& s) -> Results { return {softmax(s.x(0), s.dim(s.integer("axis", -1), s.x(0).dim()))}; }},
    {"LogSoftmax",
     [](const Step& s) -> Results { return {log_softmax(s.x(0), s.dim(s.integer("axis", -1), s.x(0).dim()))}; }},
    {"Resize", resize},
    {"GridSample", grid_sampled},
    {"Col2Im", col2im},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", quantize_dynamic},
    {"QuantizeLinear", quantize},
    {"LSTM", recurrent},
    {"GRU", recurrent},
    {"RNN", recurrent},
};

}  // namespace

std::span<const Kernel> layer_kernels() { return kKernels; }

}  // namespace minnow::onnx::detail
