#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/threads.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

Tensors both(const Ordered& y) { return {y.values, y.indices}; }

template <class F> Function pair_of(F function) {
  return [function](const Tensors& x) { return both(function(x[0])); };
}

OpCases orders() {
  OpCases cases;
  for (const bool descending : {false, true})
    for (const int dim : {0, 1, -1}) {
      const std::string name = (descending ? "descending," : "ascending,") + std::to_string(dim);
      cases.push_back({.function = "sort",
                       .variant = name,
                       .call = pair_of([=](const Tensor& x) { return sort(x, dim, descending); }),
                       .inputs = {{values({3, 4})}, {values({2, 0, 3})}},
                       .golden = {"sort: sort/" + name}});
    }
  for (const bool descending : {false, true})
    cases.push_back({.function = "argsort",
                     .variant = descending ? "descending" : "ascending",
                     .call = one([=](const Tensors& x) { return argsort(x[0], 1, descending); }),
                     .inputs = {{values({3, 4})}, {values({3, 0})}},
                     .gradient = Gradient::kNone,
                     .golden = {std::string("sort: argsort/") + (descending ? "descending" : "ascending")}});
  const auto add = [&](const std::string& function, const std::string& variant, const Function& call,
                       const std::vector<Inputs>& inputs) {
    cases.push_back({.function = function,
                     .variant = variant,
                     .call = call,
                     .inputs = inputs,
                     .golden = {"sort: " + function + "/" + variant}});
  };
  add("sort", "long", pair_of([](const Tensor& x) { return sort(x, 0); }), {{values({170, 2})}, {values({})}});
  cases.back().gradient = Gradient::kUnchecked;  // of elements that are nearly equal
  add("topk", "2", pair_of([](const Tensor& x) { return topk(x, 2); }), {{values({3, 4})}, {values({0, 2})}});
  add("topk", "smallest 3,1", pair_of([](const Tensor& x) { return topk(x, 3, 1, false); }), {{values({2, 5, 3})}});
  add("topk", "all", pair_of([](const Tensor& x) { return topk(x, 3, 0); }), {{values({3, 2})}});
  add("topk", "none", pair_of([](const Tensor& x) { return topk(x, 0); }), {{values({3, 2})}, {values({3, 0})}});
  cases.back().gradient = Gradient::kUnchecked;  // of nothing
  add("topk", "nan", pair_of([](const Tensor& x) { return topk(x, 2); }), {{values({2, 3000})}});
  cases.back().gradient = Gradient::kUnchecked;  // of many elements
  add("kthvalue", "2", pair_of([](const Tensor& x) { return kthvalue(x, 2); }), {{values({3, 4})}});
  add("kthvalue", "3,0,keep", pair_of([](const Tensor& x) { return kthvalue(x, 3, 0, true); }), {{values({3, 4})}});
  add("kthvalue", "1,1", pair_of([](const Tensor& x) { return kthvalue(x, 1, 1); }), {{values({2, 3, 2})}});
  add("median", "all", one([](const Tensors& x) { return median(x[0]); }),
      {{values({3, 4})}, {values({5})}, {values({})}});
  add("median", "1", pair_of([](const Tensor& x) { return median(x, 1); }), {{values({3, 4})}, {values({0, 3})}});
  add("median", "-1,keep", pair_of([](const Tensor& x) { return median(x, -1, true); }),
      {{values({2, 5})}, {values({})}});
  add("mode", "-1", one([](const Tensors& x) { return mode(x[0]).values; }), {{values({3, 4})}, {values({})}});
  add("mode", "0,keep", one([](const Tensors& x) { return mode(x[0], 0, true).values; }), {{values({3, 4})}});
  for (OpCase& c : cases) {
    c.dtypes = all_dtypes();
    c.exact = false;  // halves are equal more often, which shows in the indices
  }
  return cases;
}

