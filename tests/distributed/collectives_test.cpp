#include <cmath>
#include <gtest/gtest.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/process.h>
#include <minnow/minnow.h>
#include "devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using dist::ReduceOp;
using test::error_of;
using test::expect_contains;

class Collectives : public test::DeviceTest {
 protected:
  /// Numbers that each rank has in another order: small enough to be exact in every dtype.
  Tensor values(const Shape& shape, DType dtype, int rank) const {
    const Tensor i = arange(shape.numel(), {.dtype = int64});
    return remainder(i * (rank + 2) + rank, 5).reshape(shape).to(dtype).to(device());
  }
  /// What one process computes of all ranks' values.
  Tensor expected(const Shape& shape, DType dtype, ReduceOp op) const {
    const bool half = dtype == float16 || dtype == bfloat16;
    std::vector<Tensor> all;
    for (int r = 0; r < dist::size(); ++r) all.push_back(values(shape, dtype, r).cpu().to(half ? float32 : dtype));
    const Tensor rows = stack(all);
    switch (op) {
      case ReduceOp::sum: return (dtype == bool_ ? any(rows, {0}) : sum(rows, {0})).to(dtype);
      case ReduceOp::mean: return mean(rows, {0}).to(dtype);
      case ReduceOp::max: return (dtype == bool_ ? any(rows, {0}) : amax(rows, {0})).to(dtype);
      case ReduceOp::min: break;
    }
    return (dtype == bool_ ? all_of(rows) : amin(rows, {0})).to(dtype);
  }
  static Tensor all_of(const Tensor& rows) { return minnow::all(rows, {0}); }
  /// The sums are exact.  NCCL multiplies by 1 / size for a mean.
  static bool matches(const Tensor& x, const Tensor& want, ReduceOp op) {
    if (op != ReduceOp::mean || !device().is_cuda()) return equal(x.cpu(), want);
    const double bound = want.dtype() == bfloat16 ? 0.02 : want.dtype() == float16 ? 2e-3 : 1e-6;
    return allclose(x.cpu(), want, bound, bound);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Collectives, test::all_devices(), test::device_test_name);

constexpr DType kDTypes[] = {float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_};
const Shape kShapes[] = {{}, {0}, {1}, {7}, {3, 0, 2}, {5, 3}, {1000, 7}};

TEST_P(Collectives, AllReduce) {
  for (const DType dtype : kDTypes)
    for (const Shape& shape : kShapes)
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min}) {
        if (op == ReduceOp::mean && !is_floating_point(dtype)) continue;
        const Tensor x = values(shape, dtype, dist::rank());
        dist::all_reduce(x, op);
        EXPECT_TRUE(matches(x, expected(shape, dtype, op), op)) << x.cpu() << expected(shape, dtype, op);
        EXPECT_EQ(x.device(), device());
      }
}

TEST_P(Collectives, BroadcastFromEachRank) {
  for (int root = 0; root < dist::size(); ++root)
    for (const DType dtype : kDTypes)
      for (const Shape& shape : kShapes) {
        const Tensor x = values(shape, dtype, dist::rank());
        dist::broadcast(x, root);
        EXPECT_TRUE(equal(x, values(shape, dtype, root)));
      }
}

TEST_P(Collectives, AllGatherAndReduceScatter) {
  for (const DType dtype : kDTypes)
    for (const Shape& shape : kShapes) {
      const Tensor all = dist::all_gather(values(shape, dtype, dist::rank()));
      EXPECT_EQ(all.device(), device());
      for (int r = 0; r < dist::size(); ++r) EXPECT_TRUE(equal(all[r], values(shape, dtype, r)));
      Shape rows{dist::size()};
      for (int d = 0; d < shape.rank(); ++d) rows.push_back(shape[d]);
      const Tensor row = dist::reduce_scatter(values(rows, dtype, dist::rank()), ReduceOp::max);
      EXPECT_TRUE(equal(row.cpu(), expected(rows, dtype, ReduceOp::max)[dist::rank()]));
      const Tensor total = dist::reduce_scatter(values(rows, dtype, dist::rank()));
      EXPECT_TRUE(equal(total.cpu(), expected(rows, dtype, ReduceOp::sum)[dist::rank()]));
    }
}

