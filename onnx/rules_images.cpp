#include <algorithm>
#include <minnow/onnx/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>

namespace minnow::onnx::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

/// {before...} as {before..., after...}, with the same.
Numbers both_ends(const Numbers& padding) {
  Numbers pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

std::vector<std::string> operands(Call& c) {
  std::vector<std::string> inputs{c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  return inputs;
}

void conv(Call& c, const char*) {
  const std::string y = c.g.add("Conv", operands(c),
                                {{"strides", c.list("stride")},
                                 {"pads", both_ends(c.list("padding"))},
                                 {"dilations", c.list("dilation")},
                                 {"group", c.integer("groups")}});
  c.give(activated(c, y, c.integer("activation")));
}

void conv_transpose(Call& c, const char*) {
  c.give(c.g.add("ConvTranspose", operands(c),
                 {{"strides", c.list("stride")},
                  {"pads", both_ends(c.list("padding"))},
                  {"dilations", c.list("dilation")},
                  {"output_padding", c.list("output_padding")},
                  {"group", c.integer("groups")}}));
}

/// The sizes of x behind the channels, which must be fixed.
Numbers fixed_space(Call& c) {
  Numbers space;
  const Sizes x = c.sizes(0);
  for (std::size_t d = 2; d < x.size(); ++d) {
    if (!x[d].fixed()) c.refuse("an adaptive pool of images whose size is left open\ngive them one size");
    space.push_back(x[d].a);
  }
  return space;
}

/// Windows of one size, if they are.
bool divides(const Numbers& space, const Numbers& count) {
  for (std::size_t d = 0; d < space.size(); ++d)
    if (space[d] % count[d] != 0) return false;
  return true;
}

void pool(Call& c, const char* op) {
  const bool largest = *op == 'M';
  Numbers kernel = c.list("kernel"), stride = c.list("stride"), padding = c.list("padding");
  if (c.flag("adaptive")) {
    const Numbers space = fixed_space(c);
    if (!divides(space, kernel))
      c.refuse("the windows of an adaptive pool differ in size\nchoose a size that divides that of the images");
    for (std::size_t d = 0; d < kernel.size(); ++d) stride[d] = kernel[d] = space[d] / kernel[d];
  }
  std::vector<Attribute> attributes{{"kernel_shape", kernel},
                                    {"strides", stride},
                                    {"pads", both_ends(padding)},
                                    {"ceil_mode", std::int64_t{c.flag("ceil_mode")}}};
  if (largest) attributes.push_back({"dilations", c.list("dilation")});
  else attributes.push_back({"count_include_pad", std::int64_t{c.flag("count_include_pad")}});
  c.give(c.g.add(op, {c.in(0)}, attributes));
}

/// [count, size]: the weights of the pixels of each window.
std::string averages(Call& c, std::int64_t size, std::int64_t count) {
  const Tensor w = zeros({count, size});
  float* const to = w.data<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    for (std::int64_t k = begin; k < end; ++k) to[i * size + k] = 1 / static_cast<float>(end - begin);
  }
  return c.g.constant(w.to(c.y().dtype()));
}

void average(Call& c, const char*) {
  if (!c.flag("adaptive") || divides(fixed_space(c), c.list("kernel"))) return pool(c, "AveragePool");
  // Windows of several sizes: a product with their weights, for each dimension.
  const Numbers space = fixed_space(c), count = c.list("kernel");
  const char* const equations[3][3] = {
      {"ncd,xd->ncx"}, {"ncde,xd->ncxe", "ncde,xe->ncdx"}, {"ncdef,xd->ncxef", "ncdef,xe->ncdxf", "ncdef,xf->ncdex"}};
  std::string y = c.in(0);
  for (std::size_t d = 0; d < space.size(); ++d)
    y = c.g.add("Einsum", {y, averages(c, space[d], count[d])}, {{"equation", equations[space.size() - 1][d]}});
  c.give(y);
}

void interpolate(Call& c, const char*) {
  const std::string mode = c.text("mode");
  const bool aligned = c.flag("align_corners"), cubic = mode == "bicubic", nearest = mode == "nearest",
             exact = mode == "nearest_exact";
  std::vector<Attribute> attributes{{"mode", nearest || exact ? "nearest"
                                             : cubic          ? "cubic"
                                                              : "linear"},
                                    {"coordinate_transformation_mode", nearest   ? "asymmetric"
                                                                       : aligned ? "align_corners"
                                                                                 : "half_pixel"}};
  if (nearest) attributes.push_back({"nearest_mode", "floor"});
  if (exact) attributes.push_back({"nearest_mode", "round_prefer_ceil"});
  if (c.flag("antialias")) attributes.insert(attributes.end(), {{"antialias", 1}, {"exclude_outside", 1}});
  if (cubic) attributes.push_back({"cubic_coeff_a", c.flag("antialias") ? -0.5 : -0.75});
  const Sizes x = c.sizes(0);
  Numbers axes;
  for (std::size_t d = 2; d < x.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  const std::vector<double> factors = c.numbers("factors");
  attributes.push_back({"axes", axes});
  if (factors.at(0) > 0) {
    const std::vector<float> scales(factors.begin(), factors.end());
    c.give(c.g.add("Resize", {c.in(0), "", c.g.constant(tensor(scales))}, attributes));
  } else {
    c.give(c.g.add("Resize", {c.in(0), "", "", c.sized(c.integers("size"))}, attributes));
  }
}

std::vector<Attribute> blocks(Call& c) {
  return {{"strides", c.list("stride")}, {"pads", both_ends(c.list("padding"))}, {"dilations", c.list("dilation")}};
}

/// Blocks as the channels of a convolution, each of whose kernels takes one pixel.
void unfold(Call& c, const char*) {
  if (c.x(0).dim() != 4) c.refuse("x has no batch\ngive it one: unsqueeze(0)");
  if (!is_floating_point(c.y().dtype())) c.refuse("x is of integers\nconvert it: .to(float32)");
  const Numbers kernel = c.list("kernel");
  const std::int64_t channels = c.x(0).size(1), taps = kernel[0] * kernel[1];
  const Tensor one = eye(taps).reshape({taps, 1, kernel[0], kernel[1]}).repeat({channels, 1, 1, 1});
  std::vector<Attribute> attributes = blocks(c);
  attributes.push_back({"group", channels});
  const std::string y = c.g.add("Conv", {c.in(0), c.g.constant(one.to(c.y().dtype()))}, attributes);
  c.give(c.g.add("Reshape", {y, c.g.list({0, channels * taps, -1})}));
}

void fold(Call& c, const char*) {
  if (c.x(0).dim() != 3) c.refuse("x has no batch\ngive it one: unsqueeze(0)");
  c.give(c.g.add("Col2Im", {c.in(0), c.g.list(c.list("output_size")), c.g.list(c.list("kernel"))}, blocks(c)));
}

void grid_sample(Call& c, const char*) {
  const char* const paddings[] = {"zeros", "border", "reflection"};
  const auto mode = static_cast<Interpolation>(c.integer("mode"));
  const bool nearest = mode == Interpolation::nearest, cubic = mode == Interpolation::bicubic,
             named_anew = c.g.opset() >= 20;
  if (c.x(0).dim() != 4 && !named_anew) c.refuse("it is of volumes, which opset 20 has\ngive SaveOptions::opset");
  const char* const linear = named_anew ? "linear" : "bilinear";
  c.give(c.g.add("GridSample", {c.in(0), c.in(1)},
                 {{"mode", nearest      ? "nearest"
                           : !cubic     ? linear
                           : named_anew ? "cubic"
                                        : "bicubic"},
                  {"padding_mode", paddings[c.integer("padding_mode")]},
                  {"align_corners", std::int64_t{c.flag("align_corners")}}}));
}

constexpr Rule kRules[] = {
    {"conv", conv},        {"conv_transpose", conv_transpose}, {"max_pool", pool, "MaxPool"},
    {"avg_pool", average}, {"interpolate", interpolate},       {"unfold", unfold},
    {"fold", fold},        {"grid_sample", grid_sample},
};

}  // namespace

std::span<const Rule> image_rules() { return kRules; }

}  // namespace minnow::onnx::detail