OpCases running() {
  OpCases cases;
  for (const int dim : {0, 1, -1}) {
    const auto add = [&](const std::string& function, const Function& call) {
      cases.push_back({.function = function,
                       .variant = std::to_string(dim),
                       .call = call,
                       .inputs = {{values({3, 4})}, {values({2, 0, 3})}, {}, {}},
                       .dtypes = all_dtypes(),
                       .golden = {"scan: " + function + "/" + std::to_string(dim)}});
      if (dim == 0) cases.back().inputs.push_back({values({})});
    };
    add("cumprod", one([=](const Tensors& x) { return cumprod(x[0], dim); }));
    cases.back().inputs[2] = {values({2, 30}, 0.9, 1.1)};
    cases.back().inputs[3] = {values({2, 3, 33})};
    add("logcumsumexp", one([=](const Tensors& x) { return logcumsumexp(x[0], dim); }));
    cases.back().inputs[2] = {values({2, 30})};
    cases.back().inputs[3] = {values({2, 3, 33})};
    cases.back().dtypes = floating_point_dtypes();
    add("cummax", pair_of([=](const Tensor& x) { return cummax(x, dim); }));
    add("cummin", pair_of([=](const Tensor& x) { return cummin(x, dim); }));
    for (std::size_t k = cases.size() - 2; k < cases.size(); ++k)
      cases[k].inputs[2] = {values({2, 30})}, cases[k].inputs[3] = {values({2, 3, 33})}, cases[k].exact = false;
  }
  return cases;
}

const Register kOrders(orders);
const Register kRunning(running);

class Sort : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Sort, all_devices(), device_test_name);

TEST_P(Sort, RefusesWhatIsOutOfRange) {
  const Tensor x = zeros({2, 3}, {float32, device()});
  EXPECT_THROW((void)x.sort(2), IndexError);
  EXPECT_THROW((void)x.topk(4), ValueError);
  EXPECT_THROW((void)x.topk(-1), ValueError);
  EXPECT_THROW((void)x.kthvalue(0), ValueError);
  EXPECT_THROW((void)x.kthvalue(4), ValueError);
  EXPECT_THROW((void)zeros({2, 0}, device()).median(1), ShapeError);
  EXPECT_THROW((void)zeros({2, 0}, device()).mode(), ShapeError);
  EXPECT_THROW((void)zeros({0}, {int64, device()}).median(), ShapeError);
  EXPECT_THROW((void)x.cumprod(-3), IndexError);
  EXPECT_THROW((void)x.cummax(2), IndexError);
}

TEST_P(Sort, ModeGivesTheLastOfTheMostFrequent) {
  const Tensor x = tensor({{1, 3, 3, 1, 2}, {5, 4, 3, 2, 1}}, device());
  EXPECT_EQ(x.mode().values.to_vector<int>(), (std::vector<int>{1, 1}));
  EXPECT_EQ(x.mode().indices.to_vector<int>(), (std::vector<int>{3, 4}));
}

/// The NaN of 0 / 0 has a sign on some processors.
TEST_P(Sort, EveryNaNIsTheLargest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : floating_point_dtypes()) {
    const Tensor x = tensor({1.0, -nan, kInfinity, nan, -kInfinity}).to(dtype).to(device());
    EXPECT_TRUE(std::signbit(x.cpu().to(float64)(1).item())) << name_of(dtype);
    EXPECT_EQ(x.argsort().to_vector<int>(), (std::vector<int>{4, 0, 2, 1, 3})) << name_of(dtype);
    EXPECT_EQ(x.argsort(0, true).to_vector<int>(), (std::vector<int>{1, 3, 2, 0, 4})) << name_of(dtype);
    EXPECT_EQ(x.topk(3).indices.to_vector<int>(), (std::vector<int>{1, 3, 2})) << name_of(dtype);
  }
}

