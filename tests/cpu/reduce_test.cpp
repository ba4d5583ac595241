#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using namespace kernels;
using test::backend;
using test::blank;
using test::get;
using test::Lay;

/// x[o, k, i] of a [outer, n, inner] tensor.
double at(const Tensor& x, std::int64_t o, std::int64_t k, std::int64_t i) {
  return get(x, (o * x.shape()[1] + k) * x.shape()[2] + i);
}

template <class Op> double reference(const Tensor& x, std::int64_t o, std::int64_t i, double p) {
  double acc = Op::template init<double>();
  for (std::int64_t k = 0; k < x.shape()[1]; ++k) acc = Op::combine(acc, Op::map(at(x, o, k, i), p));
  return Op::finish(acc, x.shape()[1], p);
}

class Reduce : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Reduce, test::every_isa(), test::isa_name);

const Shape kShapes[] = {{1, 1, 1},    {1, 10000, 1}, {3, 65, 1}, {200, 3, 1},
                         {1, 70, 300}, {2, 2500, 5},  {4, 33, 7}, {2, 1, 3}};

template <class Op, int I> void check(const Tensor& x, DType dout, double rtol) {
  const Tensor out = blank({x.shape()[0], x.shape()[2]}, dout);
  constexpr double kP = 3;
  backend().run(calls::Reduce{I, x, out, kP});
  for (std::int64_t o = 0; o < x.shape()[0]; ++o) {
    for (std::int64_t i = 0; i < x.shape()[2]; ++i) {
      const double got = get(out, o * x.shape()[2] + i);
      const double expected = reference<Op>(x, o, i, kP);
      ASSERT_TRUE(test::close(got, expected, rtol, 1e-5))
          << Op::kName << " of " << x.shape().str() << " " << name_of(x.dtype()) << " at " << o << ", " << i << ": "
          << got << ", expected " << expected;
    }
  }
}

TEST_P(Reduce, EveryOperationShapeAndLayout) {
  for_each(ReduceOps{}, []<class Op, int I>() {
    const DType dout = Op::kKind == ReduceKind::kPredicate ? DType::bool_ : DType::float32;
    for (const Shape& shape : kShapes) {
      for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps, Lay::kBroadcast})
        check<Op, I>(test::reals(shape, float32, lay, std::is_same_v<Op, Prod> ? 1.1 : 2), dout, 1.3e-6);
    }
  });
}

TEST_P(Reduce, EveryDtype) {
  for_each(ReduceOps{}, []<class Op, int I>() {
    for (const DType dtype : test::kAllDtypes) {
      const bool whole = !is_floating_point(dtype);
      if (whole && (Op::kKind == ReduceKind::kFloating || std::is_same_v<Op, Prod>)) continue;
      if (std::is_same_v<Op, Prod>) continue;
      const DType dout = Op::kKind == ReduceKind::kPredicate ? DType::bool_ : whole ? DType::int64 : dtype;
      const double rtol = dtype == DType::float16 ? 1e-3 : dtype == DType::bfloat16 ? 8e-3 : 1.3e-6;
      for (const Shape& shape : {Shape{3, 70, 1}, Shape{2, 40, 300}, Shape{1, 9000, 1}}) {
        for (const Lay lay : {Lay::kContiguous, Lay::kReversed}) {
          // The largest float16 is 65504: sums of powers take few and small numbers.
          if (dtype == DType::float16 && shape[1] > 100) continue;
          check<Op, I>(test::numbers(shape, dtype, lay, 0, dtype == DType::bool_ ? 2 : 7), dout, rtol);
        }
      }
    }
  });
}

/// Lengths around the widths of vectors, of several of them, and of blocks.
const std::int64_t kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   10,  15,  16,  17,  31,   32,   33,   47,
                                 48, 63, 64, 65, 70, 96, 97, 127, 128, 129, 255, 257, 1000, 4095, 4096, 4097};

template <class F> void for_short_row_operations(const F& f) {
  for_each(ReduceOps{}, [&]<class Op, int I>() {
    if constexpr (std::is_same_v<Op, Sum> || std::is_same_v<Op, Mean> || std::is_same_v<Op, Max> ||
                  std::is_same_v<Op, Min> || std::is_same_v<Op, Norm2> || std::is_same_v<Op, Norm1> ||
                  std::is_same_v<Op, Any>)
      f.template operator()<Op, I>();
  });
}

