#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

template <class F> SampleCall pooled_by(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}

template <class Size, class F> SampleCall max_pool_by(F f) {
  return [f](const X& x) {
    const MinMax y = f(x.tensor(0), x.size<Size>(1, "kernel_size", 1),
                       MaxPoolOptions<Size>{.stride = x.size<Size>(2, "stride", 0),
                                            .padding = x.size<Size>(3, "padding", 0),
                                            .dilation = x.size<Size>(4, "dilation", 1),
                                            .ceil_mode = x.flag(5, "ceil_mode", false)});
    if (x.flag(6, "return_indices", false)) return std::vector{y.values, y.indices};
    return std::vector{y.values};
  };
}
template <class Size, class F> SampleCall avg_pool_by(F f) {
  return pooled_by([f](const X& x) {
    return f(x.tensor(0), x.size<Size>(1, "kernel_size", 1),
             AvgPoolOptions<Size>{.stride = x.size<Size>(2, "stride", 0),
                                  .padding = x.size<Size>(3, "padding", 0),
                                  .ceil_mode = x.flag(4, "ceil_mode", false),
                                  .count_include_pad = x.flag(5, "count_include_pad", true),
                                  .divisor_override = x.integer(6, "divisor_override", 0)});
  });
}
/// The sizes that are None are those of x.
template <class Size> Size output_size(const X& x) {
  const SampleValue& v = x.value(1, "output_size");
  if (v.kind == SampleValue::Kind::kList && v.items.empty()) throw NoForm();
  std::vector<std::int64_t> n;
  const std::size_t rank = std::is_same_v<Size, Pair> ? 2 : std::is_same_v<Size, Triple> ? 3 : 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const SampleValue& item = v.kind == SampleValue::Kind::kList ? v.items.at(v.items.size() == 1 ? 0 : i) : v;
    n.push_back(item.kind == SampleValue::Kind::kNone ? x.tensor(0).size(static_cast<int>(i) - static_cast<int>(rank))
                                                      : static_cast<std::int64_t>(item.number));
  }
  if constexpr (std::is_same_v<Size, Pair>) return Pair(n[0], n[1]);
  else if constexpr (std::is_same_v<Size, Triple>) return Triple(n[0], n[1], n[2]);
  else return n[0];
}
template <class Size, class F> SampleCall adaptive_by(F f) {
  return [f](const X& x) {
    if constexpr (std::is_same_v<decltype(f(x.tensor(0), output_size<Size>(x))), MinMax>) {
      const MinMax y = f(x.tensor(0), output_size<Size>(x));
      if (x.flag(2, "return_indices", false)) return std::vector{y.values, y.indices};
      return std::vector{y.values};
    } else {
      return std::vector<Tensor>{f(x.tensor(0), output_size<Size>(x))};
    }
  };
}
template <class Size, class F> SampleCall unpool_by(F f) {
  return pooled_by([f](const X& x) {
    std::vector<std::int64_t> size = x.integers(9, "output_size");
    const std::size_t rank = std::is_same_v<Size, Pair> ? 2 : std::is_same_v<Size, Triple> ? 3 : 1;
    if (size.size() > rank) size.erase(size.begin(), size.end() - static_cast<std::ptrdiff_t>(rank));
    Size output = 0;
    if (!size.empty()) {
      if constexpr (std::is_same_v<Size, Pair>) output = Pair(size[0], size[1]);
      else if constexpr (std::is_same_v<Size, Triple>) output = Triple(size[0], size[1], size[2]);
      else output = size[0];
    }
    return f(
        x.tensor(0), x.tensor(1), x.size<Size>(9, "kernel_size", 1),
        MaxUnpoolOptions<Size>{
            .stride = x.size<Size>(9, "stride", 0), .padding = x.size<Size>(9, "padding", 0), .output_size = output});
  });
}

