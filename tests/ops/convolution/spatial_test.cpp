#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

/// A convolution of some inputs; its golden values are of others.
template <class Options>
OpCase conv(Tensor (*function)(const In&, const In&, const Tensor&, const Options&), const std::string& name,
            const std::string& golden, const Options& options, const Shape& x, const Shape& w, std::int64_t bias) {
  // The bias of a transposed one is added in the results' precision: no sums that cancel out.
  const double low = golden[0] == 't' ? 0 : -0.5;
  Inputs inputs{values(x, low, 0.5), values(w, low, 0.5)}, none = inputs;
  if (bias) inputs.push_back(values({bias}));
  none[0].shape[0] = 0;
  return {.function = name,
          .variant = golden,
          .call = one([=](const Tensors& t) { return function(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), options); }),
          .inputs = {inputs, none},
          .golden = {"conv_forms: " + golden},
          // cuDNN may choose Winograd's or Fourier's transforms: 16 times the tolerance of float32.
          .tolerance_on_cuda =
              golden.find("float64") != std::string::npos ? Tolerance{} : Tolerance{16 * 1.3e-6, 16 * 1e-5},
          .optional_from = 2};
}

OpCases convolutions() {
  const auto line = [](const std::string& golden, const Conv1dFuncOptions& o, const Shape& x, const Shape& w,
                       std::int64_t bias) { return conv(conv1d, "conv1d", golden, o, x, w, bias); };
  const auto image = [](const std::string& golden, const Conv2dFuncOptions& o, const Shape& x, const Shape& w,
                        std::int64_t bias) { return conv(conv2d, "conv2d", golden, o, x, w, bias); };
  const auto volume = [](const std::string& golden, const Conv3dFuncOptions& o, const Shape& x, const Shape& w,
                         std::int64_t bias) { return conv(conv3d, "conv3d", golden, o, x, w, bias); };
  return {
      line("1d/plain", {}, {2, 2, 5}, {3, 2, 2}, 3),
      line("1d/all", {.stride = 2, .padding = 2, .dilation = 2, .groups = 2}, {1, 4, 5}, {2, 2, 3}, 2),
      line("1d/same", {.padding = Padding::same}, {1, 2, 5}, {2, 2, 2}, 2),
      line("1d/same,dilation 3", {.padding = Padding::same, .dilation = 3}, {1, 2, 5}, {2, 2, 2}, 0),
      line("1d/float64", {}, {1, 2, 5}, {2, 2, 2}, 0),
      image("2d/same", {.padding = Padding::same}, {1, 2, 3, 4}, {2, 2, 2, 3}, 2),
      image("2d/same,dilation 1,2", {.padding = Padding::same, .dilation = {1, 2}}, {1, 2, 3, 5}, {2, 2, 2, 2}, 0),
      image("2d/valid", {.padding = Padding::valid}, {1, 2, 3, 4}, {2, 2, 2, 3}, 0),
      volume("3d/plain", {}, {2, 2, 3, 3, 3}, {2, 2, 2, 2, 2}, 2),
      volume("3d/all", {.stride = {2, 1, 2}, .padding = {2, 1, 0}, .dilation = {2, 1, 1}, .groups = 2}, {1, 4, 3, 2, 4},
             {2, 2, 2, 2, 3}, 2),
      volume("3d/same", {.padding = Padding::same}, {1, 1, 2, 3, 3}, {2, 1, 3, 2, 2}, 0),
      volume("3d/1", {}, {1, 2, 2, 2, 3}, {3, 2, 1, 1, 1}, 3),
      volume("3d/float64", {}, {1, 2, 3, 2, 3}, {1, 2, 2, 2, 2}, 0),
  };
}

