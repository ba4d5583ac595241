#include <minnow/ops/convolution/resample.h>

#include "op_cases.h"

namespace minnow::test {
namespace {

using Mode = Interpolation;

OpCases interpolations() {
  OpCases cases;
  const auto add = [&](int d, const std::string& golden, const InterpolateOptions& o) {
    const Shape shape = d == 1 ? Shape{2, 2, 5} : d == 2 ? Shape{1, 2, 4, 3} : Shape{1, 1, 3, 2, 4};
    Shape none = shape;
    none[0] = 0;
    OpCase c{.function = "interpolate",
             .variant = golden,
             .call = one([=](const Tensors& x) { return interpolate(x[0], o); }),
             .inputs = {{values(shape)}, {values(none)}},
             .golden = {"interpolate: " + golden}};
    if (o.mode == Mode::nearest || o.mode == Mode::nearest_exact) c.dtypes = all_dtypes();
    cases.push_back(c);
  };
  const EachDimension<std::int64_t> sizes[] = {{7}, {7, 9}, {7, 9, 5}}, less[] = {{2}, {2, 3}, {2, 3, 2}};
  const EachDimension<double> factors[] = {{1.7}, {1.7, 2.5}, {1.7, 2.5, 0.6}};
  const std::pair<const char*, Mode> modes[] = {{"nearest", Mode::nearest},    {"nearest-exact", Mode::nearest_exact},
                                                {"area", Mode::area},          {"linear", Mode::linear},
                                                {"bilinear", Mode::bilinear},  {"bicubic", Mode::bicubic},
                                                {"trilinear", Mode::trilinear}};
  for (int d = 1; d <= 3; ++d)
    for (const auto& [name, mode] : modes) {
      const int only = mode == Mode::linear                              ? 1
                       : mode == Mode::trilinear                         ? 3
                       : mode == Mode::bilinear || mode == Mode::bicubic ? 2
                                                                         : 0;
      if (only && only != d) continue;
      const std::string golden = std::to_string(d) + "d/" + name + "/";
      add(d, golden + "size", {.size = sizes[d - 1], .mode = mode});
      add(d, golden + "less", {.size = less[d - 1], .mode = mode});
      add(d, golden + "factor", {.scale_factor = factors[d - 1], .mode = mode});
      if (!only) continue;
      add(d, golden + "corners", {.size = sizes[d - 1], .mode = mode, .align_corners = true});
      add(d, golden + "corners,one", {.size = 1, .mode = mode, .align_corners = true});
      add(d, golden + "corners,factor", {.scale_factor = 2, .mode = mode, .align_corners = true});
    }
  add(2, "2d/bilinear/float64", {.size = {3, 8}, .mode = Mode::bilinear});
  return cases;
}

OpCases grids() {
  OpCases cases;
  // Between two pixels, where no rule has a kink.
  const auto add = [&](const std::string& golden, const GridSampleOptions& o, const Shape& x, const Shape& grid) {
    Shape none = x, no_grid = grid;
    none[0] = no_grid[0] = 0;
    cases.push_back({.function = "grid_sample",
                     .variant = golden,
                     .call = one([=](const Tensors& t) { return grid_sample(t[0], t[1], o); }),
                     .inputs = {{values(x), values(grid, -0.24, -0.02)}, {values(none), values(no_grid)}},
                     .golden = {"grid_sample: " + golden},
                     .tolerance = {1e-5, 1e-5},
                     .exact = false});
  };
  const Shape image{2, 2, 4, 4}, places{2, 2, 1, 2};
  const std::pair<const char*, Mode> modes[] = {
      {"bilinear", Mode::bilinear}, {"nearest", Mode::nearest}, {"bicubic", Mode::bicubic}};
  const std::pair<const char*, GridPadding> paddings[] = {
      {"zeros", GridPadding::zeros}, {"border", GridPadding::border}, {"reflection", GridPadding::reflection}};
  for (const auto& [mode, m] : modes)
    for (const auto& [padding, p] : paddings) {
      const std::string name = std::string(mode) + "/" + padding;
      add(name, {m, p, false}, image, places);
      add(name + "/corners", {m, p, true}, image, places);
    }
  const Shape volume{1, 1, 4, 4, 4}, deep{1, 2, 1, 2, 3};
  add("3d/bilinear", {}, volume, deep);
  add("3d/nearest", {.mode = Mode::nearest}, volume, deep);
  add("3d/reflection", {.padding_mode = GridPadding::reflection, .align_corners = true}, volume, deep);

  for (const bool corners : {false, true}) {
    const auto affine = [&](const std::string& golden, const Shape& size, const Shape& theta) {
      cases.push_back({.function = "affine_grid",
                       .variant = golden,
                       .call = one([=](const Tensors& t) { return affine_grid(t[0], size, corners); }),
                       .inputs = {{values(theta)}},
                       .golden = {"grid_sample: affine/" + golden}});
    };
    affine(corners ? "corners" : "edges", {2, 3, 3, 4}, {2, 2, 3});
    affine(corners ? "3d,corners" : "3d,edges", {2, 1, 1, 3, 2}, {2, 3, 4});
  }
  return cases;
}

const Register kInterpolateTables[] = {Register(interpolations), Register(grids)};

}  // namespace
}  // namespace minnow::test