template <class T> EachDimension<T> each(const X& x, std::size_t at, const char* name) {
  EachDimension<T> result;
  const SampleValue& v = x.value(at, name);
  if (v.kind == SampleValue::Kind::kNone) return result;
  if (v.kind != SampleValue::Kind::kList) return EachDimension<T>(static_cast<T>(v.number));
  for (const SampleValue& item : v.items) {
    if (result.count < 3) result.values[result.count] = static_cast<T>(item.number);
    ++result.count;
  }
  return result;
}
Interpolation mode_of(const std::string& name) {
  static const std::map<std::string, Interpolation> kModes = {
      {"nearest", Interpolation::nearest}, {"nearest-exact", Interpolation::nearest_exact},
      {"linear", Interpolation::linear},   {"bilinear", Interpolation::bilinear},
      {"bicubic", Interpolation::bicubic}, {"trilinear", Interpolation::trilinear},
      {"area", Interpolation::area}};
  const auto found = kModes.find(name);
  if (found == kModes.end()) throw NoForm();
  return found->second;
}
SampleCall resized_by(const char* by_default, bool align_corners = false) {
  return pooled_by([=](const X& x) {
    if (x.flag(5, "recompute_scale_factor", false)) throw NoForm();
    InterpolateOptions options;
    options.size = each<std::int64_t>(x, 1, "size");
    options.scale_factor = each<double>(x, 2, "scale_factor");
    options.mode = mode_of(x.text(3, "mode", by_default));
    options.align_corners = x.flag(4, "align_corners", align_corners);
    return interpolate(x.tensor(0), options);
  });
}

const SampleCalls kPool = {
    {"nn.functional.max_pool1d", max_pool_by<std::int64_t>(max_pool1d_with_indices)},
    {"nn.functional.max_pool2d", max_pool_by<Pair>(max_pool2d_with_indices)},
    {"nn.functional.max_pool3d", max_pool_by<Triple>(max_pool3d_with_indices)},
    {"nn.functional.avg_pool1d", avg_pool_by<std::int64_t>(avg_pool1d)},
    {"nn.functional.avg_pool2d", avg_pool_by<Pair>(avg_pool2d)},
    {"nn.functional.avg_pool3d", avg_pool_by<Triple>(avg_pool3d)},
    {"nn.functional.adaptive_avg_pool1d", adaptive_by<std::int64_t>(adaptive_avg_pool1d)},
    {"nn.functional.adaptive_avg_pool2d", adaptive_by<Pair>(adaptive_avg_pool2d)},
    {"nn.functional.adaptive_avg_pool3d", adaptive_by<Triple>(adaptive_avg_pool3d)},
    {"nn.functional.adaptive_max_pool1d", adaptive_by<std::int64_t>(adaptive_max_pool1d_with_indices)},
    {"nn.functional.adaptive_max_pool2d", adaptive_by<Pair>(adaptive_max_pool2d_with_indices)},
    {"nn.functional.adaptive_max_pool3d", adaptive_by<Triple>(adaptive_max_pool3d_with_indices)},
    {"nn.functional.max_unpool1d", unpool_by<std::int64_t>(max_unpool1d)},
    {"nn.functional.max_unpool2d", unpool_by<Pair>(max_unpool2d)},
    {"nn.functional.max_unpool3d", unpool_by<Triple>(max_unpool3d)},
    {"nn.functional.pixel_shuffle",
     pooled_by([](const X& x) { return pixel_shuffle(x.tensor(0), x.integer(1, "upscale_factor", 1)); })},
    {"nn.functional.pixel_unshuffle",
     pooled_by([](const X& x) { return pixel_unshuffle(x.tensor(0), x.integer(1, "downscale_factor", 1)); })},
    {"nn.functional.channel_shuffle",
     pooled_by([](const X& x) { return channel_shuffle(x.tensor(0), x.integer(1, "groups", 1)); })},
    {"nn.functional.unfold", pooled_by([](const X& x) {
       UnfoldOptions options;
       options.dilation = x.size<Pair>(2, "dilation", 1);
       options.padding = x.size<Pair>(3, "padding", 0);
       options.stride = x.size<Pair>(4, "stride", 1);
       return unfold(x.tensor(0), x.size<Pair>(1, "kernel_size", 1), options);
     })},
    {"nn.functional.interpolate/nearest", resized_by("nearest")},
    {"nn.functional.interpolate/nearest-exact", resized_by("nearest-exact")},
    {"nn.functional.interpolate/linear", resized_by("linear")},
    {"nn.functional.interpolate/bilinear", resized_by("bilinear")},
    {"nn.functional.interpolate/bicubic", resized_by("bicubic")},
    {"nn.functional.interpolate/trilinear", resized_by("trilinear")},
    {"nn.functional.interpolate/area", resized_by("area")},
    {"nn.functional.upsample_bilinear", resized_by("bilinear", true)},
    {"nn.functional.upsample_nearest", resized_by("nearest")},
    {"nn.functional.grid_sample", pooled_by([](const X& x) {
       const std::string padding = x.text(3, "padding_mode", "zeros");
       return grid_sample(x.tensor(0), x.tensor(1),
                          {.mode = mode_of(x.text(2, "mode", "bilinear")),
                           .padding_mode = padding == "zeros"    ? GridPadding::zeros
                                           : padding == "border" ? GridPadding::border
                                                                 : GridPadding::reflection,
                           .align_corners = x.flag(4, "align_corners", false)});
     })},
};