/// Long rows, which several threads sort, and parts of them.
TEST(SortSizes, AgreeWithTheStandardLibrary) {
  for (const std::int64_t n : {150, 161, 4097, 70'000, 200'000})
    for (const DType dtype : {float32, float64, int64, int16}) {
      manual_seed(3);
      const Tensor x = (randn({n}, float64) * 1000).to(dtype);  // with equal elements
      const std::vector<double> numbers = x.to_vector<double>();
      std::vector<std::int64_t> order(numbers.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
      const auto less = [&](std::int64_t a, std::int64_t b) {
        return numbers[static_cast<std::size_t>(a)] < numbers[static_cast<std::size_t>(b)];
      };
      std::stable_sort(order.begin(), order.end(), less);
      const int before = num_threads();
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        EXPECT_EQ(x.argsort().to_vector<std::int64_t>(), order) << n << " " << threads;
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{7}, std::int64_t{20}, n / 8, n / 2}) {
          const std::vector<std::int64_t> want(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
          EXPECT_EQ(x.topk(k, 0, false).indices.to_vector<std::int64_t>(), want) << n << " " << k << " " << threads;
        }
      }
      set_num_threads(before);
    }
}

/// Numbers that differ in their last bits alone, few and many of the same upper bits, in no order and several times.
TEST(SortSizes, OfFloat64LooksAtEveryBit) {
  for (const std::int64_t n : {500, 4097, 20'000})
    for (const std::int64_t near : {1, 7, 300, 4000}) {
      std::vector<double> numbers(static_cast<std::size_t>(n));
      std::vector<std::int64_t> order(numbers.size());
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t shuffled = i * 7919 % (n / 2);
        numbers[static_cast<std::size_t>(i)] =
            static_cast<double>(shuffled / near) - 20 + 0x1p-44 * static_cast<double>(shuffled % near);
        order[static_cast<std::size_t>(i)] = i;
      }
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return numbers[static_cast<std::size_t>(a)] < numbers[static_cast<std::size_t>(b)];
      });
      EXPECT_EQ(tensor(numbers).argsort().to_vector<std::int64_t>(), order) << n << " " << near;
    }
}

/// Of rows of several lengths with equal elements and NaN, by counting.
TEST_P(Sort, TakesOneElementOfEachRow) {
  manual_seed(2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {1, 2, 5, 64, 170, 2500, 70000}) {
    Tensor x = randint(-20, 20, {3, n}).to(float32);
    x = cat({x, where(lt(rand(x.shape()), 0.6), nan, x), full({1, n}, nan)}, 0);
    const Tensor there = x.to(device());
    const Tensor median = there.median(1).values.cpu(), skipped = there.nanmedian(1).values.cpu();
    const Ordered mode = there.mode(1);
    for (std::int64_t r = 0; r < x.size(0); ++r) {
      std::vector<float> row = x.select(0, r).to_vector<float>(), numbers;
      std::copy_if(row.begin(), row.end(), std::back_inserter(numbers), [](float v) { return v == v; });
      std::sort(numbers.begin(), numbers.end());
      const auto m = static_cast<std::ptrdiff_t>(numbers.size());
      const auto at = [](const Tensor& t, std::int64_t i) { return t.select(0, i).item<float>(); };
      if (m == 0) {
        for (const Tensor& t : {median, skipped, mode.values.cpu()}) EXPECT_TRUE(std::isnan(at(t, r))) << n;
        continue;
      }
      EXPECT_EQ(at(skipped, r), numbers[static_cast<std::size_t>((m - 1) / 2)]) << n;
      if (m == n) {
        EXPECT_EQ(at(median, r), at(skipped, r)) << n;
      } else EXPECT_TRUE(std::isnan(at(median, r))) << n;
      float most = numbers[0];
      const auto count = [&](float v) { return std::count(numbers.begin(), numbers.end(), v); };
      for (float v = -20; v < 20; ++v)
        if (count(v) > count(most)) most = v;
      EXPECT_EQ(at(mode.values.cpu(), r), most) << n;
      const auto last = std::find(row.rbegin(), row.rend(), most);
      EXPECT_EQ(mode.indices.cpu().select(0, r).item<std::int64_t>(), row.rend() - last - 1) << n;
    }
  }
}

