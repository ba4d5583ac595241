#include <cmath>
#include <limits>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using namespace kernels;
using test::backend;
using test::blank;
using test::get;
using test::Lay;
using test::numbers;

constexpr int kAdd = kIndexOf<BinaryOps, Add>;
constexpr int kSub = kIndexOf<BinaryOps, Sub>;
constexpr int kLt = kIndexOf<BinaryOps, Lt>;
constexpr Lay kLays[] = {Lay::kContiguous, Lay::kReversed, Lay::kGaps, Lay::kBroadcast};

class Elementwise : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Elementwise, test::every_isa(), test::isa_name);

/// Shapes with every kind of inner dimension: none, short, long, odd, larger than a chunk.
const Shape kShapes[] = {{},       {1}, {7}, {0}, {3, 0, 2}, {2, 3, 4}, {5, 1, 130}, {3, 2500}, {2, 1, 3, 1, 65, 2},
                         {1100, 3}};

void check_sub(const Tensor& a, const Tensor& b, const Tensor& out, DType compute) {
  ASSERT_EQ(backend().run(calls::Binary{kSub, compute, a, b, out}), Outcome::ok);
  for (std::int64_t i = 0; i < out.numel(); ++i)
    ASSERT_EQ(get(out, i), get(a, i) - get(b, i)) << out.shape().str() << " element " << i;
}

TEST_P(Elementwise, EveryLayoutOfEveryOperand) {
  for (const Shape& shape : kShapes) {
    for (const Lay la : kLays) {
      for (const Lay lb : kLays) {
        for (const Lay lo : {Lay::kContiguous, Lay::kReversed, Lay::kGaps})
          check_sub(numbers(shape, float32, la, -3), numbers(shape, float32, lb, -2, 5), blank(shape, float32, lo),
                    float32);
      }
    }
  }
}

TEST_P(Elementwise, EveryDtypeOfEveryOperand) {
  const Shape shape{3, 401};
  for (const DType da : test::kAllDtypes) {
    for (const DType db : test::kAllDtypes) {
      for (const DType dout :
           {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64, DType::int32}) {
        for (const Lay lay : {Lay::kContiguous, Lay::kReversed}) {
          const int span = da == DType::bool_ ? 2 : 7;
          const DType compute = cpu::dtype_of(cpu::compute_of(dout));
          check_sub(numbers(shape, da, lay, 0, span),
                    numbers(shape, db, Lay::kContiguous, 0, db == DType::bool_ ? 2 : 5), blank(shape, dout, lay),
                    compute);
        }
      }
    }
  }
}

TEST_P(Elementwise, PredicatesGiveBoolOrWhatIsAsked) {
  const Shape shape{9, 130};
  const Tensor a = numbers(shape, float32, Lay::kReversed, -3);
  const Tensor b = numbers(shape, DType::int32, Lay::kContiguous, -2, 5);
  for (const DType dout : {DType::bool_, DType::uint8, DType::float32, DType::float16, DType::int64}) {
    for (const Lay lay : {Lay::kContiguous, Lay::kGaps}) {
      const Tensor out = blank(shape, dout, lay);
      ASSERT_EQ(backend().run(calls::Binary{kLt, float32, a, b, out}), Outcome::ok);
      for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(get(out, i), get(a, i) < get(b, i) ? 1 : 0);
    }
  }
}