template <class Size> ConvPadding<Size> padding_of(const X& x) {
  if (x.value(4, "padding").kind != SampleValue::Kind::kText) return x.size<Size>(4, "padding", 0);
  return x.text(4, "padding", "") == "same" ? Padding::same : Padding::valid;
}
template <class Size, class F> SampleCall conv_by(F f) {
  return pooled_by([f](const X& x) {
    ConvFuncOptions<Size> options;
    options.stride = x.size<Size>(3, "stride", 1);
    options.padding = padding_of<Size>(x);
    options.dilation = x.size<Size>(5, "dilation", 1);
    options.groups = x.integer(6, "groups", 1);
    return f(x.tensor(0), x.tensor(1, "weight"), x.tensor(2, "bias"), options);
  });
}
template <class Size, class F> SampleCall transposed_by(F f) {
  return pooled_by([f](const X& x) {
    return f(x.tensor(0), x.tensor(1, "weight"), x.tensor(2, "bias"),
             ConvTransposeFuncOptions<Size>{.stride = x.size<Size>(3, "stride", 1),
                                            .padding = x.size<Size>(4, "padding", 0),
                                            .output_padding = x.size<Size>(5, "output_padding", 0),
                                            .groups = x.integer(6, "groups", 1),
                                            .dilation = x.size<Size>(7, "dilation", 1)});
  });
}

