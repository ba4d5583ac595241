#include <minnow/data/detail/glyphs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace minnow::data::detail {
namespace {

struct Point {
  float x, y;  // in a square of side 1, y downwards
};

/// A line through points: straight segments, or a smooth curve.
struct Stroke {
  bool smooth;
  std::vector<Point> points;
};

using Glyph = std::vector<Stroke>;

/// The variants of each digit.
const std::array<std::vector<Glyph>, 10>& alphabet() {
  constexpr bool line = false, curve = true;
  static const auto* glyphs = new std::array<std::vector<Glyph>, 10>{{
      {{{curve,
         {{.5F, .08F},
          {.22F, .2F},
          {.15F, .5F},
          {.22F, .8F},
          {.5F, .92F},
          {.78F, .8F},
          {.85F, .5F},
          {.78F, .2F},
          {.5F, .08F}}}},
       {{curve,
         {{.62F, .08F}, {.34F, .2F}, {.26F, .55F}, {.36F, .88F}, {.58F, .88F}, {.74F, .55F}, {.7F, .2F}, {.5F, .1F}}}}},
      {{{line, {{.5F, .08F}, {.5F, .92F}}}},
       {{line, {{.3F, .28F}, {.52F, .08F}, {.52F, .92F}}}},
       {{line, {{.3F, .28F}, {.52F, .08F}, {.52F, .92F}}}, {line, {{.28F, .92F}, {.76F, .92F}}}}},
      {{{curve, {{.2F, .28F}, {.32F, .12F}, {.55F, .08F}, {.76F, .2F}, {.74F, .42F}, {.5F, .65F}, {.2F, .92F}}},
        {line, {{.2F, .92F}, {.82F, .92F}}}},
       {{curve,
         {{.24F, .2F},
          {.5F, .07F},
          {.74F, .22F},
          {.62F, .55F},
          {.3F, .86F},
          {.2F, .8F},
          {.34F, .76F},
          {.6F, .9F},
          {.82F, .84F}}}}},
      {{{curve, {{.22F, .16F}, {.48F, .07F}, {.74F, .2F}, {.7F, .4F}, {.42F, .48F}}},
        {curve, {{.42F, .48F}, {.74F, .56F}, {.8F, .76F}, {.55F, .93F}, {.2F, .84F}}}},
       {{line, {{.22F, .1F}, {.76F, .1F}, {.44F, .44F}}},
        {curve, {{.44F, .44F}, {.74F, .54F}, {.78F, .8F}, {.5F, .93F}, {.2F, .84F}}}}},
      {{{line, {{.64F, .92F}, {.64F, .08F}, {.16F, .64F}, {.86F, .64F}}}},
       {{line, {{.24F, .08F}, {.2F, .5F}, {.8F, .5F}}}, {line, {{.74F, .1F}, {.72F, .92F}}}}},
      {{{line, {{.76F, .1F}, {.3F, .1F}, {.26F, .46F}}},
        {curve, {{.26F, .46F}, {.52F, .4F}, {.78F, .55F}, {.76F, .8F}, {.5F, .93F}, {.2F, .84F}}}},
       {{curve, {{.26F, .46F}, {.56F, .42F}, {.76F, .6F}, {.66F, .86F}, {.4F, .93F}, {.2F, .8F}}},
        {line, {{.28F, .12F}, {.26F, .46F}}},
        {line, {{.28F, .12F}, {.8F, .08F}}}}},
      {{{curve,
         {{.68F, .1F},
          {.4F, .25F},
          {.22F, .55F},
          {.26F, .82F},
          {.5F, .93F},
          {.74F, .82F},
          {.76F, .62F},
          {.54F, .5F},
          {.3F, .6F},
          {.23F, .72F}}}},
       {{curve,
         {{.4F, .08F},
          {.26F, .4F},
          {.24F, .76F},
          {.44F, .93F},
          {.66F, .86F},
          {.68F, .66F},
          {.5F, .56F},
          {.28F, .68F}}}}},
      {{{line, {{.18F, .1F}, {.82F, .1F}, {.42F, .92F}}}},
       {{line, {{.18F, .1F}, {.82F, .1F}, {.42F, .92F}}}, {line, {{.34F, .5F}, {.76F, .5F}}}},
       {{curve, {{.2F, .2F}, {.3F, .1F}, {.78F, .1F}, {.6F, .42F}, {.5F, .92F}}}}},
      {{{curve,
         {{.5F, .48F},
          {.28F, .36F},
          {.28F, .16F},
          {.5F, .07F},
          {.72F, .16F},
          {.72F, .36F},
          {.5F, .48F},
          {.24F, .62F},
          {.22F, .84F},
          {.5F, .94F},
          {.78F, .84F},
          {.76F, .62F},
          {.5F, .48F}}}},
       {{curve,
         {{.74F, .18F},
          {.5F, .07F},
          {.28F, .2F},
          {.36F, .4F},
          {.66F, .58F},
          {.74F, .8F},
          {.5F, .94F},
          {.26F, .8F},
          {.36F, .56F},
          {.66F, .4F},
          {.74F, .18F}}}}},
      {{{curve,
         {{.74F, .36F},
          {.58F, .5F},
          {.34F, .46F},
          {.26F, .28F},
          {.4F, .1F},
          {.62F, .09F},
          {.75F, .24F},
          {.74F, .5F},
          {.58F, .92F}}}},
       {{curve, {{.72F, .2F}, {.5F, .07F}, {.28F, .2F}, {.32F, .44F}, {.56F, .48F}, {.72F, .3F}}},
        {line, {{.74F, .12F}, {.7F, .92F}}}}},
  }};
  return *glyphs;
}

float uniform(Random& random, double low, double high) { return static_cast<float>(random.uniform(low, high)); }

/// A random map from a digit's square to pixels.
struct Distortion {
  explicit Distortion(Random& random) {
    const float half = uniform(random, -0.16, 0.16);  // tangent of half the angle: up to 18 degrees
    const float cosine = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    const float width = uniform(random, 13, 21), height = uniform(random, 16, 22);
    const float shear = uniform(random, -0.35, 0.35);
    xx = cosine * width;
    xy = (cosine * shear - sine) * height;
    yx = sine * width;
    yy = (sine * shear + cosine) * height;
    bend_x = uniform(random, -0.35, 0.35);
    bend_y = uniform(random, -0.25, 0.25);
    shift_x = kDigitSide / 2.0F + uniform(random, -3, 3);
    shift_y = kDigitSide / 2.0F + uniform(random, -2.5, 2.5);
  }

