#include <minnow/tensor/cpu/onednn/conv_direct.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/onednn/onednn_plan.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/library.h>
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
  // Powers of two, so that the numbers of threads that machines have divide them well.
  const auto floor = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  };
  const std::int64_t parts = floor(std::clamp<std::int64_t>(work / kPartWork, 1, kMaxParts));
  const std::int64_t groups = std::min(parts, batch), height = of_outputs ? y[2] : x[2];
  const std::int64_t slices =
      groups < batch ? 1
                     : floor(std::clamp<std::int64_t>(parts / batch, 1, std::max<std::int64_t>(1, height / kMinRows)));
  const std::int64_t step = (height + slices - 1) / slices;

  std::vector<RowRange> rows;
  for (std::int64_t begin = 0; slices > 1 && begin < height; begin += step) {
    const std::int64_t end = std::min(height, begin + step);
    rows.push_back(of_outputs ? h.of_outputs(begin, end) : h.of_inputs(begin, end));
  }
  if (rows.empty() || !std::all_of(rows.begin(), rows.end(), [&](const RowRange& p) { return h.fits(p.block); }))
    rows.assign(1, RowRange{0, 0, 0, {1, x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}});
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

struct Forward {
  using Primitive = dnnl::convolution_forward;
  static constexpr const char* kName = kForward;
  static constexpr bool kOfOutputs = true;
  static Primitive::primitive_desc plan(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w,
                                        std::int64_t bottom) {
    return onednn::conv_plan(kName, params, {l.x, w, l.bias, l.y, bottom});
  }
  static onednn::Executable make(const Primitive::primitive_desc& plan) {
    return onednn::executable<Primitive>(kName, plan,
                                         {{DNNL_ARG_SRC, plan.src_desc()},
                                          {DNNL_ARG_WEIGHTS, plan.weights_desc()},
                                          {DNNL_ARG_BIAS, plan.bias_desc()},
                                          {DNNL_ARG_DST, plan.dst_desc()}});
  }
};
struct BackwardInput {
  using Primitive = dnnl::convolution_backward_data;
  static constexpr const char* kName = kBackward;
  static constexpr bool kOfOutputs = false;
  static Primitive::primitive_desc plan(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w,
                                        std::int64_t bottom) {
    return onednn::conv_input_plan(kName, params, {l.x, w, l.bias, l.y, bottom});
  }
  static onednn::Executable make(const Primitive::primitive_desc& plan) {
    return onednn::executable<Primitive>(kName, plan,
                                         {{DNNL_ARG_DIFF_DST, plan.diff_dst_desc()},
                                          {DNNL_ARG_WEIGHTS, plan.weights_desc()},
                                          {DNNL_ARG_DIFF_SRC, plan.diff_src_desc()}});
  }
};

/// Of the weights of one convolution.
constexpr std::size_t kMaxLayouts = 4;

/// What a convolution of these sizes is divided into.
template <class Direction> struct Division {
  /// A block shape, and the layout of the weights that its plan takes.
  struct Block {
    BlockShape shape;
    typename Direction::Primitive::primitive_desc plan;
    std::size_t layout;
  };
  std::vector<RowRange> pieces;
  std::vector<std::size_t> block_of;  // for each piece, the index in blocks
  std::vector<Block> blocks;
  std::vector<memory::desc> layouts;

  /// By rows, or whole images where oneDNN has no fast plan for a block of rows.  Without pieces if it has none at all.
  Division(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias)
      : pieces(cut(params, x, w, y, Direction::kOfOutputs)) {
    if (plan(params, x, w, y, dtype, bias)) return;
    pieces = {{0, 0, 0, {x[0], x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}}};
    if (!plan(params, x, w, y, dtype, bias)) pieces.clear();
  }

 private:
  bool plan(Conv2dParams params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias) {
    block_of.clear();
    blocks.clear();
    layouts.clear();
    for (const RowRange& piece : pieces) {
      const BlockShape& block = piece.block;
      const auto same = [&](const Block& b) { return b.shape == block; };
      const auto found = std::find_if(blocks.begin(), blocks.end(), same);
      block_of.push_back(static_cast<std::size_t>(found - blocks.begin()));
      if (found != blocks.end()) continue;
      params.padding[0] = block.top;
      const ConvLayouts l = conv_layouts(params, {block.images, x[1], block.x_rows, x[3]}, w,
                                         {block.images, y[1], block.y_rows, y[3]}, dtype, bias);
      if (!add(params, l, block)) return false;
    }
    return true;
  }

  /// A plan with a layout of the weights that another block has, or else with one of its own.
  bool add(const Conv2dParams& params, const ConvLayouts& l, const BlockShape& block) {
    for (std::size_t i = 0; i <= layouts.size() && i < kMaxLayouts; ++i) {
      const bool is_own = i == layouts.size();
      auto made = Direction::plan(params, l, is_own ? l.w : layouts[i], block.bottom);
      if (!made) continue;
      if (is_own) layouts.push_back(made.weights_desc());
      blocks.push_back({block, std::move(made), i});
      return true;
    }
    return false;
  }
};