const SampleCalls kConv = {
    {"nn.functional.conv1d", conv_by<std::int64_t>(conv1d)},
    {"nn.functional.conv2d", conv_by<Pair>(conv2d)},
    {"nn.functional.conv3d", conv_by<Triple>(conv3d)},
    {"nn.functional.conv_transpose1d", transposed_by<std::int64_t>(conv_transpose1d)},
    {"nn.functional.conv_transpose2d", transposed_by<Pair>(conv_transpose2d)},
    {"nn.functional.conv_transpose3d", transposed_by<Triple>(conv_transpose3d)},
    {"nn.functional.batch_norm", pooled_by([](const X& x) {
       const BatchNormFuncOptions options{.training = x.flag(5, "training", false),
                                          .momentum = x.number(6, "momentum", 0.1),
                                          .eps = x.number(7, "eps", 1e-5)};
       // A sample's numbers are written to where it trains.
       const Tensor mean = x.tensor(1, "running_mean"), var = x.tensor(2, "running_var");
       return batch_norm(x.tensor(0), mean.defined() ? mean.clone() : mean, var.defined() ? var.clone() : var,
                         x.tensor(3, "weight"), x.tensor(4, "bias"), options);
     })},
    {"nn.functional.instance_norm", pooled_by([](const X& x) {
       if (!x.flag(5, "use_input_stats", true)) throw NoForm();
       // Running numbers do not affect the result.
       (void)(x.has(1, "running_mean") || x.has(2, "running_var") || x.has(6, "momentum"));
       (void)x.has(2, "running_var");
       (void)x.has(6, "momentum");
       return instance_norm(x.tensor(0), x.tensor(3, "weight"), x.tensor(4, "bias"), x.number(7, "eps", 1e-5));
     })},
    {"nn.functional.group_norm", pooled_by([](const X& x) {
       return group_norm(x.tensor(0), x.integer(1, "num_groups", 1), x.tensor(2, "weight"), x.tensor(3, "bias"),
                         x.number(4, "eps", 1e-5));
     })},
    {"nn.functional.layer_norm", pooled_by([](const X& x) {
       return layer_norm(x.tensor(0), Shape(x.integers(1, "normalized_shape")), x.tensor(2, "weight"),
                         x.tensor(3, "bias"), x.number(4, "eps", 1e-5));
     })},
    {"nn.functional.rms_norm", pooled_by([](const X& x) {
       const std::optional<double> eps = x.has(3, "eps") ? std::optional(x.number(3, "eps", 0)) : std::nullopt;
       return rms_norm(x.tensor(0), Shape(x.integers(1, "normalized_shape")), x.tensor(2, "weight"), eps);
     })},
    {"nn.functional.local_response_norm", pooled_by([](const X& x) {
       return local_response_norm(
           x.tensor(0), x.integer(1, "size", 1),
           {.alpha = x.number(2, "alpha", 1e-4), .beta = x.number(3, "beta", 0.75), .k = x.number(4, "k", 1)});
     })},
};

class PoolSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, PoolSamples, all_devices(), device_test_name);

TEST_P(PoolSamples, OfPyTorch) {
  expect_samples("pool", kPool,
                 {{"nn.functional.avg_pool", "divisor_override=0 -> !", "0 is none"},
                  {"nn.functional.max_unpool", "stride=0", "a stride of 0 is the kernel's size"},
                  {"nn.functional.interpolate", "x must be floating-point", "as documented"},
                  {"nn.functional.upsample", "x must be floating-point", "as documented"},
                  {"nn.functional.grid_sample", "of images, bicubic", "there is no bicubic of volumes"},
                  {"nn.functional.grid_sample", " h *", "a place that rounds to another pixel in a half"},
                  {"nn.functional.grid_sample", " e *", "the same"},
                  {"nn.functional.avg_pool", "divisor_override must be positive", "as documented"},
                  {"nn.functional.max_pool", "accepted", "a stride of 0 is the kernel's size, a batch may be empty"}},
                 device());
}
TEST_P(PoolSamples, MisusedNumbers) { misuse_samples("pool", kPool, device()); }
TEST_P(PoolSamples, OfConvolutionsAndNorms) {
  expect_samples("conv", kConv,
                 {{"nn.functional.batch_norm", "momentum must be in", "another momentum makes no average"},
                  {"nn.functional.batch_norm", "x must be [N, C, ...]", "a vector has no channels"},
                  {"nn.functional.", "eps must not be negative", "as documented"},
                  {"nn.functional.group_norm", "accepted", "nothing is normalized in an empty tensor"},
                  {"nn.functional.batch_norm", " h *", "PyTorch's gradient near 0 is one of its halves' rounding"},
                  {"nn.functional.layer_norm", " h *", "the same"},
                  {"nn.functional.batch_norm", " f *f[2,1]", "of two samples only rounding is left"},
                  {"nn.functional.layer_norm", " e *", "the same"},
                  {"nn.functional.layer_norm", " f *~f[1,2]",
                   "two numbers are normalized to 1 and -1: the terms of the gradient cancel"},
                  {"nn.functional.layer_norm", " f *f[1]", "one number is normalized to 0, up to rounding"}},
                 device());
}

TEST_P(PoolSamples, MisusedNumbersOfConvolutionsAndNorms) { misuse_samples("conv", kConv, device()); }

}  // namespace
}  // namespace minnow::test
