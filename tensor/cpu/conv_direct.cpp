#include <minnow/tensor/cpu/conv_direct.h>

#include <algorithm>
#include <bit>
#include <vector>
#include <minnow/tensor/cpu/conv_parts.h>
#include <minnow/tensor/cpu/onednn_plan.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

using onednn::memory;

constexpr const char* kForward = "conv2d";
constexpr const char* kBackward = "conv2d_backward";

/// Images, and rows of x and of y that belong together, as a convolution of their own: with `top` rows of padding
/// before and `bottom` after.
struct Block {
  std::int64_t images, x_rows, y_rows, top, bottom;
  friend bool operator==(const Block&, const Block&) = default;
};
struct Piece {
  std::int64_t image, x_row, y_row;  // the first ones
  Block block;
};

/// The heights that tell what rows belong together.
struct Heights {
  std::int64_t x, y, stride, padding, extent;  // extent: of a window

  /// What rows [begin, end) of y read.
  Piece of_outputs(std::int64_t begin, std::int64_t end) const {
    const std::int64_t from = begin * stride - padding, to = (end - 1) * stride - padding + extent;
    const std::int64_t first = std::clamp<std::int64_t>(from, 0, x), last = std::clamp<std::int64_t>(to, 0, x);
    return {0, first, begin, {1, last - first, end - begin, first - from, to - last}};
  }
  /// What has to do with rows [begin, end) of x.
  Piece of_inputs(std::int64_t begin, std::int64_t end) const {
    const std::int64_t over = begin + padding - extent;  // windows that end at or before it do not reach `begin`
    const std::int64_t first = over < 0 ? 0 : std::min(y, over / stride + 1);
    const std::int64_t last = std::clamp<std::int64_t>((end - 1 + padding) / stride + 1, first, y);
    const std::int64_t top = begin + padding - first * stride;
    const std::int64_t bottom = (last - 1 - first) * stride + extent - top - (end - begin);
    return {0, begin, first, {1, end - begin, last - first, top, std::max<std::int64_t>(bottom, 0)}};
  }
  bool fits(const Block& b) const {
    const std::int64_t room = b.x_rows + b.top + b.bottom - extent;
    return b.x_rows > 0 && b.y_rows > 0 && b.top >= 0 && b.top < extent && b.bottom < extent && room >= 0 &&
           room / stride + 1 == b.y_rows;
  }
};

/// By sizes alone.  Images are divided first; where there are fewer than parts, their rows are.
std::vector<Piece> cut(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, bool of_outputs) {
  constexpr std::int64_t kWork = 1 << 21, kMost = 32, kRows = 4;  // multiplications and rows of a part
  const Heights h{x[2], y[2], params.stride[0], params.padding[0], (w[2] - 1) * params.dilation[0] + 1};
  const std::int64_t batch = x[0], work = y.numel() / w[0] * w.numel();
  const auto parts = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(work / kWork, 1, kMost))));
  const std::int64_t groups = std::min(parts, batch), height = of_outputs ? y[2] : x[2];
  const std::int64_t slices =
      groups < batch ? 1 : std::clamp<std::int64_t>(parts / batch, 1, std::max<std::int64_t>(1, height / kRows));
  const std::int64_t step = (height + slices - 1) / slices;

  std::vector<Piece> rows;
  for (std::int64_t begin = 0; slices > 1 && begin < height; begin += step) {
    const std::int64_t end = std::min(height, begin + step);
    rows.push_back(of_outputs ? h.of_outputs(begin, end) : h.of_inputs(begin, end));
  }
  if (rows.empty() || !std::all_of(rows.begin(), rows.end(), [&](const Piece& p) { return h.fits(p.block); }))
    rows = {{0, 0, 0, {1, x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}}};
  const ConvParts images{batch, groups};
  std::vector<Piece> pieces;
  for (std::int64_t i = 0; i < groups; ++i)
    for (Piece piece : rows) {
      piece.image = images[i].first;
      piece.block.images = images[i].size;
      pieces.push_back(piece);
    }
  return pieces;
}

/// A convolution of one block, which is empty where the library has none.
struct Made {
  onednn::Executable run;
  memory::desc weights;
};