/// Whether a window may lie in padding alone: beside the image, or with the image in a gap of its dilation.
bool has_empty_windows(const Conv2dParams& params, const Shape& x, const Shape& w) {
  for (int d = 0; d < 2; ++d) {
    const std::int64_t dilation = params.dilation[d], span = dilation * (w[2 + d] - 1) + 1;
    if (params.padding[d] >= span || (w[2 + d] > 1 && params.padding[d] > 0 && x[2 + d] < dilation)) return true;
  }
  return false;
}

template <class Direction> class DirectPlan {
 public:
  DirectPlan(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias) {
    // Making oneDNN 3.2's kernels of halves for such windows ends in a segmentation fault on processors with AMX.
    if (is_half(dtype) && has_empty_windows(params, x, w)) return;
    Division<Direction> division(params, x, w, y, dtype, bias);
    pieces_ = std::move(division.pieces);
    if (pieces_.empty()) return;
    block_of_ = std::move(division.block_of);
    const memory::desc rows = row_major(grouped(w, params.groups), dtype);
    for (const memory::desc& layout : division.layouts) {
      weights_.emplace_back(Direction::kName, rows, layout);
      weights_bytes_ += weights_.back().bytes();
    }
    for (const auto& block : division.blocks) {
      blocks_.push_back({Direction::make(block.plan), block.layout});
      bytes_ = std::max(bytes_, blocks_.back().run.scratch_bytes());
    }
  }
  bool usable() const { return !pieces_.empty(); }
  std::vector<std::string> implementations() const {
    std::vector<std::string> names;
    for (const Block& block : blocks_) names.push_back(block.run.implementation());
    return names;
  }

  /// Calls f(rows, primitive, weights in oneDNN's layout, scratch memory) for each part.
  template <class F> void run(const View& w, const F& f) const {
    const Buffer copies(weights_bytes_);
    std::array<const void*, kMaxLayouts> weights{};
    char* room = static_cast<char*>(copies.data());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i].bytes() != 0) count_copies({0, 1});
      weights[i] = weights_[i].run(Direction::kName, w.raw_data(), room);
      if (room) room += weights_[i].bytes();
    }
    for_each_part(static_cast<std::int64_t>(pieces_.size()), bytes_, [&](std::int64_t i, char* own) {
      const Block& block = blocks_[block_of_[static_cast<std::size_t>(i)]];
      f(pieces_[static_cast<std::size_t>(i)], block.run, weights[block.layout], own);
    });
  }

 private:
  struct Block {
    onednn::Executable run;
    std::size_t layout;  // index in weights_
  };
  std::vector<RowRange> pieces_;
  std::vector<std::size_t> block_of_;  // for each piece, the index in blocks_
  std::vector<Block> blocks_;
  std::vector<onednn::Relayout> weights_;
  std::size_t weights_bytes_ = 0, bytes_ = 0;
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
  return {onednn::desc_of(x, channels_last_strides(x), dtype), onednn::any_layout(gw, dtype),
          bias ? row_major({w[0]}, dtype) : onednn::nothing(), onednn::desc_of(y, channels_last_strides(y), dtype)};
}

onednn::PlanKey conv_key(const Conv2dParams& p, DType dtype, const Shape& x, const Shape& w, const Shape& y,
                         bool bias) {
  onednn::PlanKey key;
  key.add(p.stride[0], p.stride[1], p.padding[0], p.padding[1], p.dilation[0], p.dilation[1], p.groups);
  return key.add(static_cast<int>(dtype), bias).add(x).add(w).add(y);
}

std::vector<std::string> direct_names(ConvDirection direction, DType dtype, const Conv2dParams& params, const Shape& x,
                                      const Shape& w, const Shape& y) {
  return direction == ConvDirection::forward
             ? direct_plan<Forward>(params, x, w, y, dtype, false)->implementations()
             : direct_plan<BackwardInput>(params, x, w, y, dtype, false)->implementations();
}

bool library::conv_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
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

bool library::conv_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const onednn::OneThread alone;
  const auto plan = direct_plan<BackwardInput>(params, grad_x.shape(), w.shape(), grad.shape(), grad.dtype(), false);
  if (!plan->usable()) return false;
  plan->run(w, [&](const RowRange& p, const onednn::Executable& run, const void* weights, void* own) {
    run.run(kBackward, {row_address(grad, p.image, p.y_row), weights, row_address(grad_x, p.image, p.x_row)}, own);
  });
  return true;
}

}  // namespace minnow::cpu