TEST_P(Elementwise, UnaryAndDerivativesOfEveryLayoutAndDtype) {
  constexpr int kSquare = kIndexOf<UnaryOps, Square>;
  for (const Shape& shape : kShapes) {
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      for (const Lay lay : kLays) {
        const Tensor x = numbers(shape, dtype, lay, -3);
        const Tensor g = numbers(shape, dtype, Lay::kContiguous, -1, 3);
        const Tensor y = blank(shape, dtype, Lay::kReversed);
        backend().run(calls::Unary{kSquare, kernels::compute_type(dtype), x, y});
        for (std::int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(get(y, i), get(x, i) * get(x, i));
        backend().run(calls::UnarySlope{kSquare, g, x, y});
        for (std::int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(get(y, i), get(g, i) * 2 * get(x, i));
      }
    }
  }
}

TEST(ElementwiseCpu, PredicatesNumbersAndBoolsInUnary) {
  const Shape shape{5, 70};
  const Tensor bools = numbers(shape, DType::bool_, Lay::kContiguous, 0, 2);
  const Tensor out = blank(shape, DType::bool_);
  backend().run(calls::Unary{kIndexOf<UnaryOps, LogicalNot>, DType::int64, bools, out});
  for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(get(out, i), 1 - get(bools, i));
  const Tensor small = numbers(shape, DType::uint8);
  const Tensor negated = blank(shape, DType::uint8);
  backend().run(calls::Unary{kIndexOf<UnaryOps, Neg>, DType::int64, small, negated});
  for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(get(negated, i), std::fmod(256 - get(small, i), 256));
  const Tensor roots = blank(shape);
  backend().run(calls::Unary{kIndexOf<UnaryOps, Sqrt>, float32, small, roots});
  for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_TRUE(test::close(get(roots, i), std::sqrt(get(small, i))));
}

TEST(ElementwiseCpu, InPlaceWhateverTheLayout) {
  for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::int32}) {
      const Tensor a = numbers({4, 999}, dtype, lay);
      const Tensor before = numbers({4, 999}, dtype, lay);
      const Tensor b = numbers({4, 999}, dtype, Lay::kContiguous, 1, 4);
      ASSERT_EQ(backend().run(calls::Binary{kAdd, cpu::dtype_of(cpu::compute_of(dtype)), a, b, a}), Outcome::ok);
      for (std::int64_t i = 0; i < a.numel(); ++i) ASSERT_EQ(get(a, i), get(before, i) + get(b, i));
    }
  }
}

TEST(ElementwiseCpu, WhereTakesABoolCondition) {
  const Shape shape{6, 123};
  const Tensor c = numbers(shape, DType::bool_, Lay::kReversed, 0, 2);
  const Tensor a = numbers(shape);
  const Tensor b = numbers(shape, DType::int64, Lay::kBroadcast, 100);
  const Tensor out = blank(shape);
  backend().run(calls::Ternary{kIndexOf<TernaryOps, Where>, float32, c, a, b, out});
  for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(get(out, i), get(c, i) != 0 ? get(a, i) : get(b, i));
}

TEST(ElementwiseCpu, DivisionByZeroIsReportedFromEveryPath) {
  constexpr int kOp = kIndexOf<BinaryOps, FloorDivide>;
  for (const std::int64_t n : {4, 300000}) {
    for (const DType dtype : {DType::int64, DType::int32}) {
      const Tensor a = numbers({n}, dtype);
      const Tensor b = numbers({n}, dtype, Lay::kContiguous, 1, 5);
      const Tensor out = blank({n}, dtype);
      EXPECT_EQ(backend().run(calls::Binary{kOp, DType::int64, a, b, out}), Outcome::ok);
      test::set(b, n - 1, 0);
      EXPECT_EQ(backend().run(calls::Binary{kOp, DType::int64, a, b, out}), Outcome::zero_divisor);
    }
  }
}

TEST(ElementwiseCpu, MissingLoopIsAnError) {
  const Tensor a = numbers({3}, DType::int64);
  EXPECT_THROW(static_cast<void>(backend().run(calls::Binary{kIndexOf<BinaryOps, Div>, DType::int64, a, a, a})),
               BackendError);
}

TEST(ElementwiseCpu, SameBitsForAnyNumberOfThreads) {
  const Tensor a = test::reals({700, 333});
  const Tensor b = test::reals({700, 333}, float32, Lay::kReversed);
  test::expect_thread_invariant([&] {
    const Tensor out = blank({700, 333});
    static_cast<void>(backend().run(calls::Binary{kAdd, float32, a, b, out}));
    backend().run(calls::Unary{kIndexOf<UnaryOps, Exp>, float32, out, out});
    return out;
  });
}