struct Forward {
  static constexpr const char* kName = kForward;
  static constexpr bool kOfOutputs = true;
  static Made make(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w, std::int64_t bottom) {
    const auto plan = onednn::conv_plan(kName, params, {l.x, w, l.bias, l.y, false, bottom});
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
  static Made make(const Conv2dParams& params, const ConvLayouts& l, const memory::desc& w, std::int64_t bottom) {
    const auto plan = onednn::conv_input_plan(kName, params, {l.x, w, l.bias, l.y, false, bottom});
    if (!plan) return {};
    return {
        onednn::executable<dnnl::convolution_backward_data>(
            kName, plan, {{DNNL_ARG_DIFF_DST, l.y}, {DNNL_ARG_WEIGHTS, plan.weights_desc()}, {DNNL_ARG_DIFF_SRC, l.x}}),
        plan.weights_desc()};
  }
};

template <class Direction> class Plan {
 public:
  Plan(Conv2dParams params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias)
      : pieces_(cut(params, x, w, y, Direction::kOfOutputs)) {
    if (make(params, x, w, y, dtype, bias) || pieces_.size() == 1) return;
    pieces_ = {{0, 0, 0, {x[0], x[2], y[2], params.padding[0], onednn::ConvDescs::kAsTop}}};
    make(params, x, w, y, dtype, bias);
  }
  bool usable() const { return usable_; }

  /// f(piece, primitive, weights in the library's layout, working memory) for each piece.
  template <class F> void run(const View& w, const F& f) const {
    const onednn::Buffer room(weights_.bytes());
    const void* weights = weights_.run(Direction::kName, w.raw_data(), room.data());
    for_each_part(static_cast<std::int64_t>(pieces_.size()), bytes_, [&](std::int64_t i, char* own) {
      f(pieces_[static_cast<std::size_t>(i)], made_[kinds_[static_cast<std::size_t>(i)]].run, weights, own);
    });
  }

 private:
  /// The primitives; they share one layout of the weights, the first one's choice.
  bool make(Conv2dParams params, const Shape& x, const Shape& w, const Shape& y, DType dtype, bool bias) {
    std::vector<Block> blocks;
    made_.clear();
    kinds_.clear();
    for (const Piece& piece : pieces_) {
      const auto found = std::find(blocks.begin(), blocks.end(), piece.block);
      kinds_.push_back(static_cast<std::size_t>(found - blocks.begin()));
      if (found != blocks.end()) continue;
      blocks.push_back(piece.block);
      const Shape part_x{piece.block.images, x[1], piece.block.x_rows, x[3]},
          part_y{piece.block.images, y[1], piece.block.y_rows, y[3]};
      params.padding[0] = piece.block.top;
      const ConvLayouts l = conv_layouts(params, part_x, w, part_y, dtype, bias);
      made_.push_back(Direction::make(params, l, made_.empty() ? l.w : made_[0].weights, piece.block.bottom));
      if (!made_.back().run) return false;
      bytes_ = std::max(bytes_, made_.back().run.scratch_bytes());
    }
    weights_ = onednn::Relayout(Direction::kName, row_major(grouped(w, params.groups), dtype), made_[0].weights);
    return usable_ = true;
  }

  std::vector<Piece> pieces_;
  std::vector<std::size_t> kinds_;  // of each piece, its place in made_
  std::vector<Made> made_;
  onednn::Relayout weights_;
  std::size_t bytes_ = 0;
  bool usable_ = false;
};

template <class Direction>
std::shared_ptr<Plan<Direction>> plan_of(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y,
                                         DType dtype, bool bias) {
  return onednn::plans<Plan<Direction>>().get(conv_key(params, dtype, x, w, y, bias), [&] {
    return std::make_shared<Plan<Direction>>(params, x, w, y, dtype, bias);
  });
}

/// The address of a row of an image.
char* at(const View& t, std::int64_t image, std::int64_t row) {
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

bool direct_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  const onednn::OneThread alone;
  const auto plan = plan_of<Forward>(params, x.shape(), w.shape(), y.shape(), x.dtype(), bias.defined());
  if (!plan->usable()) return false;
  const void* added = bias.defined() ? bias.raw_data() : nullptr;
  plan->run(w, [&](const Piece& p, const onednn::Executable& run, const void* weights, void* own) {
    run.run(kForward, {at(x, p.image, p.x_row), weights, added, at(y, p.image, p.y_row)}, own);
  });
  return true;
}

bool direct_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const onednn::OneThread alone;
  const auto plan = plan_of<BackwardInput>(params, grad_x.shape(), w.shape(), grad.shape(), grad.dtype(), false);
  if (!plan->usable()) return false;
  plan->run(w, [&](const Piece& p, const onednn::Executable& run, const void* weights, void* own) {
    run.run(kBackward, {at(grad, p.image, p.y_row), weights, at(grad_x, p.image, p.x_row)}, own);
  });
  return true;
}

}  // namespace minnow::cpu