TEST_P(Reduce, RowsOfEveryLength) {
  for_short_row_operations([]<class Op, int I>() {
    const DType dout = Op::kKind == ReduceKind::kPredicate ? DType::bool_ : float32;
    for (const std::int64_t n : kLengths) {
      const std::int64_t outer = n > 1000 ? 3 : 37;
      check<Op, I>(test::reals({outer, n, 1}, float32, Lay::kContiguous, 2), dout, 1.3e-6);
      // Rows with gaps between them, and rows that lie along the inner dimension.
      const Tensor wide = test::reals({outer, n + 3, 1}, float32, Lay::kContiguous, 2);
      check<Op, I>(Tensor(wide.storage(), float32, {outer, n, 1}, {n + 3, 1, 1}, 1), dout, 1.3e-6);
      check<Op, I>(Tensor(wide.storage(), float32, {1, n, outer}, {0, 1, n + 3}, 1), dout, 1.3e-6);
    }
    for (const DType dtype : {DType::float64, DType::bfloat16, DType::int32}) {
      if (!is_floating_point(dtype) && Op::kKind == ReduceKind::kFloating) continue;
      const DType out = Op::kKind == ReduceKind::kPredicate ? DType::bool_
                        : is_floating_point(dtype)          ? dtype
                                                            : DType::int64;
      for (const std::int64_t n : {1, 10, 15, 16, 17, 64, 200})
        check<Op, I>(test::numbers({23, n, 1}, dtype), out, dtype == DType::bfloat16 ? 8e-3 : 1.3e-6);
    }
  });
}

TEST_P(Reduce, ColumnsOfEveryNumber) {
  for_short_row_operations([]<class Op, int I>() {
    const DType dout = Op::kKind == ReduceKind::kPredicate ? DType::bool_ : float32;
    for (const std::int64_t cols : {2, 3, 4, 5, 8, 10, 15, 16, 17, 31, 33, 63, 64, 65, 79, 130, 257})
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 255, 256, 257, 520})
        check<Op, I>(test::reals({2, rows, cols}, float32, Lay::kContiguous, 2), dout, 1.3e-6);
    for (const DType dtype : {DType::float16, DType::bfloat16})
      for (std::int64_t cols = 2; cols < 20; ++cols)
        check<Op, I>(test::numbers({2, 9, cols}, dtype), dout == DType::bool_ ? dout : dtype, 8e-3);
  });
}

/// The result of a row does not depend on its position among others.
TEST_P(Reduce, EqualRowsHaveEqualResults) {
  for (const std::int64_t n : kLengths) {
    const std::int64_t rows = 41;
    const Tensor one = test::reals({1, n, 1}), x(one.storage(), float32, {rows, n, 1}, {0, 1, 1}),
                 out = blank({rows, 1});
    for (const int op : {kIndexOf<ReduceOps, Sum>, kIndexOf<ReduceOps, Norm2>, kIndexOf<ReduceOps, Max>}) {
      backend().run(calls::Reduce{op, x, out});
      for (std::int64_t r = 1; r < rows; ++r) ASSERT_EQ(get(out, r), get(out, 0)) << n << " row " << r;
    }
  }
}

TEST_P(Reduce, NanAndInfinitiesInShortRows) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {1, 3, 10, 16, 17, 64, 70, 130})
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
      for (const double value : {nan, inf, -inf}) {
        const Tensor x = test::reals({20, n, 1}), out = blank({20, 1}), places = blank({20, 1}, DType::int64);
        test::set(x, 7 * n + at, value);
        backend().run(calls::Reduce{kIndexOf<ReduceOps, Max>, x, out});
        const Tensor values = blank({20, 1});
        backend().run(calls::ArgReduce{x, values, places, true});
        for (std::int64_t r = 0; r < 20; ++r) {
          double want = -inf;
          std::int64_t place = 0;
          for (std::int64_t k = n - 1; k >= 0; --k) {
            const double v = get(x, r * n + k);
            if (std::isnan(v) || v >= want) want = v, place = k;
          }
          ASSERT_TRUE(test::close(get(out, r), want, 0, 0) || (std::isnan(want) && std::isnan(get(out, r)))) << n;
          ASSERT_EQ(std::isnan(get(values, r)), std::isnan(want));
          ASSERT_EQ(get(places, r), static_cast<double>(place)) << n << " row " << r;
        }
        backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, x, out});
        for (std::int64_t r = 0; r < 20; ++r) ASSERT_EQ(std::isfinite(get(out, r)), r != 7) << n;
      }
}

TEST_P(Reduce, TheFirstOfEqualElements) {
  const Tensor zeros = blank({1, 20, 1}), value = blank({1, 1}), place = blank({1, 1}, DType::int64);
  for (std::int64_t k = 0; k < 20; ++k) test::set(zeros, k, k == 3 ? -0.0 : k < 3 ? -1.0 : 0.0);
  backend().run(calls::ArgReduce{zeros, value, place, true});
  EXPECT_EQ(get(place, 0), 3);
  EXPECT_TRUE(std::signbit(get(value, 0)));
  for (const std::int64_t n : kLengths) {
    const Tensor x = test::numbers({9, n, 1}, float32, Lay::kContiguous, 0, 3), places = blank({9, 1}, DType::int64);
    for (const bool largest : {true, false}) {
      backend().run(calls::ArgReduce{x, View(), places, largest});
      for (std::int64_t r = 0; r < 9; ++r) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < n; ++k)
          if (largest ? at(x, r, k, 0) > at(x, r, best, 0) : at(x, r, k, 0) < at(x, r, best, 0)) best = k;
        ASSERT_EQ(get(places, r), static_cast<double>(best)) << n << " row " << r;
      }
    }
  }
}

