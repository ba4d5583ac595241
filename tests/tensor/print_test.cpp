#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>

namespace minnow {
namespace {

// The expected texts are PyTorch's, but for the spelling of bool values and dtypes.

TEST(Print, Values) {
  EXPECT_EQ(to_string(tensor({1.0, 2.5, -3.0})), "tensor([ 1.0000,  2.5000, -3.0000])");
  EXPECT_EQ(to_string(tensor({1.0, 2.0})), "tensor([1., 2.])");
  EXPECT_EQ(to_string(tensor({{1, 20}, {300, 4}})), "tensor([[  1,  20],\n        [300,   4]])");
  EXPECT_EQ(to_string(tensor({true, false})), "tensor([ true, false])");
  EXPECT_EQ(to_string(tensor(3.5)), "tensor(3.5000)");
  EXPECT_EQ(to_string(tensor({1e-5, 1.0})), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(to_string(tensor({1e10, 1.0})), "tensor([1.0000e+10, 1.0000e+00])");
  EXPECT_EQ(to_string(zeros({2, 1, 2})), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])");
  EXPECT_EQ(to_string(zeros({2, 1, 1, 2})), "tensor([[[[0., 0.]]],\n\n\n        [[[0., 0.]]]])");
}

TEST(Print, ScientificNotationForLargeAndSmallNumbers) {
  EXPECT_EQ(to_string(tensor({0.5, 500.0})), "tensor([  0.5000, 500.0000])");  // 1000 to 1 is not yet too far
  EXPECT_EQ(to_string(tensor({0.5, 600.0})), "tensor([5.0000e-01, 6.0000e+02])");
  EXPECT_EQ(to_string(tensor({1000.0, 1.0})), "tensor([1000.,    1.])");
  EXPECT_EQ(to_string(tensor({10000.0, 1.0})), "tensor([1.0000e+04, 1.0000e+00])");  // whole numbers too
  EXPECT_EQ(to_string(tensor({1e8, 1e8})), "tensor([100000000., 100000000.])");
  EXPECT_EQ(to_string(tensor({2e8, 2e8})), "tensor([2.0000e+08, 2.0000e+08])");
  EXPECT_EQ(to_string(tensor({0.0, 1000.5})), "tensor([   0.0000, 1000.5000])");  // zeros do not count for the range
  EXPECT_EQ(to_string(tensor({0.0005, 0.1})), "tensor([0.0005, 0.1000])");
  EXPECT_EQ(to_string(tensor({150000000.5, 150000001.5}, {DType::float64})),
            "tensor([1.5000e+08, 1.5000e+08], dtype=float64)");
}

TEST(Print, TypesAndDevices) {
  std::ostringstream out;
  out << DType::bfloat16 << ' ' << Device("sim:1");
  EXPECT_EQ(out.str(), "bfloat16 sim:1");
}

TEST(Print, NotFinite) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_string(tensor({kNan, kInf, -kInf, 1.0})), "tensor([nan, inf, -inf, 1.])");
}

TEST(Print, UnusualDtypesDevicesAndUndefined) {
  EXPECT_EQ(to_string(tensor({1.0}, {DType::float64})), "tensor([1.], dtype=float64)");
  EXPECT_EQ(to_string(ones({1}, {{}, "sim:0"})), "tensor([1.], device='sim:0')");
  EXPECT_EQ(to_string(ones({1}).requires_grad_()), "tensor([1.], requires_grad=true)");
  EXPECT_EQ(to_string(zeros({0, 3})), "tensor([], size=[0, 3])");
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
}

TEST(Print, EveryDtype) {
  const auto text = [](DType d) { return to_string(tensor({0, 1, 2}).to(d)); };
  EXPECT_EQ(text(float32), "tensor([0., 1., 2.])");
  EXPECT_EQ(text(float64), "tensor([0., 1., 2.], dtype=float64)");
  EXPECT_EQ(text(DType::float16), "tensor([0., 1., 2.], dtype=float16)");
  EXPECT_EQ(text(DType::bfloat16), "tensor([0., 1., 2.], dtype=bfloat16)");
  EXPECT_EQ(text(int64), "tensor([0, 1, 2])");
  EXPECT_EQ(text(int32), "tensor([0, 1, 2], dtype=int32)");
  EXPECT_EQ(text(int16), "tensor([0, 1, 2], dtype=int16)");
  EXPECT_EQ(to_string(tensor({-1, 2}).to(int8)), "tensor([-1,  2], dtype=int8)");
  EXPECT_EQ(text(uint8), "tensor([0, 1, 2], dtype=uint8)");
  EXPECT_EQ(text(DType::bool_), "tensor([false,  true,  true])");
  EXPECT_EQ(to_string(tensor({0.1}).to(DType::bfloat16)), "tensor([0.1001], dtype=bfloat16)");
}

TEST(Print, StridedZeroDimensionalAndEmpty) {
  const Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(to_string(x.t()), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
  EXPECT_EQ(to_string(x(all, slice(0, 3, 2))), "tensor([[0, 2],\n        [3, 5]])");
  EXPECT_EQ(to_string(x(1).expand({2, 3})), "tensor([[3, 4, 5],\n        [3, 4, 5]])");
  EXPECT_EQ(to_string(x(1, 2)), "tensor(5)");
  EXPECT_EQ(to_string(tensor(true)), "tensor(true)");
  EXPECT_EQ(to_string(tensor(-0.5).to("sim:0")), "tensor(-0.5000, device='sim:0')");
  EXPECT_EQ(to_string(x(slice(0, 0))), "tensor([], size=[0, 3], dtype=int64)");
  EXPECT_EQ(to_string(zeros({0})), "tensor([])");
  EXPECT_EQ(to_string(zeros({2, 0}, {DType::bool_})), "tensor([], size=[2, 0], dtype=bool)");
}

TEST(Print, WholeNumbersOfAnySizeAreExact) {
  constexpr std::int64_t kBig = (std::int64_t{1} << 53) + 1;  // no double holds it
  EXPECT_EQ(to_string(full({1}, kBig)), "tensor([9007199254740993])");
  EXPECT_EQ(to_string(full({}, std::numeric_limits<std::int64_t>::min())), "tensor(-9223372036854775808)");
}

TEST(Print, LongTensorsAreShortened) {
  EXPECT_EQ(to_string(arange(2000)), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
  EXPECT_EQ(to_string(zeros({1000})).find("..."), std::string::npos);  // of 1000 all are shown
  std::string want = "tensor([";
  for (int row = 0; row < 6; ++row) want += (row ? ",\n        " : "") + std::string("[0, 0, 0,  ..., 0, 0, 0]");
  EXPECT_EQ(to_string(zeros({6, 200}, {DType::int64})), want + "])");  // six rows are three at each end
}

}  // namespace
}  // namespace minnow
