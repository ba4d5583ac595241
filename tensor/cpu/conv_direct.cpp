#include <minnow/tensor/cpu/conv_direct.h>

#include <algorithm>
#include <bit>
#include <vector>
#include <minnow/tensor/cpu/activate.h>
#include <minnow/tensor/cpu/conv_parts.h>
#include <minnow/tensor/cpu/onednn_plan.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

using onednn::memory;

constexpr const char* kForward = "conv2d";
constexpr const char* kBackward = "conv2d_backward";

/// The sizes of a convolution of some images or rows: y_rows of y need x_rows of x, with `top` rows of padding before
/// and `bottom` rows after.
struct BlockShape {
  std::int64_t images, x_rows, y_rows, top, bottom;
  friend bool operator==(const BlockShape&, const BlockShape&) = default;
};
struct RowRange {
  std::int64_t image, x_row, y_row;  // the first image and rows
  BlockShape block;
};

/// The sizes that relate rows of x and y.
struct Heights {
  std::int64_t x, y, stride, padding, extent;  // extent: rows of a window

  /// Rows [begin, end) of y, and the rows of x that they read.
  RowRange of_outputs(std::int64_t begin, std::int64_t end) const {
    const std::int64_t from = begin * stride - padding, to = (end - 1) * stride - padding + extent;
    const std::int64_t first = std::clamp<std::int64_t>(from, 0, x), last = std::clamp<std::int64_t>(to, 0, x);
    return {0, first, begin, {1, last - first, end - begin, first - from, to - last}};
  }
  /// Rows [begin, end) of x, and the rows of y that read them.
  RowRange of_inputs(std::int64_t begin, std::int64_t end) const {
    const std::int64_t overlap = begin + padding - extent;  // windows that end at or before it do not reach `begin`
    const std::int64_t first = overlap < 0 ? 0 : std::min(y, overlap / stride + 1);
    const std::int64_t last = std::clamp<std::int64_t>((end - 1 + padding) / stride + 1, first, y);
    const std::int64_t top = begin + padding - first * stride;
    const std::int64_t bottom = (last - 1 - first) * stride + extent - top - (end - begin);
    return {0, begin, first, {1, end - begin, last - first, top, std::max<std::int64_t>(bottom, 0)}};
  }
  bool fits(const BlockShape& b) const {
    const std::int64_t weights_copy = b.x_rows + b.top + b.bottom - extent;
    return b.x_rows > 0 && b.y_rows > 0 && b.top >= 0 && b.top < extent && b.bottom < extent && weights_copy >= 0 &&
           weights_copy / stride + 1 == b.y_rows;
  }
};

/// Divides a convolution by its sizes only: by images, or by their rows if there are fewer images than parts.
std::vector<RowRange> cut(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, bool of_outputs) {
  constexpr std::int64_t kPartWork = 1 << 21, kMaxParts = 32,
                         kMinRows = 4;  // multiplications of a part, number of parts, rows of a part
  const Heights h{x[2], y[2], params.stride[0], params.padding[0], (w[2] - 1) * params.dilation[0] + 1};
  const std::int64_t batch = x[0], work = y.numel() / w[0] * w.numel();
  const auto parts = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(work / kPartWork, 1, kMaxParts))));
  const std::int64_t groups = std::min(parts, batch), height = of_outputs ? y[2] : x[2];
  const std::int64_t slices =
      groups < batch ? 1 : std::clamp<std::int64_t>(parts / batch, 1, std::max<std::int64_t>(1, height / kMinRows));
  const std::int64_t step = (height + slices - 1) / slices;

  std::vector<RowRange> rows;
  for (std::int64_t begin = 0; slices > 1 && begin < height; begin += step) {
    const std::int64_t end = std::min(height, begin + step);
    rows.push_back(of_outputs ? h.of_outputs(begin, end) : h.of_inputs(begin, end));
  }
  if (rows.empty() || !std::all_of(rows.begin(), rows.end(), [&](const RowRange& p) { return h.fits(p.block); }))
    rows = {{0, 0, 0, {1, x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}}};
  const ConvParts images{batch, groups};
  std::vector<RowRange> pieces;
  for (std::int64_t i = 0; i < groups; ++i)
    for (RowRange piece : rows) {
      piece.image = images[i].first;
      piece.block.images = images[i].size;
      pieces.push_back(piece);
    }
  return pieces;
}

/// The primitive for one block shape; empty if oneDNN has none.
struct BlockConvolution {
  onednn::Executable run;
  memory::desc weights;
};

struct Forward {
  static constexpr const char* kName = kForward;
  static constexpr bool kOfOutputs = true;
  static BlockConvolution make(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w,
                               std::int64_t bottom) {
    const auto plan = onednn::conv_plan(kName, params, {l.x, w, l.bias, l.y, bottom});
    if (!plan) return {};
    return {onednn::executable<dnnl::convolution_forward>(kName, plan,
                                                          {{DNNL_ARG_SRC, l.x},
                                                           {DNNL_ARG_WEIGHTS, plan.weights_desc()},
                                                           {DNNL_ARG_BIAS, l.bias},
                                                           {DNNL_ARG_DST, l.y}}),
            plan.weights_desc()};
  }
};
struct BackwardInput {
  static constexpr const char* kName = kBackward;
  static constexpr bool kOfOutputs = false;
  static BlockConvolution make(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w,
                               std::int64_t bottom) {
    const auto plan = onednn::conv_input_plan(kName, params, {l.x, w, l.bias, l.y, bottom});
    if (!plan) return {};
    return {
        onednn::executable<dnnl::convolution_backward_data>(
            kName, plan, {{DNNL_ARG_DIFF_DST, l.y}, {DNNL_ARG_WEIGHTS, plan.weights_desc()}, {DNNL_ARG_DIFF_SRC, l.x}}),
        plan.weights_desc()};
  }
};