OpCases transposed() {
  const auto line = [](const std::string& golden, const ConvTranspose1dFuncOptions& o, const Shape& x, const Shape& w,
                       std::int64_t bias) { return conv(conv_transpose1d, "conv_transpose1d", golden, o, x, w, bias); };
  const auto image = [](const std::string& golden, const ConvTranspose2dFuncOptions& o, const Shape& x, const Shape& w,
                        std::int64_t bias) {
    return conv(conv_transpose2d, "conv_transpose2d", golden, o, x, w, bias);
  };
  const auto volume = [](const std::string& golden, const ConvTranspose3dFuncOptions& o, const Shape& x, const Shape& w,
                         std::int64_t bias) {
    return conv(conv_transpose3d, "conv_transpose3d", golden, o, x, w, bias);
  };
  return {
      line("t1d/plain", {}, {2, 2, 3}, {2, 2, 2}, 2),
      line("t1d/all", {.stride = 3, .padding = 1, .output_padding = 2, .groups = 2, .dilation = 2}, {1, 4, 3},
           {4, 2, 3}, 4),
      image("t2d/plain", {}, {2, 2, 2, 3}, {2, 3, 3, 2}, 3),
      image("t2d/no bias", {}, {1, 2, 2, 3}, {2, 2, 2, 2}, 0),
      image("t2d/stride 2,3", {.stride = {2, 3}}, {1, 2, 2, 2}, {2, 2, 2, 2}, 2),
      image("t2d/padding 1,0", {.padding = {1, 0}}, {1, 2, 3, 3}, {2, 2, 2, 2}, 2),
      image("t2d/output_padding 1,0", {.stride = 2, .padding = 1, .output_padding = {1, 0}}, {1, 2, 2, 3}, {2, 2, 3, 2},
            2),
      image("t2d/output_padding of dilation", {.padding = {1, 0}, .output_padding = {1, 2}, .dilation = {2, 3}},
            {1, 2, 2, 3}, {2, 2, 3, 2}, 2),
      image("t2d/groups", {.groups = 2}, {1, 4, 2, 2}, {4, 2, 2, 2}, 4),
      image("t2d/depthwise", {.stride = 2, .groups = 4}, {1, 4, 2, 2}, {4, 1, 2, 2}, 4),
      image("t2d/all", {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2, .dilation = {1, 2}}, {1, 4, 2, 3},
            {4, 2, 3, 2}, 4),
      image("t2d/float64", {.stride = 2}, {1, 2, 2, 3}, {2, 2, 2, 2}, 0),
      volume("t3d/plain", {}, {1, 2, 2, 2, 2}, {2, 2, 2, 2, 2}, 2),
      volume(
          "t3d/all",
          {.stride = {2, 2, 1}, .padding = {1, 0, 1}, .output_padding = {1, 1, 0}, .groups = 2, .dilation = {2, 1, 1}},
          {1, 2, 2, 2, 2}, {2, 1, 3, 2, 2}, 2),
  };
}

OpCase pool(const std::string& function, const std::string& golden, const Function& call, const Shape& x,
            double low = 0.3) {
  OpCase c{.function = function, .variant = golden, .call = call};
  Shape none = x;
  none[0] = 0;
  c.inputs = {{values(x, low, low + 1)}, {values(none)}};
  c.golden = {"pool_forms: " + golden};
  return c;
}

Function both(const std::function<MinMax(const Tensor&)>& f) {
  return [f](const Tensors& x) {
    const MinMax found = f(x[0]);
    return Tensors{found.values, found.indices};
  };
}

OpCases pools() {
  const Shape line{2, 2, 5}, image{1, 2, 5, 4}, volume{1, 2, 3, 5, 4};
  OpCases cases{
      pool("max_pool1d", "max1d/2", one([](const Tensors& x) { return max_pool1d(x[0], 2); }), line),
      pool("max_pool1d", "max1d/3,stride 2,padding 1",
           one([](const Tensors& x) { return max_pool1d(x[0], 3, {.stride = 2, .padding = 1}); }), line),
      pool("max_pool1d", "max1d/2,stride 3,dilation 2,ceil", one([](const Tensors& x) {
             return max_pool1d(x[0], 2, {.stride = 3, .padding = 1, .dilation = 2, .ceil_mode = true});
           }),
           line),
      pool("max_pool1d_with_indices", "max1d/indices", both([](const Tensor& x) {
             return max_pool1d_with_indices(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true});
           }),
           line),
      pool("max_pool1d_with_indices", "max1d/ties",
           both([](const Tensor& x) { return max_pool1d_with_indices(x, 3, {.stride = 2}); }), line),
      pool("max_pool2d", "max2d/2", one([](const Tensors& x) { return max_pool2d(x[0], 2); }), image),
      pool("max_pool2d", "max2d/3,stride 2,padding 1",
           one([](const Tensors& x) { return max_pool2d(x[0], 3, {.stride = 2, .padding = 1}); }), image),
      pool("max_pool2d", "max2d/2,stride 3,dilation 2,ceil", one([](const Tensors& x) {
             return max_pool2d(x[0], 2, {.stride = 3, .padding = 1, .dilation = 2, .ceil_mode = true});
           }),
           image),
      pool("max_pool2d_with_indices", "max2d/indices", both([](const Tensor& x) {
             return max_pool2d_with_indices(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true});
           }),
           image),
      pool("max_pool2d_with_indices", "max2d/ties",
           both([](const Tensor& x) { return max_pool2d_with_indices(x, 3, {.stride = 2}); }), image),
      pool("max_pool3d", "max3d/2", one([](const Tensors& x) { return max_pool3d(x[0], 2); }), volume),
      pool("max_pool3d", "max3d/3,stride 2,padding 1",
           one([](const Tensors& x) { return max_pool3d(x[0], 3, {.stride = 2, .padding = 1}); }), volume),
      pool("max_pool3d", "max3d/2,stride 3,dilation 2,ceil", one([](const Tensors& x) {
             return max_pool3d(x[0], 2, {.stride = 3, .padding = 1, .dilation = 2, .ceil_mode = true});
           }),
           volume),
      pool("max_pool3d_with_indices", "max3d/indices", both([](const Tensor& x) {
             return max_pool3d_with_indices(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true});
           }),
           volume),
      pool("max_pool3d_with_indices", "max3d/ties",
           both([](const Tensor& x) { return max_pool3d_with_indices(x, 3, {.stride = 2}); }), volume),
  };
  for (OpCase& c : cases) c.dtypes = numbers();
  return cases;
}

