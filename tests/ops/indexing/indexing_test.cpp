#include <cmath>
#include <gtest/gtest.h>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

using Values = std::vector<double>;

class Indexing : public test::DeviceTest {
 protected:
  static Tensor counted(const Shape& shape) { return arange(shape.numel(), {float64, device()}).reshape(shape); }
  static Tensor places(const std::vector<int>& values) { return tensor(values, {int64, device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Indexing, test::all_devices(), test::device_test_name);

TEST_P(Indexing, AssigningToASelectionWrites) {
  const Tensor x = counted({2, 3});
  x(0) = tensor({7.0, 8.0, 9.0}, {float64, device()});
  EXPECT_EQ(x.to_vector<double>(), (Values{7, 8, 9, 3, 4, 5}));
  x[1][2] = -1;
  x(all, 0) = x(all, 1);
  EXPECT_EQ(x.to_vector<double>(), (Values{8, 8, 9, 4, 4, -1}));
  x(slice(0, 1)) += 1;
  x(1) *= x(0);
  x(1, 2) -= 0.5;
  x(0, 0) /= 9;
  EXPECT_EQ(x.to_vector<double>(), (Values{1, 9, 10, 36, 36, -10.5}));
  x.index({0, slice(1)}) = 0;
  x.index_put_({1}, tensor(2.0, {float64, device()}));
  EXPECT_EQ(x.to_vector<double>(), (Values{1, 0, 0, 2, 2, 2}));
  x(0) = tensor({5, 6, 7});  // converted, from the host
  EXPECT_EQ(x.to_vector<double>(), (Values{5, 6, 7, 2, 2, 2}));
}

TEST_P(Indexing, ByTensorsReadsCopies) {
  const Tensor x = counted({2, 3}), row = x(places({1}));
  fill_(row, 9);
  EXPECT_EQ(x.to_vector<double>(), (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(x(places({-1, 0}), places({0, -1})).to_vector<double>(), (Values{3, 2}));
  EXPECT_EQ(x(x > 2.5).to_vector<double>(), (Values{3, 4, 5}));
  EXPECT_EQ(x(tensor({1})).shape(), (Shape{1, 3}));  // indices of the host serve any device
}

TEST_P(Indexing, OfEqualIndicesTheLastIsWritten) {
  const Tensor x = counted({3, 2});
  x(places({1, 0, 1})) = tensor({{10.0, 11.0}, {12.0, 13.0}, {14.0, -0.0}}, {float64, device()});
  EXPECT_EQ(x.to_vector<double>(), (Values{12, 13, 14, 0, 4, 5}));
  EXPECT_TRUE(std::signbit(x(1, 1).item()));
  x(places({})) = 3;
  x(places({0, 0})) += 1;  // not twice, as in PyTorch
  EXPECT_EQ(x.to_vector<double>(), (Values{13, 14, 14, 0, 4, 5}));
}

TEST_P(Indexing, OfOtherDTypes) {
  for (const DType dtype : {float32, float16, bfloat16, int64, int32, uint8, bool_}) {
    const Tensor x = zeros({3, 2}, {dtype, device()});
    x(places({2, 0})) = 1;
    x(x == 0) = 1;
    EXPECT_EQ(x.to_vector<double>(), Values(6, 1)) << dtype;
  }
}

TEST_P(Indexing, AssigningATensorToAHandleReplacesIt) {
  const Tensor x = counted({2, 2});
  auto row = x(0);
  row = x(1);
  EXPECT_EQ(x.to_vector<double>(), (Values{0, 1, 2, 3}));
  EXPECT_EQ(row.to_vector<double>(), (Values{2, 3}));
  row = counted({5});
  EXPECT_EQ(row.numel(), 5);
  std::move(row) = 4;  // assigns to the moved handle, not to what was indexed
  EXPECT_EQ(row.to_vector<double>(), Values(5, 4));
  EXPECT_EQ(x.to_vector<double>(), (Values{0, 1, 2, 3}));
}

TEST_P(Indexing, RowsOfALoop) {
  const Tensor x = counted({3, 2});
  Values sums;
  for (const Tensor& row : x) sums.push_back(row.sum().item());
  EXPECT_EQ(sums, (Values{1, 5, 9}));
  EXPECT_THROW(x(0, 0).begin(), ShapeError);
}

TEST_P(Indexing, GradientsOfReadingAndWriting) {
  const auto check = [](auto f, const Tensor& a, const Tensor& b) {
    const auto g = [&](const std::vector<Tensor>& in) { return f(in[0] * 1, in[1]); };
    EXPECT_TRUE(gradcheck(g, {a.clone().requires_grad_(), b.clone().requires_grad_()}));
    EXPECT_TRUE(gradgradcheck(g, {a.clone().requires_grad_(), b.clone().requires_grad_()}));
  };
  const Tensor x = randn({3, 4}, {float64, device()}), y = randn({2, 4}, {float64, device()});
  const Tensor rows = places({2, 0}), twice = places({1, 1});
  check([&](Tensor a, const Tensor& b) { return square(a(rows)) * b + a(twice); }, x, y);
  check([&](Tensor a, const Tensor& b) { return a(a > 0).sum() * square(b(all, rows)).sum(); }, x, y);
  check(
      [&](Tensor a, const Tensor& b) {
        const Tensor before = square(a);  // the graph needs the old value
        a(1) = b(0) * 2;
        a(0, slice(1, 3)) = 3;
        return square(a) + before;
      },
      x, y);
  check(
      [&](Tensor a, const Tensor& b) {
        a(rows) = square(b);
        a(twice) += b(0);
        return square(a);
      },
      x, y);
  check(
      [&](Tensor a, const Tensor& b) {
        a(a > 0.5) = 2;
        a(slice(1), 0) *= b(all, 1);
        return square(a);
      },
      x, y);
}

TEST(Slices, EmptyBracesLeaveANumberOut) {
  const Tensor x = arange(5);
  EXPECT_EQ(x(slice({}, {}, 2)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(x(slice(1, {}, 2)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(x(slice({}, -2)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(x(Slice(std::nullopt, std::nullopt, 4)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(x(slice(3, {}, {})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4}));
}

TEST_P(Indexing, ResultsWrittenRowByRowInARecordedLoop) {
  const Tensor w = counted({2}).requires_grad_();
  const Tensor out = zeros({4, 2}, {float64, device()});
  Tensor h = w * 1;
  for (std::int64_t t = 0; t < 4; ++t) {
    h = h * w;
    out(t) = h;
  }
  sum(out).backward();
  EXPECT_EQ(out.to_vector<double>(), (Values{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(w.grad().to_vector<double>(), (Values{0, 2 + 3 + 4 + 5}));
}

TEST_P(Indexing, RefusesBadIndices) {
  const Tensor x = counted({2, 3});
  EXPECT_THROW(finish([&] { (void)x(places({0, 2})); }), IndexError);
  EXPECT_THROW(finish([&] { (void)x(places({0, 1}), places({0, 3})); }), IndexError);
  EXPECT_THROW(finish([&] { (void)x(places({-3})); }), IndexError);
  EXPECT_THROW((void)x(x), DTypeError);
  EXPECT_THROW((void)x(zeros({3}, {bool_, device()})), ShapeError);
  EXPECT_THROW((void)x(places({0, 1}), places({0, 1, 2})), ShapeError);
  EXPECT_THROW((void)x(places({0}), places({0}), places({0})), IndexError);
  EXPECT_THROW((void)x(Tensor()), ValueError);
  EXPECT_THROW((void)x(std::numeric_limits<std::size_t>::max()), IndexError);
  EXPECT_THROW(x(0) = counted({2}), ShapeError);
  EXPECT_THROW(x(places({0})) = counted({2}), ShapeError);
  EXPECT_THROW(x(0) = Tensor(), ValueError);
  EXPECT_THROW((zeros({2}, {uint8, device()})(0) = 300), ValueError);
  const Tensor leaf = counted({2, 3}).requires_grad_();
  EXPECT_THROW(leaf(0) = 1, AutogradError);
  EXPECT_THROW(leaf(leaf > 1) = 1, AutogradError);
  const Tensor value = leaf * 1, view = value(0);
  EXPECT_THROW(value(0) = 1, AutogradError);  // view would keep the old value
  {
    const NoGradGuard no_grad;
    leaf(0) = 1;
  }
  EXPECT_EQ(leaf.to_vector<double>(), (Values{1, 1, 1, 3, 4, 5}));
}

TEST_P(Indexing, IntoRepeatedElementsIsNotRecorded) {
  const Tensor w = counted({2}).requires_grad_();
  Tensor x = w * 1;
  x = x(newaxis).expand({3, 2});
  EXPECT_THROW(x(0) = w * 2, ShapeError);
  const Tensor v = w * 2;
  EXPECT_THROW(x(0) = v, ShapeError);
  EXPECT_THROW(x(places({0})) = v, Error);
}

TEST_P(Indexing, RepeatedElementsAreNotWritten) {
  const Tensor rows = counted({1, 5}).expand({4, 5}), columns = counted({4, 1}).expand({4, 5});
  const Tensor two = counted({2, 5}) * -1, one = counted({5}) * -1;
  EXPECT_THROW(rows(places({0, 1})) = two, ShapeError);
  EXPECT_THROW(rows(places({0}), places({1})) = one(0), ShapeError);
  EXPECT_THROW(columns(places({1})) = one, ShapeError);
  EXPECT_EQ(rows.sum().item(), 40);
  EXPECT_EQ(columns.sum().item(), 30);
}

TEST_P(Indexing, ByZeroDimensionalTensorsIsByIntegers) {
  const Tensor x = counted({2, 3, 4}), one = tensor(1, {int64, device()});
  EXPECT_EQ(x(one, all, places({0, 1})).shape(), (Shape{3, 2}));
  EXPECT_EQ(x(one).storage(), x.storage());
  x(one, 0, 0) = -1;
  EXPECT_EQ(x(1, 0, 0).item(), -1);
}

TEST_P(Indexing, ByMasksWithoutDimensionsAddsADimension) {
  for (const bool taken : {true, false}) {
    const std::int64_t n = taken ? 1 : 0;
    const Tensor mask = tensor(taken, {.device = device()}), number = counted({}).requires_grad_(), x = counted({2, 3});
    EXPECT_EQ(number(mask).shape(), Shape{n});
    EXPECT_EQ(grad(sum(number(mask)), number).item(), n);
    EXPECT_EQ(x(mask).shape(), (Shape{n, 2, 3}));
    EXPECT_EQ(x(1, mask).shape(), (Shape{n, 3}));
    EXPECT_EQ(x(all, mask).shape(), (Shape{2, n, 3}));
    EXPECT_EQ(x(mask, slice(1)).shape(), (Shape{n, 1, 3}));
    EXPECT_EQ(x(1, mask).sum().item(), taken ? 12 : 0);
    x(1, mask) = counted({3}) + 7;
    x(0)(mask) = 5;
    EXPECT_EQ(x.to_vector<double>(), taken ? (Values{5, 5, 5, 7, 8, 9}) : (Values{0, 1, 2, 3, 4, 5}));
    const Tensor written = number * 1;
    written(mask) = 3 * number;
    EXPECT_EQ(grad(written, number).item(), taken ? 3 : 1);
  }
}

TEST_P(Indexing, InPlaceRefusesALesserDtypeKind) {
  const Tensor x = arange(4, {int64, device()});
  EXPECT_THROW(x(places({0})) += 0.5, DTypeError);
  EXPECT_THROW(x(x > 1) /= 2, DTypeError);
  const Tensor flags = zeros({3}, {bool_, device()});
  EXPECT_THROW(flags(places({0})) += 3, DTypeError);
  EXPECT_EQ(x.to_vector<double>(), (Values{0, 1, 2, 3}));
}

TEST_P(Indexing, AnEmptyMaskGivesAGradientOfZero) {
  const Tensor v = tensor({2.0}, {float64, device()}).requires_grad_(), x = counted({3});
  x(x > 9) = v * 3;
  sum(x).backward();
  EXPECT_EQ(v.grad().to_vector<double>(), (Values{0}));
}

TEST_P(Indexing, ARetainedGradientIsThatOfTheValueWritten) {
  const Tensor w = counted({2}).requires_grad_(), z = w * 2;
  z.retain_grad();
  z(0) = 7;
  sum(z * z).backward();
  EXPECT_EQ(z.grad().to_vector<double>(), (Values{14, 4}));
  EXPECT_EQ(w.grad().to_vector<double>(), (Values{0, 8}));
}

TEST_P(Indexing, OfMasksOfSeveralDimensions) {
  const Tensor x = counted({2, 3, 2});
  const Tensor mask = x.sum(2) > 6, turned = x.permute({1, 0, 2});
  EXPECT_EQ(x(mask).to_vector<double>(), (Values{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(turned(mask.t()).to_vector<double>(), (Values{6, 7, 8, 9, 4, 5, 10, 11}));
  turned(mask.t()) = 0;
  EXPECT_EQ(x.to_vector<double>(), (Values{0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
  turned(mask.t()) = ones({4, 2}, {float64, device()});
  EXPECT_EQ(x.sum().item(), 6 + 8);
}

TEST_P(Indexing, IndexFillCountsNegativeIndicesFromTheEnd) {
  const Tensor x = zeros({3, 2}, {.device = device()});
  EXPECT_EQ(index_fill(x, 0, tensor({-1, 0}, {DType::int64, device()}), 4).to_vector<float>(),
            (std::vector<float>{4, 4, 0, 0, 4, 4}));
  const Tensor bad = tensor({-3, -4}, {DType::int64, device()});
  const std::string text = test::error_of<IndexError>([&] { (void)index_fill(x, 0, bad, 4).cpu(); });
  test::expect_contains(text, device().is_cuda() ? "an index is out of range" : "index -4 at [1]");
}

TEST_P(Indexing, FlipAndRollAreCopies) {
  const Tensor x = counted({2, 2});
  EXPECT_NE(x.flip({}).storage(), x.storage());
  EXPECT_NE(zeros({0, 2}, {float64, device()}).roll(1, 0).storage(), x.storage());
  EXPECT_EQ(zeros({}, {float64, device()}).roll(3).shape(), Shape{});
  EXPECT_THROW((void)x.flip({0, -2}), ValueError);
  EXPECT_THROW((void)x.roll({1, 2}), ValueError);
  EXPECT_THROW((void)x.roll(1, {0, 1}), ValueError);
  EXPECT_THROW((void)x.roll({}), ValueError);
}

TEST(IndexingErrors, NumbersOfAVectorMustFit) {
  EXPECT_THROW((void)tensor(std::vector<int>{300}, uint8), ValueError);
  EXPECT_THROW((void)tensor(std::vector<float>{NAN}, int32), ValueError);
  EXPECT_EQ(tensor(std::vector<int>{255}, uint8).item<int>(), 255);
}

TEST(IndexingErrors, ShowTheIndicesThatDoNotFitTogether) {
  const Tensor x = zeros({2, 3});
  const std::string text = test::error_of<ShapeError>([&] { (void)x(tensor(false), tensor({0, 1, 1})); });
  EXPECT_TRUE(test::has(text, "a  int64[0] on cpu\n  b  int64[3] on cpu")) << text;
}

TEST(IndexingErrors, NameTheIndexAndTheLine) {
  const Tensor x = zeros({2, 3});
  try {
    (void)x(all, tensor({0, 7}));
    FAIL();
  } catch (const IndexError& error) {
    const std::string text = error.what();
    EXPECT_NE(
        text.find("index 7 (element 1 of the indices) is out of range in dimension 1 of size 3  (indexing_test.cpp:"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("indices go from -3 to 2"), std::string::npos) << text;
  }
}

// Lines are longer than what one thread selects at a time.
TEST(Indexing, SelectsFromLongLines) {
  const Tensor x = arange(0, 5 * 3000).reshape({5, 3000}), index = arange(2999, -1, -1, int64);
  const Tensor y = index_select(x, 1, index);
  EXPECT_TRUE(equal(y, gather(x, 1, index.expand({5, 3000}))));
  EXPECT_EQ(y(3, 1096).item(), 3 * 3000 + 1903);
  EXPECT_TRUE(equal(index_select(x.to(int16), 1, index), y.to(int16)));
  EXPECT_TRUE(equal(index_add(zeros_like(x), 1, index, x), y));
}

// Repetitions are copied as long rows beside each other, in parts.
TEST(Indexing, RepeatsElementsOfLongRows) {
  for (const DType dtype : {uint8, float32, float64})
    for (const std::int64_t times : {2, 3, 5}) {
      const Tensor x = arange(0, 3 * 1300).reshape({3, 1300}).to(dtype), columns = x.t().contiguous();
      const Tensor index = floor_divide(arange(0, 1300 * times, 1, int64), times), y = index_select(x, 1, index);
      EXPECT_TRUE(equal(repeat_interleave(x, times, 1), y)) << times;
      EXPECT_TRUE(equal(repeat_interleave(columns.t(), times, 1), y)) << times;
      EXPECT_TRUE(equal(repeat_interleave(x, times), y.reshape({-1}))) << times;
      const Tensor planes = stack({x, x + 1}, 1);
      EXPECT_TRUE(equal(repeat_interleave(planes, times, 2), stack({y, y + 1}, 1))) << times;
    }
}

// Rows of 16 to 128 bytes are copied by moves of a fixed size, columns beside each other together.
TEST(Indexing, SelectsRowsAndColumnsOfAnySize) {
  const Tensor index = tensor({6, 0, 3, 3, 5}, {int64});
  for (const DType dtype : {uint8, float32, float64})
    for (const std::int64_t n : {1, 2, 3, 4, 8, 16, 17, 32, 70, 128}) {
      const Tensor x = arange(0, 7 * n).reshape({7, n}).to(dtype), columns = x.t().contiguous();
      const Tensor y = gather(x, 0, index.unsqueeze(1).expand({5, n}));
      EXPECT_TRUE(equal(index_select(x, 0, index), y)) << n;
      EXPECT_TRUE(equal(index_select(columns.t(), 0, index), y)) << n;
      EXPECT_TRUE(equal(index_select(columns, 1, index), y.t())) << n;
      EXPECT_TRUE(equal(index_select(x.reshape({7, 1, n}), 0, index).reshape({5, n}), y)) << n;
    }
}

}  // namespace
}  // namespace minnow