template <class Direction> class DirectPlan {
 public:
  DirectPlan(Conv2dParams params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias)
      : pieces_(cut(params, x, w, y, Direction::kOfOutputs)) {
    if (make(params, x, w, y, dtype, bias) || pieces_.size() == 1) return;
    pieces_ = {{0, 0, 0, {x[0], x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}}};
    make(params, x, w, y, dtype, bias);
  }
  bool usable() const { return usable_; }

  /// Calls f(rows, primitive, weights in oneDNN's layout, scratch memory) for each part.
  template <class F> void run(const View& w, const F& f) const {
    const onednn::Buffer weights_copy(weights_.bytes());
    if (weights_.bytes() != 0) count_copies({0, 1});
    const void* weights = weights_.run(Direction::kName, w.raw_data(), weights_copy.data());
    for_each_part(static_cast<std::int64_t>(pieces_.size()), bytes_, [&](std::int64_t i, char* own) {
      f(pieces_[static_cast<std::size_t>(i)], convolutions_[convolution_of_[static_cast<std::size_t>(i)]].run, weights,
        own);
    });
  }

 private:
  /// Makes the primitives.  All use the layout of the weights that the first one chooses.
  bool make(Conv2dParams params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias) {
    std::vector<BlockShape> blocks;
    convolutions_.clear();
    convolution_of_.clear();
    for (const RowRange& piece : pieces_) {
      const auto found = std::find(blocks.begin(), blocks.end(), piece.block);
      convolution_of_.push_back(static_cast<std::size_t>(found - blocks.begin()));
      if (found != blocks.end()) continue;
      blocks.push_back(piece.block);
      const Shape part_x{piece.block.images, x[1], piece.block.x_rows, x[3]},
          part_y{piece.block.images, y[1], piece.block.y_rows, y[3]};
      params.padding[0] = piece.block.top;
      const ConvLayouts l = conv_layouts(params, part_x, w, part_y, dtype, bias);
      convolutions_.push_back(
          Direction::make(params, l, convolutions_.empty() ? l.w : convolutions_[0].weights, piece.block.bottom));
      if (!convolutions_.back().run) return false;
      bytes_ = std::max(bytes_, convolutions_.back().run.scratch_bytes());
    }
    weights_ =
        onednn::Relayout(Direction::kName, row_major(grouped(w, params.groups), dtype), convolutions_[0].weights);
    return usable_ = true;
  }

  std::vector<RowRange> pieces_;
  std::vector<std::size_t> convolution_of_;  // for each part, the index in convolutions_
  std::vector<BlockConvolution> convolutions_;
  onednn::Relayout weights_;
  std::size_t bytes_ = 0;
  bool usable_ = false;
};

template <class Direction>
std::shared_ptr<DirectPlan<Direction>> direct_plan(const Conv2dParams& params, const Shape& x, const Shape& w,
                                                   const Shape& y, DType dtype, bool bias) {
  return onednn::plans<DirectPlan<Direction>>().get(conv_key(params, dtype, x, w, y, bias), [&] {
    return std::make_shared<DirectPlan<Direction>>(params, x, w, y, dtype, bias);
  });
}

/// The address of a row of an image.
char* row_address(const View& t, std::int64_t image, std::int64_t row) {
  return static_cast<char*>(t.raw_data()) + image * image_bytes(t) +
         row * t.shape()[1] * t.shape()[3] * static_cast<std::int64_t>(t.itemsize());
}

}  // namespace

Shape grouped(const Shape& w, std::int64_t groups) {
  return groups == 1 ? w : Shape{groups, w[0] / groups, w[1], w[2], w[3]};
}

memory::desc row_major(const Shape& shape, DType dtype) {
  return onednn::desc_of(shape, contiguous_strides(shape), dtype);
}

ConvLayouts conv_layouts(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype,
                         bool bias) {
  const Shape gw = grouped(w, params.groups);
  return {onednn::desc_of(x, channels_last_strides(x), dtype), onednn::any_layout(gw, dtype), row_major(gw, dtype),
          bias ? row_major({w[0]}, dtype) : onednn::nothing(), onednn::desc_of(y, channels_last_strides(y), dtype)};
}

bool direct_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                    Activation activation) {
  const onednn::OneThread alone;
  const auto plan = direct_plan<Forward>(params, x.shape(), w.shape(), y.shape(), x.dtype(), bias.defined());
  if (!plan->usable()) return false;
  const void* added = bias.defined() ? bias.raw_data() : nullptr;
  plan->run(w, [&](const RowRange& p, const onednn::Executable& run, const void* weights, void* own) {
    char* const out = row_address(y, p.image, p.y_row);
    run.run(kForward, {row_address(x, p.image, p.x_row), weights, added, out}, own);
    if (y.dtype() == DType::float32)
      activate(activation, reinterpret_cast<float*>(out),
               p.block.images * p.block.y_rows * y.shape()[1] * y.shape()[3]);
  });
  return true;
}

bool direct_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const onednn::OneThread alone;
  const auto plan = direct_plan<BackwardInput>(params, grad_x.shape(), w.shape(), grad.shape(), grad.dtype(), false);
  if (!plan->usable()) return false;
  plan->run(w, [&](const RowRange& p, const onednn::Executable& run, const void* weights, void* own) {
    run.run(kBackward, {row_address(grad, p.image, p.y_row), weights, row_address(grad_x, p.image, p.x_row)}, own);
  });
  return true;
}

}  // namespace minnow::cpu
