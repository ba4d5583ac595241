#include <minnow/tensor/internal.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;
using test::Lay;
using test::numbers;
using test::set;

constexpr Lay kLays[] = {Lay::kContiguous, Lay::kReversed, Lay::kGaps};
/// The sizes of the tensor and of the selection.
constexpr std::pair<Lay, Lay> kLayPairs[] = {
    {Lay::kContiguous, Lay::kContiguous}, {Lay::kReversed, Lay::kReversed},   {Lay::kGaps, Lay::kGaps},
    {Lay::kReversed, Lay::kContiguous},   {Lay::kContiguous, Lay::kReversed}, {Lay::kGaps, Lay::kContiguous}};

double joined(double a, double b, DType dtype) { return dtype == DType::bool_ ? (a + b != 0 ? 1 : 0) : a + b; }
int span_of(DType dtype) { return dtype == DType::bool_ ? 2 : 3; }

/// Row-major index i of `shape`, with its index along dim replaced by k, as an index of `other`.
std::int64_t moved(const Shape& shape, std::int64_t i, int dim, std::int64_t k, const Shape& other) {
  std::int64_t at = 0, step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at += (d == dim ? k : i % shape[d]) * step;
    step *= other[d];
    i /= shape[d];
  }
  return at;
}

std::int64_t coordinate(const Shape& shape, std::int64_t i, int dim) {
  for (int d = shape.rank() - 1; d > dim; --d) i /= shape[d];
  return i % shape[dim];
}