OpCases averages() {
  const Shape line{2, 2, 5}, image{1, 2, 5, 4}, volume{1, 2, 3, 5, 4};
  const AvgPool1dOptions ceil1{.stride = 2, .padding = 1, .ceil_mode = true};
  const AvgPool2dOptions ceil2{.stride = 2, .padding = 1, .ceil_mode = true};
  const AvgPool3dOptions ceil3{.stride = 2, .padding = 1, .ceil_mode = true};
  const auto without_pad = [](auto options) {
    options.count_include_pad = false;
    return options;
  };
  const auto divided = [](auto options) {
    options.divisor_override = 5;
    return options;
  };
  const auto of_lines = [](std::int64_t kernel, const AvgPool1dOptions& o) {
    return one([=](const Tensors& x) { return avg_pool1d(x[0], kernel, o); });
  };
  const auto of_images = [](Pair kernel, const AvgPool2dOptions& o) {
    return one([=](const Tensors& x) { return avg_pool2d(x[0], kernel, o); });
  };
  const auto of_volumes = [](Triple kernel, const AvgPool3dOptions& o) {
    return one([=](const Tensors& x) { return avg_pool3d(x[0], kernel, o); });
  };
  return {
      pool("avg_pool1d", "avg1d/2", of_lines(2, {}), line),
      pool("avg_pool1d", "avg1d/ceil", of_lines(3, ceil1), line),
      pool("avg_pool1d", "avg1d/ceil,without pad", of_lines(3, without_pad(ceil1)), line),
      pool("avg_pool2d", "avg2d/2", of_images(2, {}), image),
      pool("avg_pool2d", "avg2d/ceil", of_images(3, ceil2), image),
      pool("avg_pool2d", "avg2d/ceil,without pad", of_images(3, without_pad(ceil2)), image),
      pool("avg_pool2d", "avg2d/divisor", of_images(3, divided(ceil2)), image),
      pool("avg_pool3d", "avg3d/2", of_volumes(2, {}), volume),
      pool("avg_pool3d", "avg3d/ceil", of_volumes(3, ceil3), volume),
      pool("avg_pool3d", "avg3d/ceil,without pad", of_volumes(3, without_pad(ceil3)), volume),
      pool("avg_pool3d", "avg3d/divisor", of_volumes(3, divided(ceil3)), volume),
      pool("adaptive_avg_pool3d", "adaptive_avg3d", one([](const Tensors& x) {
             return adaptive_avg_pool3d(x[0], {2, 4, 3});
           }),
           volume),
      pool("adaptive_avg_pool3d", "adaptive_avg3d/1",
           one([](const Tensors& x) { return adaptive_avg_pool3d(x[0], 1); }), volume),
      pool("lp_pool1d", "lp1d/2", one([](const Tensors& x) { return lp_pool1d(x[0], 2, 2); }), line),
      pool("lp_pool1d", "lp1d/3,stride 1,ceil",
           one([](const Tensors& x) { return lp_pool1d(x[0], 3, 3, {.stride = 2, .ceil_mode = true}); }), line),
      pool("lp_pool2d", "lp2d/2", one([](const Tensors& x) { return lp_pool2d(x[0], 2, 2); }), image),
      pool("lp_pool2d", "lp2d/3,stride 1,ceil",
           one([](const Tensors& x) { return lp_pool2d(x[0], 3, 3, {.stride = 2, .ceil_mode = true}); }), image),
      pool("lp_pool3d", "lp3d/2", one([](const Tensors& x) { return lp_pool3d(x[0], 2, 2); }), volume),
      pool("lp_pool3d", "lp3d/3,stride 1,ceil",
           one([](const Tensors& x) { return lp_pool3d(x[0], 3, 3, {.stride = 2, .ceil_mode = true}); }), volume),
  };
}

