#include <algorithm>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/convolution/window.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/own/conv_pack.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/kernels/reduce.h>

// The gradient of a convolution's weights: for each tap, products of channels of x with channels of the gradient,
// summed over the positions.  Six channels of x are the rows of a tile, and a line of positions is a run; the
// gradient's lines are packed.

namespace minnow::cpu {
namespace {

constexpr std::int64_t kPositions = 256;  // of packed lines, about
constexpr std::int64_t kChannels = 96;    // of x, in an item

class WeightSums {
 public:
  WeightSums(const Conv2dParams& params, const WideImages& x, const ChannelsLast& grad, const ConvWeights& w,
             const Shape& shape)
      : x_(x.images),
        grad_(grad),
        w_(w),
        joined_(x.taps_joined),
        rows_{shape[2], params.stride[0], params.padding[0], params.dilation[0], x.images.rows, grad.rows},
        cols_{shape[3], params.stride[1], x.padding, params.dilation[1], x.images.cols, grad.cols},
        lines_(std::clamp<std::int64_t>(kPositions / grad.cols, 1, grad.images * grad.rows)),
        depth_(joined_ * w.inner),
        chunks_((depth_ + kChannels - 1) / kChannels),
        panels_((w.outer + l_.cols - 1) / l_.cols) {}

  /// Of the sums in panels.
  std::int64_t floats() const { return w_.is_channelwise() ? w_.taps * w_.groups : w_.groups * panels_ * panel_size(); }
  /// Of few weights all sums are an item: then x and the gradient are read once.
  bool is_whole() const { return floats() <= 1 << 18; }
  std::int64_t items() const { return is_whole() ? 1 : w_.groups * panels_ * chunks_; }
  std::int64_t lines() const { return grad_.images * grad_.rows; }
  std::size_t scratch_bytes() const {
    if (w_.is_channelwise()) return 64;
    return static_cast<std::size_t>(lines_ * grad_.cols * l_.cols) * sizeof(float) +
           static_cast<std::size_t>(lines_) * sizeof(ConvRun);
  }
  /// The sums of an item over lines [first, end) of the gradient.
  void run(std::int64_t item, std::int64_t first, std::int64_t end, float* sums, char* own) const {
    if (w_.is_channelwise()) return channels(first, end, sums);
    auto* const lines = reinterpret_cast<float*>(own);
    auto* const runs = reinterpret_cast<ConvRun*>(lines + lines_ * grad_.cols * l_.cols);
    const std::int64_t chunk = item % chunks_;
    const Range panels = is_whole() ? Range{0, w_.groups * panels_} : Range{item / chunks_, item / chunks_ + 1};
    const Range channels =
        is_whole() ? Range{0, depth_} : Range{chunk * kChannels, std::min(depth_, (chunk + 1) * kChannels)};
    for (std::int64_t at = first; at < end; at += lines_)
      for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
        const Place place{at, std::min(end, at + lines_), panel / panels_, panel % panels_ * l_.cols, at > first};
        add_panel(place, channels, lines, sums + panel * panel_size(), runs);
      }
  }

 private:
  /// Some lines of the gradient, a group, the first of its outputs, and whether sums of other lines are there.
  struct Place {
    std::int64_t first, last, group, output;
    bool more;
  };

  std::int64_t panel_size() const { return w_.taps * w_.inner * l_.cols; }
  /// What tap i reads for a line of the gradient, if it is not padding.
  const float* line_of(std::int64_t line, std::int64_t i, std::int64_t j) const {
    const std::int64_t row = rows_.input(line % grad_.rows, i);
    if (!rows_.inside(row)) return nullptr;
    return x_.at(line / grad_.rows, row, cols_.input(cols_.first(j), j));
  }
  /// The positions of a line for which tap j is not padding: [cols_.first(j), last(j)).
  std::int64_t last(std::int64_t j) const { return std::max(cols_.first(j), cols_.last(j)); }

  void pack(std::int64_t first, std::int64_t last, std::int64_t channel, std::int64_t n, float* to) const {
    const int cols = l_.cols;
    const float* from = grad_.data + first * grad_.cols * grad_.channels + channel;
    const std::int64_t read = (n + 15) / 16 * 16;  // whole vectors
    for (std::int64_t p = 0; p < (last - first) * grad_.cols; ++p, from += grad_.channels, to += cols) {
      std::copy_n(from, n, to);
      std::fill(to + n, to + std::min<std::int64_t>(cols, read), 0.0f);
    }
  }