TEST(ElementwiseCpu, StridesBeyond32Bits) {
  // Two elements 3 GiB apart in address space that is reserved, not filled.
  const std::int64_t far = std::int64_t{3} << 30;
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), static_cast<std::size_t>(far) + 1);
  const Tensor x(storage, DType::uint8, {2}, {far});
  const Tensor out = blank({2}, DType::uint8);
  test::set(x, 0, 5);
  test::set(x, 1, 9);
  backend().run(calls::Copy{x, out});
  EXPECT_EQ(get(out, 0), 5);
  EXPECT_EQ(get(out, 1), 9);
  static_cast<void>(backend().run(calls::Binary{kAdd, DType::int64, x, x, out}));
  EXPECT_EQ(get(out, 1), 18);
}

/// PyTorch's: 0, also of an infinite gradient, wherever y is not positive.
TEST_P(Elementwise, SlopeOfReluOfHalves) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float ys[] = {1, 0, -0.0F, -2, infinity, -infinity, nan, 6e-8F}, grads[] = {3, -infinity, nan, 0.5F, 2};
  const Shape shape{2, 20, 24, 25};
  for (const DType dtype : {DType::float16, DType::bfloat16})
    for (const bool same : {true, false}) {
      const Tensor y = test::with_strides(shape, channels_last_strides(shape), dtype),
                   out = test::with_strides(shape, y.strides(), dtype),
                   grad = same ? test::with_strides(shape, y.strides(), dtype) : blank(shape, dtype),
                   wide_y = blank(shape), wide_grad = blank(shape);
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        static_cast<float*>(wide_y.raw_data())[i] = ys[i % 8];
        static_cast<float*>(wide_grad.raw_data())[i] = grads[i % 5];
      }
      backend().run(calls::Copy{wide_y, y});
      backend().run(calls::Copy{wide_grad, grad});
      backend().run(calls::UnarySlope{kIndexOf<UnaryOps, Relu>, grad, y, out, 0, 0});
      for (std::int64_t i = 0; i < out.numel(); ++i) {
        const double want = ys[i % 8] <= 0 ? 0 : get(grad, i), got = get(out, i);
        ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << i << ": " << got << ", expected " << want;
      }
    }
}

/// Large operands of other layouts than the result are laid out as it: contiguous, channels-last, and reversed.
TEST_P(Elementwise, LargeOperandsOfOtherLayouts) {
  const Shape shape{5, 28, 11, 13};
  for (const DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::float64}) {
    const auto images = [&](int layout, int first) {
      const Tensor t = layout == 1 ? test::with_strides(shape, channels_last_strides(shape), dtype)
                                   : blank(shape, dtype, layout == 0 ? Lay::kContiguous : Lay::kReversed);
      backend().run(calls::Copy{numbers(shape, dtype, Lay::kContiguous, first, 5), t});
      return t;
    };
    const DType compute = cpu::dtype_of(cpu::compute_of(dtype));
    for (int layouts = 0; layouts < 27; ++layouts)
      check_sub(images(layouts % 3, 5), images(layouts / 3 % 3, 0), images(layouts / 9, 0), compute);
    const Tensor from = images(1, 3), to = blank(shape, DType::int32, Lay::kReversed);
    backend().run(calls::Copy{from, to});
    for (std::int64_t i = 0; i < to.numel(); ++i) ASSERT_EQ(get(to, i), get(from, i));
  }
}

/// An operand that is dense in another dimension than the result, and repeats along the result's.
TEST_P(Elementwise, LargeOperandOfRowsAndColumnsThatRepeat) {
  const Shape shape{5, 40, 11, 13};
  const Tensor mask = test::with_strides(shape, {40, 1, 0, 0}, float32);
  for (std::int64_t i = 0; i < 200; ++i) test::set(mask, i * 11 * 13, static_cast<double>(i));
  for (const Strides& strides : {contiguous_strides(shape), channels_last_strides(shape)})
    check_sub(numbers(shape, float32, Lay::kReversed, -3), mask, test::with_strides(shape, strides, float32), float32);
}

}  // namespace
}  // namespace minnow
