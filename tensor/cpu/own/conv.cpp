#include <algorithm>
#include <vector>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/own/conv_pack.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/library.h>

// Convolutions and the gradients of their inputs as products without unfolded images: a tile of six positions reads its
// rows where they are, a run of channels for each tap of the window, or zeros where that is padding.  For the gradient
// of an input, the positions with the same remainder by the stride are taken together, because the same taps reach
// them.

namespace minnow::cpu {
namespace {

constexpr std::int64_t kMaxDepth = 512;  // of a run

/// A position of the window: what it adds to a position in the input, and the first row of its weights in a panel.
struct Tap {
  std::int64_t row, col, weights;
};

/// out[position * out_step + out_first] = bias + the sum over the taps of in[position * in_step + tap] times weights.
struct Sweep {
  ChannelsLast in, out;
  std::int64_t groups, depth, outputs;  ///< of a group: channels of a tap, channels of `out`
  std::int64_t rows, cols;              ///< positions of an image
  std::int64_t in_step[2], out_step[2], out_first[2];
  std::vector<Tap> taps;
  const ConvPanels* panels;
  const float* bias = nullptr;
  Activation activation = Activation::none;

  std::int64_t positions() const { return in.images * rows * cols; }
  bool is_channelwise() const { return groups > 1 && depth == 1 && outputs == 1; }
  /// Whether there are too few outputs for vectors of them.
  bool is_narrow() const { return outputs <= 8 && depth >= 16; }
};

/// Channels [from, from + depth) of a tap.
struct Segment {
  const Tap* tap;
  std::int64_t from, depth;
};

/// The lowest and highest that taps add to a position.
struct Reach {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;

  explicit Reach(const std::vector<Tap>& taps) {
    for (const Tap& tap : taps) {
      top = std::min(top, tap.row);
      bottom = std::max(bottom, tap.row);
      left = std::min(left, tap.col);
      right = std::max(right, tap.col);
    }
  }
};

/// 1 if i is in [0, n), for tests without branches.
int is_below(std::int64_t i, std::int64_t n) { return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(n); }

/// Six positions after another; at the end the last one several times.
class Rows {
 public:
  Rows(const Sweep& s, const Reach& reach, std::int64_t first) : s_(s), reach_(reach) {
    col_ = first % s.cols;
    const std::int64_t line = first / s.cols;
    line_ = line % s.rows;
    image_ = line / s.rows;
  }

  /// The next `height` ones.
  void take(int height) {
    if (height == kConvRows && col_ + kConvRows <= s_.cols) {  // in one line
      const std::int64_t h = line_ * s_.in_step[0], w = col_ * s_.in_step[1];
      const std::int64_t last = w + (kConvRows - 1) * s_.in_step[1];
      inside_ = is_inside(h, w, last);
      for (int r = 0; r < kConvRows; ++r) put(r, h, w + r * s_.in_step[1]);
      float* const start = at_out();
      for (int r = 0; r < kConvRows; ++r) out[r] = start + r * s_.out_step[1] * s_.out.channels;
      col_ += kConvRows - 1;
      next();
      return;
    }
    inside_ = true;
    for (int r = 0; r < kConvRows; ++r) {
      const std::int64_t h = line_ * s_.in_step[0], w = col_ * s_.in_step[1];
      inside_ = inside_ && is_inside(h, w, w);
      put(r, h, w);
      out[r] = at_out();
      if (r + 1 < height) next();
    }
    next();
  }

  /// Returns false if all rows of the run are padding.
  bool read(const Tap& tap, std::int64_t channel, const float* zeros, ConvRun& run) const {
    const std::int64_t step = (tap.row * s_.in.cols + tap.col) * s_.in.channels + channel;
    if (inside_) {
      for (int r = 0; r < kConvRows; ++r) run.rows[r] = s_.in.data + (at_[r] + step);
      return true;
    }
    bool any = false;
    for (int r = 0; r < kConvRows; ++r) {
      const std::int64_t row = row_of_[r] + tap.row, col = col_of_[r] + tap.col;
      const bool is_there = (is_below(row, s_.in.rows) & is_below(col, s_.in.cols)) != 0;
      run.rows[r] = is_there ? s_.in.data + (at_[r] + step) : zeros;
      any = any || is_there;
    }
    return any;
  }

  float* out[kConvRows];

