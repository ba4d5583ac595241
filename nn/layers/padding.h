#pragma once

#include <initializer_list>
#include <vector>
#include <minnow/nn/module/module.h>
#include <minnow/ops/shape/rearrange.h>

namespace minnow::nn {

/// The elements that a padding layer adds on each side: one number, or {left, right}, {left, right, top, bottom},
/// {left, right, top, bottom, front, back}.  Negative numbers take elements away.
struct PaddingSizes {
  std::vector<std::int64_t> each;

  PaddingSizes(std::int64_t all_sides) : each{all_sides} {}
  PaddingSizes(int all_sides) : each{all_sides} {}
  PaddingSizes(std::initializer_list<std::int64_t> sides) : each(sides) {}
};

/// What the padding layers have in common: minnow::pad of the last dimensions.   x: [N, C, ...] or [C, ...].
class PaddingLayer : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 protected:
  PaddingLayer(const char* name, int dims, const PaddingSizes& sizes, PadMode mode, double value, SourceLocation where);

 private:
  std::string name_;
  std::vector<std::int64_t> sizes_;
  PadMode mode_;
  double value_;
};

/// Adds zeros.   ZeroPad2d(1), ZeroPad2d({1, 2, 0, 1}).  ValueError for another number of sizes.
template <int kDims> struct ZeroPad : PaddingLayer {
  explicit ZeroPad(const PaddingSizes& padding, SourceLocation where = SourceLocation::current())
      : PaddingLayer("ZeroPad", kDims, padding, PadMode::constant, 0, where) {}
};
/// Adds a number.   ConstantPad1d(2, 3.5).
template <int kDims> struct ConstantPad : PaddingLayer {
  ConstantPad(const PaddingSizes& padding, double value, SourceLocation where = SourceLocation::current())
      : PaddingLayer("ConstantPad", kDims, padding, PadMode::constant, value, where) {}
};
/// Mirrors x without its edge.
template <int kDims> struct ReflectionPad : PaddingLayer {
  explicit ReflectionPad(const PaddingSizes& padding, SourceLocation where = SourceLocation::current())
      : PaddingLayer("ReflectionPad", kDims, padding, PadMode::reflect, 0, where) {}
};
/// Repeats the edge of x.
template <int kDims> struct ReplicationPad : PaddingLayer {
  explicit ReplicationPad(const PaddingSizes& padding, SourceLocation where = SourceLocation::current())
      : PaddingLayer("ReplicationPad", kDims, padding, PadMode::replicate, 0, where) {}
};
/// Adds x from its other end.
template <int kDims> struct CircularPad : PaddingLayer {
  explicit CircularPad(const PaddingSizes& padding, SourceLocation where = SourceLocation::current())
      : PaddingLayer("CircularPad", kDims, padding, PadMode::circular, 0, where) {}
};

using ZeroPad1d = ZeroPad<1>;
using ZeroPad2d = ZeroPad<2>;
using ZeroPad3d = ZeroPad<3>;
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;
using ReflectionPad1d = ReflectionPad<1>;
using ReflectionPad2d = ReflectionPad<2>;
using ReflectionPad3d = ReflectionPad<3>;
using ReplicationPad1d = ReplicationPad<1>;
using ReplicationPad2d = ReplicationPad<2>;
using ReplicationPad3d = ReplicationPad<3>;
using CircularPad1d = CircularPad<1>;
using CircularPad2d = CircularPad<2>;
using CircularPad3d = CircularPad<3>;

}  // namespace minnow::nn
