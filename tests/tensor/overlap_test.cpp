#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/threads.h>
#include "devices.h"

namespace minnow {
namespace {

/// Writes through views that share memory with the source: the result is as if the source were copied first.
class Overlap : public test::DeviceTest {
 protected:
  static Tensor counted(const Shape& shape) { return arange(shape.numel(), {DType::float32, device()}).reshape(shape); }
  static std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }

  /// Gives views of one storage, writes the second to the first, and compares the whole storage with the same write
  /// from a copy.
  template <class Views, class Write> static void expect_as_from_a_copy(const Shape& shape, Views views, Write write) {
    const Tensor x = counted(shape), y = counted(shape);
    const auto [to, from] = views(x);
    write(to, from);
    const auto [target, source] = views(y);
    write(target, source.clone());
    EXPECT_EQ(values(x), values(y)) << shape.str();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Overlap, test::all_devices(), test::device_test_name);

using Operands = std::pair<Tensor, Tensor>;
Operands up(const Tensor& x) { return {x(slice(1)), x(slice(0, -1))}; }
Operands down(const Tensor& x) { return {x(slice(0, -1)), x(slice(1))}; }
Operands turned(const Tensor& x) { return {x, x.t()}; }
Operands row(const Tensor& x) { return {x, x(1)}; }
Operands column(const Tensor& x) { return {x, x(all, slice(2, 3))}; }
Operands itself(const Tensor& x) { return {x, x}; }
Operands halves(const Tensor& x) { return {x(slice(0, x.size(0) / 2)), x(slice(x.size(0) - x.size(0) / 2))}; }

/// Large enough for several threads and several blocks.
constexpr std::int64_t kLong = 500'003;

TEST_P(Overlap, CopyOfAShiftedView) {
  for (const std::int64_t n : {2, 17, 4099})
    for (const auto& views : {up, down})
      expect_as_from_a_copy({n}, views, [](const Tensor& to, const Tensor& from) { copy_(to, from); });
  const int before = num_threads();
  set_num_threads(3);
  for (const auto& views : {up, down})
    expect_as_from_a_copy({kLong}, views, [](const Tensor& to, const Tensor& from) { copy_(to, from); });
  set_num_threads(before);
}

TEST_P(Overlap, CopyOfTheTransposedSelfOfARowAndOfAColumn) {
  for (const std::int64_t n : {3, 64, 301})
    for (const auto& views : {turned, row, column, itself, halves})
      expect_as_from_a_copy({n, n}, views, [](const Tensor& to, const Tensor& from) { copy_(to, from); });
}

TEST_P(Overlap, ArithmeticInPlace) {
  for (const std::int64_t n : {3, 64, 301})
    for (const auto& views : {up, down, turned, row, column, itself, halves}) {
      expect_as_from_a_copy({n, n}, views, [](const Tensor& to, const Tensor& from) { add_(to, from); });
      expect_as_from_a_copy({n, n}, views, [](const Tensor& to, const Tensor& from) { sub_(to, from * 2); });
      expect_as_from_a_copy({n, n}, views, [](const Tensor& to, const Tensor& from) { maximum_(to, from); });
    }
  const Tensor x = counted({kLong}), half = x(slice(1)), want = counted({kLong});
  add_(half, x(slice(0, -1)));
  add_(want(slice(1)), want(slice(0, -1)).clone());
  EXPECT_EQ(values(x), values(want));
}

TEST_P(Overlap, IsFoundOnlyWhereMemoryIsShared) {
  const Tensor x = counted({4, 6});
  EXPECT_FALSE(raw::overlaps(x, x));
  EXPECT_FALSE(raw::overlaps(x, x.clone()));
  EXPECT_FALSE(raw::overlaps(x(0), x(1)));
  EXPECT_FALSE(raw::overlaps(x(slice(0, 2)), x(slice(2))));
  EXPECT_FALSE(raw::overlaps(x(slice(0, 0)), x));
  EXPECT_TRUE(raw::overlaps(x(slice(0, 3)), x(slice(1))));
  EXPECT_TRUE(raw::overlaps(x(slice(0, 2)).view({12}), x(slice(0, 2))));
  EXPECT_TRUE(raw::overlaps(x, x(3, slice(5)).expand({4, 6})));
}

TEST_P(Overlap, CopiesAcrossDevicesWriteIntoTheView) {
  const Tensor host = arange(12, {DType::float64}).reshape({3, 4}), there = counted({3, 4});
  copy_(there.t()(slice(1, 4)), host.t()(slice(0, 3)));  // converted, strided on both sides
  EXPECT_EQ(values(there), (std::vector<float>{0, 0, 1, 2, 4, 4, 5, 6, 8, 8, 9, 10}));
  copy_(host(all, slice(0, 2)), there(1, slice(2)));  // broadcast
  EXPECT_EQ(host.to_vector<double>(), (std::vector<double>{5, 6, 2, 3, 5, 6, 6, 7, 5, 6, 10, 11}));
  const Tensor number = tensor(7.0);
  copy_(there(2), number);
  EXPECT_EQ(values(there(2)), (std::vector<float>(4, 7)));
  EXPECT_EQ(copy_(there, host.t().contiguous().t()).to_vector<double>(), host.to_vector<double>());
  EXPECT_THROW(copy_(there(0).expand({3, 4}), host), ShapeError);
  EXPECT_THROW(copy_(there, host.t()), ShapeError);
}

}  // namespace
}  // namespace minnow