 private:
  bool is_inside(std::int64_t h, std::int64_t left, std::int64_t right) const {
    return h + reach_.top >= 0 && h + reach_.bottom < s_.in.rows && left + reach_.left >= 0 &&
           right + reach_.right < s_.in.cols;
  }
  void put(int r, std::int64_t h, std::int64_t w) {
    row_of_[r] = h;
    col_of_[r] = w;
    at_[r] = ((image_ * s_.in.rows + h) * s_.in.cols + w) * s_.in.channels;
  }
  float* at_out() const {
    return s_.out.at(image_, line_ * s_.out_step[0] + s_.out_first[0], col_ * s_.out_step[1] + s_.out_first[1]);
  }
  void next() {
    if (++col_ < s_.cols) return;
    col_ = 0;
    if (++line_ < s_.rows) return;
    line_ = 0;
    ++image_;
  }

  const Sweep& s_;
  const Reach& reach_;
  std::int64_t col_, line_, image_;  // of the next
  std::int64_t at_[kConvRows], row_of_[kConvRows], col_of_[kConvRows];
  bool inside_ = true;
};

class Sweeper {
 public:
  explicit Sweeper(const Sweep& s)
      : s_(s),
        reach_(s.taps),
        zeros_(static_cast<std::size_t>(std::max(s.in.channels, s.depth)), 0.0f),
        columns_(s.is_narrow() ? static_cast<std::size_t>(s.groups * s.outputs * s.panels->depth()) * sizeof(float)
                               : 0) {
    if (!s.is_channelwise()) divide_depth();
    else most_runs_ = s.taps.size();
    if (!s.is_narrow()) return;
    const std::int64_t depth = s.panels->depth();
    for (std::int64_t g = 0; g < s.groups; ++g)
      loops().transpose(s.panels->panel(g, 0), conv_loops().cols, columns(g, 0), depth, s.outputs, depth);
  }

  /// Positions are divided by sizes; the sums of each are the same in any division.
  void run() const {
    constexpr std::int64_t kPositions = 96, kWork = 1 << 19;  // multiplications of a part at least
    const std::int64_t each = std::max<std::int64_t>(1, s_.groups * s_.depth * s_.outputs * std::ssize(s_.taps));
    const std::int64_t step = std::max(kPositions, kWork / each / kPositions * kPositions), all = s_.positions();
    for_each_part((all + step - 1) / step, (most_runs_ + 1) * sizeof(ConvRun), [&](std::int64_t i, char* own) {
      auto* const runs = reinterpret_cast<ConvRun*>(own);
      if (s_.is_channelwise()) channels(i * step, std::min(all, (i + 1) * step), runs);
      else tiles(i * step, std::min(all, (i + 1) * step), runs);
    });
  }

 private:
  /// Into blocks whose weights stay in the second-level cache.
  void divide_depth() {
    constexpr std::int64_t kFloats = 1 << 17;
    const std::int64_t most = std::clamp<std::int64_t>(kFloats / (s_.groups * s_.outputs), 96, kMaxDepth);
    std::int64_t deep = 0;
    blocks_.emplace_back();
    for (const Tap& tap : s_.taps)
      for (std::int64_t from = 0, depth = 0; from < s_.depth; from += depth, deep += depth) {
        if (deep == most) {
          blocks_.emplace_back();
          deep = 0;
        }
        depth = std::min(s_.depth - from, most - deep);
        blocks_.back().push_back({&tap, from, depth});
        most_runs_ = std::max(most_runs_, blocks_.back().size());
      }
  }

  float* columns(std::int64_t group, std::int64_t first) const {
    return static_cast<float*>(columns_.data()) + (group * s_.outputs + first) * s_.panels->depth();
  }

  void tiles(std::int64_t first, std::int64_t last, ConvRun* runs) const {
    const ConvLoops& l = conv_loops();
    const bool narrow = s_.is_narrow();
    const std::int64_t row = narrow ? 1 : l.cols, step = narrow ? l.dot_cols : l.cols;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      Rows rows(s_, reach_, first);
      for (std::int64_t p = first; p < last; p += kConvRows) {
        const int height = static_cast<int>(std::min<std::int64_t>(kConvRows, last - p));
        rows.take(height);
        std::int64_t count = 0;
        for (const Segment& segment : blocks_[b]) {
          runs[count].b = (segment.tap->weights + segment.from) * row;
          runs[count].depth = segment.depth;
          if (rows.read(*segment.tap, segment.from, zeros_.data(), runs[count])) ++count;
        }
        float* out[kConvRows];
        for (std::int64_t g = 0; g < s_.groups; ++g)
          for (std::int64_t j = 0; j < s_.outputs; j += step) {
            for (int r = 0; r < kConvRows; ++r) out[r] = rows.out[r] + g * s_.outputs + j;
            const float* const start = s_.bias == nullptr || b > 0 ? nullptr : s_.bias + g * s_.outputs + j;
            const float* const weights = narrow ? columns(g, j) : s_.panels->panel(g, j);
            (narrow ? l.dots : l.tile)({runs, count, 1, g * s_.depth, weights, s_.panels->depth(), out, start, b > 0},
                                       height, static_cast<int>(std::min(step, s_.outputs - j)));
          }
        if (b + 1 == blocks_.size())
          for (int r = 0; r < height; ++r) activate(s_.activation, rows.out[r], s_.groups * s_.outputs);
      }
    }
  }

