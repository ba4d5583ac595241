#pragma once

#include <cstdint>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/own/conv_loops.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// Channels-last activations of float32.
struct ChannelsLast {
  float* data;
  std::int64_t images, rows, cols, channels;

  explicit ChannelsLast(const View& t)
      : data(static_cast<float*>(t.raw_data())),
        images(t.shape()[0]),
        rows(t.shape()[2]),
        cols(t.shape()[3]),
        channels(t.shape()[1]) {}
  float* at(std::int64_t image, std::int64_t row, std::int64_t col) const {
    return data + ((image * rows + row) * cols + col) * channels;
  }
};

/// The weights of a convolution: [groups * outer, inner, taps], row-major.
struct ConvWeights {
  float* data;
  std::int64_t groups, outer, inner, taps;

  ConvWeights(const View& w, const Shape& s, std::int64_t count)
      : data(static_cast<float*>(w.raw_data())), groups(count), outer(s[0] / count), inner(s[1]), taps(s[2] * s[3]) {}
  /// A group for each channel, with one output.
  bool is_channelwise() const { return groups > 1 && outer == 1 && inner == 1; }
};

/// For each group and each ConvLoops::cols columns a matrix with these columns.
class ConvPanels {
 public:
  ConvPanels(std::int64_t groups, std::int64_t depth, std::int64_t columns);
  float* panel(std::int64_t group, std::int64_t column) const { return data() + offset(group, column); }
  std::int64_t offset(std::int64_t group, std::int64_t column) const {
    return (group * per_group_ + column / cols_) * size_;
  }
  float* data() const { return static_cast<float*>(memory_.data()); }
  std::int64_t depth() const { return size_ / cols_; }

 private:
  std::int64_t cols_, per_group_, size_;
  Buffer memory_;
};

/// Rows [taps, inner], columns: outer.  With a group for each channel: one matrix [taps, groups].
ConvPanels packed_for_outputs(const ConvWeights& w);
/// Rows [taps, outer], columns: inner.  With a group for each channel: as for outputs.
ConvPanels packed_for_inputs(const ConvWeights& w);
/// The reverse of packed_for_outputs().
void unpack_outputs(const float* panels, const ConvWeights& to);

/// The images that a convolution reads.  Where the channels are few, all taps of a row of the window are joined to one,
/// because they lie beside each other; then the images are copied with their padding on the left and right.
struct WideImages {
  Buffer copy;
  ChannelsLast images;
  std::int64_t taps_joined = 1, padding;  ///< padding: columns that are not in the images

  WideImages(const Conv2dParams& params, const View& x, const Shape& w);
};

}  // namespace minnow::cpu
