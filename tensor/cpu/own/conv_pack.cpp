#include <minnow/tensor/cpu/own/conv_pack.h>

#include <algorithm>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {
namespace {

std::int64_t panels_of(std::int64_t columns) { return (columns + conv_loops().cols - 1) / conv_loops().cols; }

/// Calls f(group, first column, columns of the panel, room) for each panel, in parallel.
template <class F> void each_panel(std::int64_t groups, std::int64_t columns, std::int64_t room, const F& f) {
  const std::int64_t n = panels_of(columns), step = conv_loops().cols;
  for_each_part(groups * n, static_cast<std::size_t>(room) * sizeof(float), [&](std::int64_t i, char* own) {
    const std::int64_t first = i % n * step;
    f(i / n, first, std::min(step, columns - first), reinterpret_cast<float*>(own));
  });
}

/// Input channels at a time: those whose transposed weights stay in the first-level cache.
std::int64_t chunk_of(const ConvWeights& w) { return std::clamp<std::int64_t>(128 / w.taps, 1, w.inner); }

/// Calls f(place in [channels, taps, cols], row of a panel), for some inner channels from the first on.
template <class T, class F>
void each_row(const ConvWeights& w, T* panel, std::int64_t first, std::int64_t channels, const F& f) {
  const int cols = conv_loops().cols;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < w.taps; ++t) f((c * w.taps + t) * cols, panel + (t * w.inner + first + c) * cols);
}

ConvPanels packed_channels(const ConvWeights& w) {
  ConvPanels to(1, w.taps, w.groups);
  loops().transpose(w.data, w.taps, to.data(), w.groups, w.taps, w.groups);
  return to;
}

bool is_joined(const Conv2dParams& params, const Shape& w) {
  constexpr std::int64_t kFewChannels = 16;
  return params.groups == 1 && params.dilation[1] == 1 && w[3] > 1 && w[1] < kFewChannels;
}

}  // namespace

ConvPanels::ConvPanels(std::int64_t groups, std::int64_t depth, std::int64_t columns)
    : cols_(conv_loops().cols),
      per_group_(panels_of(columns)),
      size_(depth * cols_),
      memory_(static_cast<std::size_t>(groups * per_group_ * size_) * sizeof(float)) {}

ConvPanels packed_for_outputs(const ConvWeights& w) {
  if (w.is_channelwise()) return packed_channels(w);
  ConvPanels to(w.groups, w.taps * w.inner, w.outer);
  const std::int64_t chunk = chunk_of(w), cols = conv_loops().cols;
  each_panel(w.groups, w.outer, chunk * w.taps * cols,
             [&](std::int64_t g, std::int64_t first, std::int64_t n, float* own) {
               const float* const from = w.data + (g * w.outer + first) * w.inner * w.taps;
               std::fill_n(own, chunk * w.taps * cols, 0.0f);  // the columns from n on
               for (std::int64_t c = 0; c < w.inner; c += chunk) {
                 const std::int64_t some = std::min(chunk, w.inner - c);
                 loops().transpose(from + c * w.taps, w.inner * w.taps, own, cols, some * w.taps, n);
                 each_row(w, to.panel(g, first), c, some,
                          [&](std::int64_t row, float* in_panel) { std::copy_n(own + row, cols, in_panel); });
               }
             });
  return to;
}

void unpack_outputs(const float* panels, const ConvWeights& to) {
  const std::int64_t chunk = chunk_of(to), cols = conv_loops().cols, n_panels = panels_of(to.outer);
  if (to.is_channelwise()) return loops().transpose(panels, to.groups, to.data, to.taps, to.groups, to.taps);
  each_panel(to.groups, to.outer, chunk * to.taps * cols,
             [&](std::int64_t g, std::int64_t first, std::int64_t n, float* own) {
               const float* const from = panels + (g * n_panels + first / cols) * to.taps * to.inner * cols;
               float* const w = to.data + (g * to.outer + first) * to.inner * to.taps;
               for (std::int64_t c = 0; c < to.inner; c += chunk) {
                 const std::int64_t some = std::min(chunk, to.inner - c);
                 each_row(to, from, c, some,
                          [&](std::int64_t row, const float* in_panel) { std::copy_n(in_panel, cols, own + row); });
                 loops().transpose(own, cols, w + c * to.taps, to.inner * to.taps, n, some * to.taps);
               }
             });
}

ConvPanels packed_for_inputs(const ConvWeights& w) {
  if (w.is_channelwise()) return packed_channels(w);
  ConvPanels to(w.groups, w.taps * w.outer, w.inner);
  const std::int64_t cols = conv_loops().cols;
  each_panel(w.groups, w.inner, 0, [&](std::int64_t g, std::int64_t first, std::int64_t n, float*) {
    float* const panel = to.panel(g, first);
    if (n < cols) std::fill_n(panel, w.taps * w.outer * cols, 0.0f);
    for (std::int64_t o = 0; o < w.outer; ++o)
      loops().transpose(w.data + ((g * w.outer + o) * w.inner + first) * w.taps, w.taps, panel + o * cols,
                        w.outer * cols, w.taps, n);
  });
  return to;
}

WideImages::WideImages(const Conv2dParams& params, const View& x, const Shape& w)
    : copy(is_joined(params, w) && params.padding[1] > 0
               ? static_cast<std::size_t>(x.nbytes() / x.shape()[3] * (x.shape()[3] + 2 * params.padding[1]))
               : 0),
      images(x),
      padding(params.padding[1]) {
  if (!is_joined(params, w)) return;
  taps_joined = w[3];
  if (padding == 0) return;
  const ChannelsLast from(x);
  const std::int64_t line = from.cols * from.channels, side = padding * from.channels;
  images.data = static_cast<float*>(copy.data());
  images.cols += 2 * padding;
  padding = 0;
  parallel_for(from.images * from.rows, 2 * static_cast<std::int64_t>(x.nbytes()), [&](std::int64_t i) {
    float* const to = images.data + i * (line + 2 * side);
    std::fill_n(to, side, 0.0f);
    std::copy_n(from.data + i * line, line, to + side);
    std::fill_n(to + side + line, side, 0.0f);
  });
}

}  // namespace minnow::cpu