TEST_P(Reduce, NanInfinityAndNoElements) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t where : {0, 5, 63, 64, 200, 4999}) {
    const Tensor x = test::reals({1, 5000, 1});
    test::set(x, where, kNan);
    const Tensor out = blank({1, 1});
    for (const int op :
         {kIndexOf<ReduceOps, Max>, kIndexOf<ReduceOps, Min>, kIndexOf<ReduceOps, Sum>, kIndexOf<ReduceOps, Norm1>}) {
      backend().run(calls::Reduce{op, x, out});
      EXPECT_TRUE(std::isnan(get(out, 0))) << op << " " << where;
    }
    const Tensor truth = blank({1, 1}, DType::bool_);
    backend().run(calls::Reduce{kIndexOf<ReduceOps, Any>, x, truth});
    EXPECT_EQ(get(truth, 0), 1);
  }
  const Tensor none = blank({2, 0, 3});
  const Tensor out = blank({2, 3});
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, none, out});
  EXPECT_EQ(get(out, 4), 0);
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Prod>, none, out});
  EXPECT_EQ(get(out, 4), 1);
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Mean>, none, out});
  EXPECT_TRUE(std::isnan(get(out, 5)));
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, blank({0, 4, 3}), blank({0, 3})});
}

TEST_P(Reduce, NanInColumns) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    for (const int op : {kIndexOf<ReduceOps, Max>, kIndexOf<ReduceOps, Min>, kIndexOf<ReduceOps, Sum>})
      for (std::int64_t column = 0; column < 21; ++column) {
        const Tensor x = test::numbers({1, 40, 21}, dtype), out = blank({1, 21}, dtype);
        test::set(x, 17 * 21 + column, std::numeric_limits<double>::quiet_NaN());
        backend().run(calls::Reduce{op, x, out});
        for (std::int64_t i = 0; i < 21; ++i) ASSERT_EQ(std::isnan(get(out, i)), i == column) << dtype << " " << op;
      }
}

/// 16 million floats, whose exact sum is known by the double reference.
TEST_P(Reduce, LongSumsAreAccurate) {
  const std::int64_t n = std::int64_t{1} << 24;
  const Tensor x = blank({1, n, 1});
  float* data = static_cast<float*>(x.raw_data());
  double expected = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    data[i] = 0.1f + static_cast<float>(i % 1000) * 1e-3f;
    expected += static_cast<double>(data[i]);
  }
  const Tensor out = blank({1, 1});
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, x, out});
  EXPECT_TRUE(test::close(get(out, 0), expected, 1.3e-6, 0)) << get(out, 0) << ", expected " << expected;
  const Tensor columns = Tensor(x.storage(), float32, {1, n / 8, 8}, {n, 8, 1});
  const Tensor sums = blank({1, 8});
  backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, columns, sums});
  double total = 0;
  for (int i = 0; i < 8; ++i) total += get(sums, i);
  EXPECT_TRUE(test::close(total, expected, 1.3e-6, 0));
}

TEST(ReduceCpu, SameBitsForAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{1, 1000003, 1}, Shape{700, 501, 1}, Shape{1, 5000, 77}, Shape{9, 300, 500},
                             Shape{30000, 10, 1}, Shape{1, 1024, 128}}) {
    const Tensor x = test::reals(shape);
    test::expect_thread_invariant([&] {
      const Tensor out = blank({shape[0], shape[2]});
      backend().run(calls::Reduce{kIndexOf<ReduceOps, Sum>, x, out});
      return out;
    });
  }
}

TEST(ReduceCpu, ArgTakesTheFirstAndNanWins) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::uint8, DType::bfloat16}) {
    for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps}) {
      for (const Shape& shape : {Shape{3, 50, 4}, Shape{1, 9000, 1}, Shape{300, 5, 1}}) {
        const Tensor x = test::numbers(shape, dtype, lay, 0, 6);
        const Tensor values = blank({shape[0], shape[2]}, dtype);
        const Tensor indices = blank({shape[0], shape[2]}, DType::int64);
        for (const bool largest : {true, false}) {
          backend().run(calls::ArgReduce{x, values, indices, largest});
          for (std::int64_t o = 0; o < shape[0]; ++o) {
            for (std::int64_t i = 0; i < shape[2]; ++i) {
              std::int64_t best = 0;
              for (std::int64_t k = 1; k < shape[1]; ++k) {
                if (largest ? at(x, o, k, i) > at(x, o, best, i) : at(x, o, k, i) < at(x, o, best, i)) best = k;
              }
              ASSERT_EQ(get(indices, o * shape[2] + i), static_cast<double>(best));
              ASSERT_EQ(get(values, o * shape[2] + i), at(x, o, best, i));
            }
          }
        }
      }
    }
  }
  const Tensor x = test::reals({1, 6000, 1});
  test::set(x, 4500, std::numeric_limits<double>::quiet_NaN());
  test::set(x, 5500, std::numeric_limits<double>::quiet_NaN());
  const Tensor index = blank({1, 1}, DType::int64);
  backend().run(calls::ArgReduce{x, View(), index, true});
  EXPECT_EQ(get(index, 0), 4500);
  backend().run(calls::ArgReduce{x, View(), index, false});
  EXPECT_EQ(get(index, 0), 4500);
}

}  // namespace
}  // namespace minnow