TEST_P(Collectives, StridedTensors) {
  const Tensor whole = values({6, 4}, float32, dist::rank());
  const Tensor part = whole.t().narrow(0, 1, 2);
  const Tensor want = expected({6, 4}, float32, ReduceOp::sum).t().narrow(0, 1, 2);
  dist::all_reduce(part);
  EXPECT_TRUE(equal(part.cpu(), want));
  EXPECT_TRUE(equal(whole.t()[0], values({6, 4}, float32, dist::rank()).t()[0]));
}

TEST_P(Collectives, SendAndReceiveInARing) {
  const int next = (dist::rank() + 1) % dist::size(), last = (dist::rank() + dist::size() - 1) % dist::size();
  if (dist::size() == 1) return;
  const Tensor x = values({5, 3}, float32, dist::rank()), y = zeros({5, 3}, {float32, device()});
  for (int turn = 0; turn < 2; ++turn) {  // even ranks send first
    if (dist::rank() % 2 == turn) dist::send(x, next);
    else if (turn == 0 || dist::rank() != 0 || dist::size() % 2 == 0) dist::recv(y, last);
    if (turn == 0 && dist::size() % 2 == 1 && dist::rank() == 0) dist::recv(y, last);
  }
  EXPECT_TRUE(equal(y, values({5, 3}, float32, last)));
}

TEST(CollectivesOnCpu, SumsHaveTheOrderOfTheRanks) {
  // Each rank's numbers are of another size: any other order has other bits.
  const auto of = [](int rank) { return (arange(1001, {.dtype = float32}) + 1) * std::pow(10.0, rank * 3 % 7) / 7; };
  Tensor want = of(0);
  for (int r = 1; r < dist::size(); ++r) want = want + of(r);
  const Tensor x = of(dist::rank());
  dist::all_reduce(x);
  EXPECT_TRUE(equal(x, want));
}

TEST(CollectivesOnCpu, HalvesAreAddedInFloat) {
  for (const DType dtype : {bfloat16, float16}) {
    const Tensor x = full({3}, dist::rank() == 0 ? 256.0 : 0.75, {.dtype = dtype});
    dist::all_reduce(x);
    EXPECT_TRUE(equal(x, full({3}, 256.0 + 0.75 * (dist::size() - 1), {.dtype = float32}).to(dtype)));
  }
}

TEST(CollectivesOnCpu, LargeTensorsGoInSegments) {
  const std::int64_t n = 52'000'003;  // 208 MB
  const Tensor whole = full({n + 1000}, dist::rank() + 1.0, {.dtype = float32}), x = whole.narrow(0, 0, n);
  dist::all_reduce(x);
  EXPECT_TRUE(equal(whole.narrow(0, n, 1000), full({1000}, dist::rank() + 1.0, {.dtype = float32})));  // not touched
  const double total = dist::size() * (dist::size() + 1) / 2;
  EXPECT_EQ(x.min().item<float>(), static_cast<float>(total));
  EXPECT_EQ(x.max().item<float>(), static_cast<float>(total));
  const Tensor few = full({5'000'001}, dist::rank(), {.dtype = int32}), all = dist::all_gather(few);
  for (int r = 0; r < dist::size(); ++r) {
    EXPECT_EQ(all[r].min().item<int>(), r);
    EXPECT_EQ(all[r].max().item<int>(), r);
  }
}

TEST(CollectivesOnCpu, SeveralInTheBackground) {
  const Tensor a = full({1000}, dist::rank(), {.dtype = float32}), b = full({10}, 1.0, {.dtype = float64});
  dist::Work first = dist::all_reduce_async(a), second = dist::all_reduce_async(b);
  second.wait();
  EXPECT_TRUE(first.is_done());
  first.wait();
  first.wait();  // no effect
  EXPECT_EQ(a[5].item<float>(), static_cast<float>(dist::size() * (dist::size() - 1) / 2));
  EXPECT_EQ(b[5].item<double>(), dist::size());
  const Tensor out = empty({dist::size(), 10}, {.dtype = float64});
  dist::all_gather_async(b, out).wait();
  EXPECT_TRUE(equal(out, full({dist::size(), 10}, static_cast<double>(dist::size()), {.dtype = float64})));
}