  void add_panel(const Place& p, Range channels, float* lines, float* sums, ConvRun* runs) const {
    const std::int64_t outputs = std::min<std::int64_t>(l_.cols, w_.outer - p.output);
    pack(p.first, p.last, p.group * w_.outer + p.output, outputs, lines);
    for (std::int64_t i = 0; i < rows_.kernel; ++i)
      for (std::int64_t j = 0; j < cols_.kernel; j += joined_) {
        float* const tap = sums + (i * cols_.kernel + j) * w_.inner * l_.cols;
        std::int64_t used = 0;
        for (std::int64_t c = channels.begin; c < channels.end; c += kConvRows) {
          const int height = static_cast<int>(std::min<std::int64_t>(kConvRows, channels.end - c));
          const bool is_short = height < kConvRows;
          if (c == channels.begin || is_short)
            used = read(p, i, j, p.group * w_.inner + (is_short ? c : channels.begin), height, runs);
          float* out[kConvRows];
          for (int r = 0; r < kConvRows; ++r) out[r] = tap + (c + r) * l_.cols;
          const std::int64_t from = is_short ? 0 : c - channels.begin;
          l_.tile({runs, used, cols_.stride * x_.channels, from, lines, 0, out, nullptr, p.more}, height,
                  static_cast<int>(outputs));
        }
      }
  }

  /// The runs of some lines of x for a tap, from a channel on; returns how many they are.
  std::int64_t read(const Place& p, std::int64_t i, std::int64_t j, std::int64_t channel, int height,
                    ConvRun* runs) const {
    const std::int64_t left = cols_.first(j), count = last(j) - left;
    std::int64_t used = 0;
    for (std::int64_t line = p.first; line < p.last && count > 0; ++line) {
      const float* const x = line_of(line, i, j);
      if (x == nullptr) continue;
      ConvRun& run = runs[used++];
      for (int r = 0; r < kConvRows; ++r) run.rows[r] = x + channel + std::min(r, height - 1);
      run.b = ((line - p.first) * grad_.cols + left) * l_.cols;
      run.depth = count;
    }
    return used;
  }

  /// With a group for each channel.  sums: [taps, groups].
  void channels(std::int64_t first, std::int64_t end, float* sums) const {
    std::fill_n(sums, w_.taps * w_.groups, 0.0f);
    for (std::int64_t line = first; line < end; ++line)
      for (std::int64_t i = 0; i < rows_.kernel; ++i)
        for (std::int64_t j = 0; j < cols_.kernel; ++j) {
          const std::int64_t left = cols_.first(j), count = last(j) - left;
          const float* const x = count > 0 ? line_of(line, i, j) : nullptr;
          if (x != nullptr)
            l_.channel_sums(x, cols_.stride * x_.channels, grad_.data + (line * grad_.cols + left) * grad_.channels,
                            count, sums + (i * cols_.kernel + j) * w_.groups, w_.groups);
        }
  }

  const ConvLoops& l_ = conv_loops();
  const ChannelsLast x_, grad_;
  const ConvWeights w_;
  const std::int64_t joined_;
  const Window rows_, cols_;
  const std::int64_t lines_, depth_, chunks_, panels_;
};

/// The sums of the gradient over the positions.
void sum_bias(const View& grad, const View& grad_bias) {
  const std::int64_t channels = grad.shape()[1], positions = grad.numel() / channels;
  const View rows(grad.storage(), grad.dtype(), {1, positions, channels}, {positions * channels, channels, 1},
                  grad.storage_offset());
  const View sums = scratch({1, channels}, grad.dtype());
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>, rows, sums});
  convert(View(sums.storage(), sums.dtype(), {channels}, {1}), grad_bias);
}

}  // namespace

bool library::conv_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const Shape& shape,
                                   const View& grad_w, const View& grad_bias) {
  if (x.dtype() != DType::float32 || x.numel() == 0 || grad.numel() == 0 || shape.numel() == 0) return false;
  const bool direct = grad_w.is_contiguous() && grad_w.shape() == shape && grad_w.dtype() == DType::float32;
  const View out = direct ? grad_w : scratch(shape, DType::float32);
  const ConvWeights weights(out, shape, params.groups);
  const WideImages images(params, x, shape);
  const WeightSums work(params, images, ChannelsLast(grad), weights, shape);

  // Lines are divided too where there are few items, by sizes only.
  constexpr std::int64_t kItems = 16, kMinLines = 8;
  const ConvParts parts = cut_into(
      work.lines(), std::min((kItems + work.items() - 1) / work.items(), work.lines() / kMinLines), shape.numel());
  const std::int64_t floats = work.floats();
  const Buffer sums(static_cast<std::size_t>(parts.count * floats) * sizeof(float));
  auto* const all = static_cast<float*>(sums.data());
  for_each_part(parts.count * work.items(), work.scratch_bytes(), [&](std::int64_t i, char* own) {
    const std::int64_t p = i % parts.count;
    work.run(i / parts.count, parts[p].first, parts[p].first + parts[p].size, all + p * floats, own);
  });
  if (parts.count > 1)
    parallel_blocks(floats, 4096, parts.count * floats * 4, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t p = 1; p < parts.count; ++p)
        for (std::int64_t i = from; i < to; ++i) all[i] += all[p * floats + i];
    });
  unpack_outputs(all, weights);
  if (!direct) convert(first_slices(out, 1, grad_w.shape()[1]), grad_w);
  if (grad_bias.defined()) sum_bias(grad, grad_bias);
  return true;
}

}  // namespace minnow::cpu