/// Columns of a matrix with few different elements, on each device.
TEST_P(Sort, OfManyRowsKeepsTheOrderOfEqualElements) {
  manual_seed(1);
  const Tensor x = randint(0, 5, {300, 40}).to(float32), there = x.to(device());
  for (const int dim : {0, 1}) {
    const Ordered want = x.sort(dim, true), got = there.sort(dim, true);
    EXPECT_TRUE(equal(got.values.cpu(), want.values));
    EXPECT_TRUE(equal(got.indices.cpu(), want.indices));
    EXPECT_TRUE(equal(there.topk(7, dim).indices.cpu(), want.indices.narrow(dim, 0, 7)));
    const Tensor ahead = want.indices.narrow(dim, 1, x.size(dim) - 1),
                 back = want.indices.narrow(dim, 0, x.size(dim) - 1);
    const Tensor other = ne(want.values.narrow(dim, 1, x.size(dim) - 1), want.values.narrow(dim, 0, x.size(dim) - 1));
    EXPECT_TRUE(all(logical_or(other, ahead > back)).item<bool>());
  }
}

/// On a GPU by selection, not by sorting.
TEST_P(Sort, TheFirstOfManyRowsAreThoseOfASort) {
  manual_seed(2);
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, bool_}) {
    Tensor x = randint(dtype == uint8 || dtype == bool_ ? 0 : -9, 9, {40, 700}).to(dtype);
    if (is_floating_point(dtype)) {
      x = where(x == 3, full_like(x, std::numeric_limits<double>::quiet_NaN()), x);
      x = where(x == 4, full_like(x, -0.0), x);
      x = where(x == 5, full_like(x, -std::numeric_limits<double>::infinity()), x);
    }
    const Tensor there = x.to(device());
    for (const bool largest : {true, false}) {
      const Ordered want = x.sort(1, largest);
      for (const std::int64_t k : {1, 3, 64, 65}) {
        const Ordered got = there.topk(k, 1, largest);
        EXPECT_TRUE(equal(got.indices.cpu(), want.indices.narrow(1, 0, k))) << name_of(dtype) << " " << k;
        EXPECT_TRUE(equal(nan_to_num(got.values.cpu().to(float64), 77),
                          nan_to_num(want.values.narrow(1, 0, k).to(float64), 77)))
            << name_of(dtype) << " " << k;
      }
    }
  }
}

class Scan : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Scan, all_devices(), device_test_name);

/// Few long lines, which a GPU scans in pieces; with gradients, which are reversed.
TEST_P(Scan, OfFewLongLinesIsThatOfTheCpu) {
  manual_seed(3);
  const auto of = [](const Tensor& x, int dim) {
    const Tensor y = x.detach().requires_grad_();
    const Ordered most = cummax(y, dim), least = cummin(y, dim);
    Tensors all{cumsum(y, dim), cumprod(y, dim), logcumsumexp(y, dim), most.values, least.values};
    Tensor loss = sum(all[0] * 1e-3);
    for (std::size_t i = 1; i < all.size(); ++i) loss = loss + sum(all[i]);
    loss.backward();
    all.push_back(y.grad());
    all.push_back(most.indices);
    all.push_back(least.indices);
    return all;
  };
  for (const Shape& shape : {Shape{9001}, Shape{2, 5003}, Shape{4097, 3}, Shape{4097, 33}, Shape{2, 4096, 2}}) {
    const int dim = shape.rank() == 1 || shape[0] > 1000 ? 0 : 1;
    const Tensor x = 1 + 0.01 * randn(shape, float64);
    const Tensors want = of(x, dim), got = of(x.to(device()), dim);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(allclose(got[i].detach().cpu(), want[i].detach(), 1e-9, 1e-9)) << shape[0] << " " << i;
    // Products that overflow behind the elements that have a gradient.
    const Tensor large = full(shape, 1.5, {DType::float32, device()}).requires_grad_();
    sum(cumprod(large, dim).narrow(dim, 0, 50)).backward();
    EXPECT_TRUE(all(isfinite(large.grad().narrow(dim, 0, 50))).item<bool>()) << shape[0];
    const Tensor counts = randint(0, 100, shape).to(int64);
    EXPECT_TRUE(equal(cumsum(counts.to(device()), dim).cpu(), cumsum(counts, dim)));
  }
}

}  // namespace
}  // namespace minnow::test