TEST(CollectivesOnCpu, AHandleThatIsReplacedIsWaitedFor) {
  const Tensor whole = full({4, 4}, dist::rank() + 1, {.dtype = float32}), x = whole.t().narrow(0, 1, 2);
  dist::Work work = dist::all_reduce_async(x);
  work = dist::all_reduce_async(ones({3}));
  EXPECT_TRUE(equal(x, full({2, 4}, dist::size() * (dist::size() + 1) / 2, {.dtype = float32})));
  work.wait();
}

TEST(CollectivesOnCpu, AFailureThatNobodyWaitsForIsAWarning) {
  if (dist::size() == 1) return;
  std::string warning;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { warning = text; });
  static_cast<void>(dist::all_reduce_async(ones({dist::rank() == 1 ? 3 : 4})));
  set_warning_handler(before);
  expect_contains(warning, "nobody has waited for all_reduce_async, which has failed");
  expect_contains(warning, "rank 1  all_reduce  float32[3]  sum");
}

TEST(CollectivesOnCpu, RanksThatDifferAreNamed) {
  if (dist::size() == 1) return;
  const bool odd = dist::rank() == 1;
  const auto refused = [](const auto& call, const std::vector<std::string>& texts) {
    const std::string what = error_of<ValueError>(call);
    for (const std::string& text : texts) expect_contains(what, text);
    expect_contains(what, "collectives_test.cpp");
  };
  refused([&] { dist::all_reduce(ones({odd ? 3 : 4})); },
          {"the ranks do not call the same", "rank 0  all_reduce  float32[4]  sum", "rank 1  all_reduce  float32[3]"});
  refused([&] { dist::all_reduce(ones({4}, {.dtype = odd ? float64 : float32})); }, {"rank 1  all_reduce  float64[4]"});
  refused([&] { dist::all_reduce(ones({4}), odd ? ReduceOp::max : ReduceOp::sum); }, {"float32[4]  max"});
  refused([&] { odd ? dist::broadcast(ones({4})) : dist::all_reduce(ones({4})); },
          {"rank 1  broadcast  float32[4]  from rank 0"});
  refused([&] { odd ? dist::barrier() : dist::broadcast(ones({4}), 1); }, {"rank 1  barrier"});
  Tensor x = ones({2});
  dist::all_reduce(x);  // goes on
  EXPECT_EQ(x[0].item<float>(), static_cast<float>(dist::size()));
}

TEST(CollectivesOnCpu, RefusesBadArguments) {
  expect_contains(error_of<ValueError>([] { dist::broadcast(ones({2}), dist::size()); }), "ranks go from 0 to");
  expect_contains(error_of<ValueError>([] { dist::send(ones({2}), -1); }), "to is rank -1");
  expect_contains(error_of<ValueError>([] { dist::send(ones({2}), dist::rank()); }), "to is this rank itself");
  expect_contains(error_of<ValueError>([] { dist::recv(ones({2}), dist::rank()); }), "from is this rank itself");
  expect_contains(error_of<DTypeError>([] { dist::all_reduce(ones({2}, {.dtype = int64}), ReduceOp::mean); }), "mean");
  expect_contains(error_of<ShapeError>([] { dist::reduce_scatter(ones({dist::size() + 1})); }), "row for each rank");
  expect_contains(error_of<ShapeError>([] { dist::all_gather_async(ones({2}), ones({2})).wait(); }),
                  "out does not fit");
  expect_contains(error_of<ShapeError>([] { dist::all_reduce(ones({1}).expand({4})); }),
                  "several elements share memory");
  EXPECT_THROW(dist::all_reduce(Tensor()), ValueError);
  EXPECT_THROW(dist::Process(), BackendError);
}

}  // namespace
}  // namespace minnow