  Point operator()(Point p) const {
    const float u = p.x - 0.5F, v = p.y - 0.5F;
    const float x = u + bend_x * (v * v - 0.08F), y = v + bend_y * (u * u - 0.04F);
    return {shift_x + xx * x + xy * y, shift_y + yx * x + yy * y};
  }

  float xx, xy, yx, yy, bend_x, bend_y, shift_x, shift_y;
};

using Distances = std::array<float, kDigitSide * kDigitSide>;  // squared, to the nearest stroke

void draw_segment(Point a, Point b, float reach, Distances& distances) {
  const auto cell = [](float v) { return std::clamp(static_cast<int>(v), 0, kDigitSide - 1); };
  const int left = cell(std::min(a.x, b.x) - reach), right = cell(std::max(a.x, b.x) + reach);
  const int top = cell(std::min(a.y, b.y) - reach), bottom = cell(std::max(a.y, b.y) + reach);
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float scale = 1 / std::max(dx * dx + dy * dy, 1e-6F);
  for (int y = top; y <= bottom; ++y)
    for (int x = left; x <= right; ++x) {
      const float px = static_cast<float>(x) + 0.5F - a.x, py = static_cast<float>(y) + 0.5F - a.y;
      const float t = std::clamp((px * dx + py * dy) * scale, 0.0F, 1.0F);
      const float ex = px - t * dx, ey = py - t * dy;
      float& nearest = distances[static_cast<std::size_t>(y * kDigitSide + x)];
      nearest = std::min(nearest, ex * ex + ey * ey);
    }
}

/// A point of the curve from p1 to p2 (Catmull-Rom).
Point spline(Point p0, Point p1, Point p2, Point p3, float t) {
  const auto interpolate = [t](float a, float b, float c, float d) {
    return b + 0.5F * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {interpolate(p0.x, p1.x, p2.x, p3.x), interpolate(p0.y, p1.y, p2.y, p3.y)};
}

void draw_stroke(const Stroke& stroke, const Distortion& distort, Random& random, float reach, Distances& distances) {
  std::array<Point, 16> points{};
  const std::size_t n = std::min(stroke.points.size(), points.size());
  for (std::size_t i = 0; i < n; ++i) {
    const Point p = stroke.points[i];
    points[i] = distort({p.x + uniform(random, -0.05, 0.05), p.y + uniform(random, -0.05, 0.05)});
  }
  for (std::size_t i = 0; i + 1 < n; ++i) {
    if (!stroke.smooth) {
      draw_segment(points[i], points[i + 1], reach, distances);
      continue;
    }
    const Point before = points[i > 0 ? i - 1 : i], after = points[std::min(i + 2, n - 1)];
    Point from = points[i];
    for (const float t : {0.33F, 0.67F, 1.0F}) {
      const Point to = spline(before, points[i], points[i + 1], after, t);
      draw_segment(from, to, reach, distances);
      from = to;
    }
  }
}

}  // namespace

void draw_digit(int digit, Random& random, std::span<std::uint8_t> pixels) {
  const auto& variants = alphabet()[static_cast<std::size_t>(digit)];
  const Glyph& glyph = variants[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(variants.size())))];
  const Distortion distort(random);
  const float radius = uniform(random, 0.6, 1.7);
  const float ink = uniform(random, 150, 255), noise = uniform(random, 0, 70);
  Distances distances;
  distances.fill(1e6F);
  for (const auto& stroke : glyph) draw_stroke(stroke, distort, random, radius + 1, distances);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (i % 4 == 0) bits = random.bits();
    const auto a = static_cast<float>(bits & 255), b = static_cast<float>(bits >> 8 & 255);
    bits >>= 16;
    // The edge of a stroke is one pixel wide; the noise has a triangular distribution.
    const float coverage = std::clamp(radius + 0.5F - std::sqrt(distances[i]), 0.0F, 1.0F);
    pixels[i] = static_cast<std::uint8_t>(std::clamp(ink * coverage + noise * (a - b) / 256.0F, 0.0F, 255.0F));
  }
}

}  // namespace minnow::data::detail