  /// With a group for each channel.
  void channels(std::int64_t first, std::int64_t last, ConvRun* runs) const {
    const ConvLoops& l = conv_loops();
    Rows rows(s_, reach_, first);
    for (std::int64_t p = first; p < last; p += kConvRows) {
      const int height = static_cast<int>(std::min<std::int64_t>(kConvRows, last - p));
      rows.take(height);
      std::int64_t count = 0;
      for (const Tap& tap : s_.taps) {
        runs[count].b = tap.weights * s_.groups;
        if (rows.read(tap, 0, zeros_.data(), runs[count])) ++count;
      }
      l.channels({runs, count, 1, 0, s_.panels->data(), 0, rows.out, s_.bias, false}, height, s_.groups);
      for (int r = 0; r < height; ++r) activate(s_.activation, rows.out[r], s_.groups);
    }
  }

  const Sweep& s_;
  const Reach reach_;
  std::vector<float> zeros_;
  Buffer columns_;  // of narrow ones
  std::vector<std::vector<Segment>> blocks_;
  std::size_t most_runs_ = 0;
};

bool is_empty(const View& a, const View& b, const View& c) {
  return a.numel() == 0 || b.numel() == 0 || c.numel() == 0;
}

}  // namespace

bool library::conv_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                           Activation activation) {
  if (x.dtype() != DType::float32 || is_empty(x, w, y)) return false;
  const ConvWeights weights(w, w.shape(), params.groups);
  const ConvPanels panels = packed_for_outputs(weights);
  const WideImages wide(params, x, w.shape());
  Sweep s{wide.images,
          ChannelsLast(y),
          params.groups,
          wide.taps_joined * weights.inner,
          weights.outer,
          y.shape()[2],
          y.shape()[3],
          {params.stride[0], params.stride[1]},
          {1, 1},
          {0, 0},
          {},
          &panels,
          bias.defined() ? static_cast<const float*>(bias.raw_data()) : nullptr,
          activation};
  for (std::int64_t i = 0; i < w.shape()[2]; ++i)
    for (std::int64_t j = 0; j < w.shape()[3]; j += wide.taps_joined)
      s.taps.push_back({i * params.dilation[0] - params.padding[0], j * params.dilation[1] - wide.padding,
                        (i * w.shape()[3] + j) * weights.inner});
  Sweeper(s).run();
  return true;
}

bool library::conv_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  if (grad.dtype() != DType::float32 || is_empty(grad, w, grad_x)) return false;
  const ConvWeights weights(w, w.shape(), params.groups);
  const ConvPanels panels = packed_for_inputs(weights);
  const std::int64_t *const stride = params.stride, height = grad_x.shape()[2], width = grad_x.shape()[3];
  for (std::int64_t first_row = 0; first_row < std::min(stride[0], height); ++first_row)
    for (std::int64_t first_col = 0; first_col < std::min(stride[1], width); ++first_col) {
      Sweep s{ChannelsLast(grad),
              ChannelsLast(grad_x),
              params.groups,
              weights.outer,
              weights.inner,
              (height - first_row + stride[0] - 1) / stride[0],
              (width - first_col + stride[1] - 1) / stride[1],
              {1, 1},
              {stride[0], stride[1]},
              {first_row, first_col},
              {},
              &panels};
      for (std::int64_t i = 0; i < w.shape()[2]; ++i)
        for (std::int64_t j = 0; j < w.shape()[3]; ++j) {
          const std::int64_t row = first_row + params.padding[0] - i * params.dilation[0],
                             col = first_col + params.padding[1] - j * params.dilation[1];
          if (row % stride[0] == 0 && col % stride[1] == 0)
            s.taps.push_back({row / stride[0], col / stride[1], (i * w.shape()[3] + j) * weights.outer});
        }
      Sweeper(s).run();
    }
  return true;
}

std::vector<std::string> library::conv_names(ConvDirection, DType dtype, const Conv2dParams& params, const Shape&,
                                             const Shape& w, const Shape&) {
  if (dtype != DType::float32) return {};
  return {params.groups > 1 && params.groups == w[0] && w[1] == 1 ? "own: channels" : "own: tiles"};
}

}  // namespace minnow::cpu