OpCases adaptive_maxima() {
  const Shape line{2, 2, 5}, image{1, 2, 5, 4}, volume{1, 2, 3, 5, 4};
  const auto whole1 = both([](const Tensor& x) { return adaptive_max_pool1d_with_indices(x, 1); });
  const auto whole2 = both([](const Tensor& x) { return adaptive_max_pool2d_with_indices(x, 1); });
  const auto whole3 = both([](const Tensor& x) { return adaptive_max_pool3d_with_indices(x, 1); });
  const auto some1 = both([](const Tensor& x) { return adaptive_max_pool1d_with_indices(x, 4); });
  const auto some2 = both([](const Tensor& x) { return adaptive_max_pool2d_with_indices(x, {4, 4}); });
  const auto some3 = both([](const Tensor& x) { return adaptive_max_pool3d_with_indices(x, {4, 4, 3}); });
  OpCases cases{pool("adaptive_max_pool1d_with_indices", "adaptive_max1d", some1, line),
                pool("adaptive_max_pool1d_with_indices", "adaptive_max1d/ties", some1, line),
                pool("adaptive_max_pool1d_with_indices", "adaptive_max1d/1", whole1, line),
                pool("adaptive_max_pool2d_with_indices", "adaptive_max2d", some2, image),
                pool("adaptive_max_pool2d_with_indices", "adaptive_max2d/ties", some2, image),
                pool("adaptive_max_pool2d_with_indices", "adaptive_max2d/1", whole2, image),
                pool("adaptive_max_pool3d_with_indices", "adaptive_max3d", some3, volume),
                pool("adaptive_max_pool3d_with_indices", "adaptive_max3d/ties", some3, volume),
                pool("adaptive_max_pool3d_with_indices", "adaptive_max3d/1", whole3, volume)};
  const auto add = [&](const std::string& function, const Shape& x, const Function& call, const Function& same) {
    OpCase c = pool(function, "without indices", call, x);
    c.golden = {};
    c.same_as = same;
    cases.push_back(c);
  };
  add("adaptive_max_pool1d", line, one([](const Tensors& x) { return adaptive_max_pool1d(x[0], 4); }),
      one([](const Tensors& x) { return adaptive_max_pool1d_with_indices(x[0], 4).values; }));
  add("adaptive_max_pool2d", image, one([](const Tensors& x) {
        return adaptive_max_pool2d(x[0], {4, 4});
      }),
      one([](const Tensors& x) {
        return adaptive_max_pool2d_with_indices(x[0], {4, 4}).values;
      }));
  add("adaptive_max_pool3d", volume, one([](const Tensors& x) {
        return adaptive_max_pool3d(x[0], {4, 4, 3});
      }),
      one([](const Tensors& x) {
        return adaptive_max_pool3d_with_indices(x[0], {4, 4, 3}).values;
      }));
  return cases;
}

OpCase unpool(const std::string& function, const std::string& golden, const Function& call, const Shape& x,
              std::int64_t places) {
  return {.function = function,
          .variant = golden,
          .call = call,
          .inputs = {{values(x), indices(x, places)}},
          .golden = {"pool_forms: " + golden}};
}

// One element in each channel: no two have one position.
OpCases unpools() {
  return {
      unpool("max_unpool1d", "unpool1d", one([](const Tensors& x) { return max_unpool1d(x[0], x[1], 2); }), {2, 2, 1},
             2),
      unpool("max_unpool1d", "unpool1d/size",
             one([](const Tensors& x) { return max_unpool1d(x[0], x[1], 2, {.output_size = 9}); }), {2, 2, 1}, 9),
      unpool("max_unpool2d", "unpool2d", one([](const Tensors& x) { return max_unpool2d(x[0], x[1], 2); }),
             {2, 1, 1, 1}, 4),
      unpool("max_unpool2d", "unpool2d/size", one([](const Tensors& x) {
               return max_unpool2d(x[0], x[1], 2, {.output_size = {7, 6}});
             }),
             {2, 1, 1, 1}, 42),
      unpool("max_unpool3d", "unpool3d", one([](const Tensors& x) { return max_unpool3d(x[0], x[1], 2); }),
             {1, 2, 1, 1, 1}, 8),
      unpool("max_unpool3d", "unpool3d/size", one([](const Tensors& x) {
               return max_unpool3d(x[0], x[1], 2, {.output_size = {5, 6, 4}});
             }),
             {1, 2, 1, 1, 1}, 120),
  };
}

const Register kSpatialTables[] = {Register(convolutions), Register(transposed),      Register(pools),
                                   Register(averages),     Register(adaptive_maxima), Register(unpools)};

/// Windows that are summed by lanes.
TEST(Pools, AverageLongWindows) {
  for (const DType dtype : {float32, float64})
    for (const std::int64_t n : {93, 96, 300}) {
      const Tensor x = arange(4 * n, {dtype}).reshape({2, 2, n}), y = adaptive_avg_pool1d(x, 3);
      for (std::int64_t o = 0; o < 3; ++o)
        EXPECT_TRUE(allclose(y.select(2, o), mean(x.narrow(2, o * n / 3, n / 3), {2}))) << n;
    }
}

}  // namespace
}  // namespace minnow::test