TEST(IndexCpu, GatherAndScatterAdd) {
  const Shape shape{5, 40, 6};
  for (int dim = 0; dim < 3; ++dim) {
    Shape small = shape;
    small[dim] = 3;
    for (const DType dtype : test::kAllDtypes) {
      for (const Lay lay : kLays) {
        const Tensor index = numbers(small, DType::int64, lay, 0, static_cast<int>(shape[dim]));
        const Tensor x = numbers(shape, dtype, lay, 0, span_of(dtype)), out = blank(small, dtype, lay);
        ASSERT_EQ(backend().run(calls::Gather{x, index, out, dim}), Outcome::ok);
        for (std::int64_t i = 0; i < out.numel(); ++i)
          ASSERT_EQ(get(out, i), get(x, moved(small, i, dim, static_cast<std::int64_t>(get(index, i)), shape)));
        const Tensor sum = numbers(shape, dtype, lay, 0, span_of(dtype));
        std::vector<double> expected;
        for (std::int64_t i = 0; i < sum.numel(); ++i) expected.push_back(get(sum, i));
        for (std::int64_t i = 0; i < out.numel(); ++i) {
          double& e =
              expected[static_cast<std::size_t>(moved(small, i, dim, static_cast<std::int64_t>(get(index, i)), shape))];
          e = joined(e, get(out, i), dtype);
        }
        ASSERT_EQ(backend().run(calls::ScatterAdd{out, index, sum, dim}), Outcome::ok);
        for (std::int64_t i = 0; i < sum.numel(); ++i) ASSERT_EQ(get(sum, i), expected[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(IndexCpu, SelectAndAdd) {
  const Shape shape{5, 40, 6};
  for (int dim = 0; dim < 3; ++dim) {
    Shape chosen = shape;
    chosen[dim] = 9;
    const Tensor index = numbers({9}, DType::int64, Lay::kGaps, 0, static_cast<int>(shape[dim]));
    for (const DType dtype : test::kAllDtypes) {
      for (const auto& [from, to] : kLayPairs) {
        const Tensor x = numbers(shape, dtype, from, 0, span_of(dtype)), out = blank(chosen, dtype, to);
        ASSERT_EQ(backend().run(calls::IndexSelect{x, index, out, dim}), Outcome::ok);
        const Tensor sum = numbers(shape, dtype, from, 0, span_of(dtype));
        std::vector<double> expected;
        for (std::int64_t i = 0; i < sum.numel(); ++i) expected.push_back(get(sum, i));
        for (std::int64_t i = 0; i < out.numel(); ++i) {
          const auto k = static_cast<std::int64_t>(get(index, coordinate(chosen, i, dim)));
          ASSERT_EQ(get(out, i), get(x, moved(chosen, i, dim, k, shape))) << dim << " " << i;
          double& e = expected[static_cast<std::size_t>(moved(chosen, i, dim, k, shape))];
          e = joined(e, get(out, i), dtype);
        }
        ASSERT_EQ(backend().run(calls::IndexAdd{out, index, sum, dim}), Outcome::ok);
        for (std::int64_t i = 0; i < sum.numel(); ++i) ASSERT_EQ(get(sum, i), expected[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(IndexCpu, LongRunsAreAddedCompletely) {
  const Tensor x = numbers({3, 2500}), sum = blank({2, 2500}),
               index = numbers({3}, DType::int64, Lay::kContiguous, 1, 1);
  ASSERT_EQ(backend().run(calls::IndexAdd{x, index, sum, 0}), Outcome::ok);
  for (std::int64_t i = 0; i < 2500; ++i) {
    ASSERT_EQ(get(sum, i), 0);
    ASSERT_EQ(get(sum, 2500 + i), get(x, i) + get(x, 2500 + i) + get(x, 5000 + i)) << i;
  }
}

TEST(IndexCpu, OutOfRangeTouchesNothing) {
  for (const double wrong : {-1.0, 4.0, 1e15}) {
    const Tensor x = numbers({4, 4}, float32, Lay::kContiguous, 1), out = blank({4, 4});
    const Tensor each = numbers({4, 4}, DType::int64, Lay::kContiguous, 0, 4), few = blank({4}, DType::int64);
    set(each, 15, wrong);
    set(few, 3, wrong);
    for (const int dim : {0, 1}) {
      EXPECT_EQ(backend().run(calls::Gather{x, each, out, dim}), Outcome::index_out_of_range);
      EXPECT_EQ(backend().run(calls::ScatterAdd{x, each, out, dim}), Outcome::index_out_of_range);
      EXPECT_EQ(backend().run(calls::IndexSelect{x, few, out, dim}), Outcome::index_out_of_range);
      EXPECT_EQ(backend().run(calls::IndexAdd{x, few, out, dim}), Outcome::index_out_of_range);
    }
    for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(get(out, i), 0);
  }
}

/// For every division of a run among threads.
TEST(IndexCpu, RunsOfAnyLength) {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const std::int64_t run : {1, 15, 16, 17, 33, 64, 66, 100, 130})
      for (const DType dtype : test::kAllDtypes) {
        const Tensor x = numbers({700, run}, dtype, Lay::kContiguous, 0, 2), sum = blank({3, run}, dtype);
        // For every third run all are added to one row, which the eight bits of bfloat16 cannot hold.
        const bool to_one = run % 3 == 0 && dtype != DType::bfloat16;
        const Tensor index = numbers({700}, DType::int64, Lay::kContiguous, 0, to_one ? 1 : 3);
        std::vector<double> expected(static_cast<std::size_t>(3 * run));
        for (std::int64_t i = 0; i < x.numel(); ++i) {
          double& e =
              expected[static_cast<std::size_t>(static_cast<std::int64_t>(get(index, i / run)) * run + i % run)];
          e = joined(e, get(x, i), dtype);
        }
        ASSERT_EQ(backend().run(calls::IndexAdd{x, index, sum, 0}), Outcome::ok);
        for (std::int64_t i = 0; i < sum.numel(); ++i) {
          double want = expected[static_cast<std::size_t>(i)];
          if (dtype == DType::uint8) want = std::fmod(want, 256);
          if (dtype == DType::int8) want = static_cast<std::int8_t>(static_cast<std::int64_t>(want));
          ASSERT_EQ(get(sum, i), want) << run << " " << name_of(dtype);
        }
      }
  }
  set_num_threads(before);
}

TEST(IndexCpu, SameBitsForAnyNumberOfThreads) {
  const Tensor x = test::reals({3000, 64});
  const Tensor index = numbers({3000}, DType::int64, Lay::kContiguous, 0, 7);
  test::expect_thread_invariant([&] {
    const Tensor out = blank({10, 64});
    EXPECT_EQ(backend().run(calls::IndexAdd{x, index, out, 0}), Outcome::ok);
    return out;
  });
  const Tensor each = numbers({3000, 64}, DType::int64, Lay::kContiguous, 0, 10);
  test::expect_thread_invariant([&] {
    const Tensor out = blank({10, 64});
    EXPECT_EQ(backend().run(calls::ScatterAdd{x, each, out, 0}), Outcome::ok);
    return out;
  });
}

}  // namespace
}  // namespace minnow
