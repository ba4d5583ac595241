#include <cmath>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

Tensors three(const Unique& u) { return {u.values, u.inverse, u.counts}; }

OpCases searched() {
  OpCases cases;
  for (const bool right : {false, true}) {
    const std::string name = right ? "right" : "left";
    cases.push_back({.function = "searchsorted",
                     .variant = name,
                     .call = one([=](const Tensors& x) { return searchsorted(x[0], x[1], right); }),
                     .inputs = {{values({6}), values({3, 4})},
                                {values({3, 5}), values({3, 2})},
                                {values({0}), values({2})},
                                {values({4}), values({0})},
                                {values({4}), values({})}},
                     .dtypes = all_dtypes(),
                     .golden = {"search: searchsorted/" + name}});
    cases.push_back({.function = "bucketize",
                     .variant = name,
                     .call = one([=](const Tensors& x) { return bucketize(x[0], x[1], right); }),
                     .inputs = {{values({3, 4}), values({6})}},
                     .dtypes = all_dtypes(),
                     .golden = {"search: bucketize/" + name}});
  }
  cases.push_back({.function = "histc",
                   .variant = "4",
                   .call = one([](const Tensors& x) { return histc(x[0], 4); }),
                   .inputs = {{values({3, 4})}, {values({0})}, {values({})}},
                   .golden = {"search: histc/4"}});
  cases.push_back({.function = "histc",
                   .variant = "range",
                   .call = one([](const Tensors& x) { return histc(x[0], 4, 0, 1); }),
                   .inputs = {{values({3, 4})}},
                   .golden = {"search: histc/4,0,1"}});
  cases.push_back({.function = "unique",
                   .call = [](const Tensors& x) { return three(unique(x[0], true, true)); },
                   .inputs = {{values({3, 4})}, {values({0, 2})}, {values({})}},
                   .dtypes = all_dtypes(),
                   .golden = {"search: unique"}});
  cases.push_back({.function = "unique_consecutive",
                   .call = [](const Tensors& x) { return three(unique_consecutive(x[0], true, true)); },
                   .inputs = {{values({3, 4})}, {values({0, 2})}, {values({})}},
                   .dtypes = all_dtypes(),
                   .golden = {"search: unique_consecutive"}});
  for (OpCase& c : cases) c.gradient = Gradient::kNone, c.exact = false;  // rounding makes elements equal
  return cases;
}

const Register kSearched(searched);

class Search : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Search, all_devices(), device_test_name);

TEST_P(Search, HistcCountsManyElements) {
  const Tensor x = (arange(100000) % 5).to(float32).to(device());
  EXPECT_EQ(histc(x, 5, 0, 5).to_vector<double>(), std::vector<double>(5, 20000));
  EXPECT_EQ(histc(x, 2, 1, 3).to_vector<double>(), (std::vector<double>{20000, 40000}));
}

TEST_P(Search, HistcCountsHalvesAndTinyRanges) {
  const auto ends = [&](const Tensor& x, std::int64_t bins, double max = 0) {
    const Tensor counts = histc(x.to(device()), bins, 0, max);
    EXPECT_EQ(counts.dtype(), x.dtype());
    EXPECT_EQ(counts.numel(), bins);
    return std::vector<double>{counts(0).item(), counts(bins - 1).item(), counts.to(float64).sum().item()};
  };
  const std::vector<double> both{1, 1, 2};
  EXPECT_EQ(ends(tensor({0.0, 1.0}, bfloat16), 1000), both);
  EXPECT_EQ(ends(tensor({0.0, 1.0}, float16), 4000), both);
  EXPECT_EQ(ends(tensor({0.0, 1e-6}, float16), 100, 1e-6), both);
  EXPECT_EQ(ends(tensor({0.0, 1e-39}), 10, 1e-39), both);
  EXPECT_EQ(ends(tensor({0.0, 1e-310}, float64), 10, 1e-310), both);
  EXPECT_EQ(ends(tensor({0.0, 1.0}), (1 << 24) + 3), both);
  EXPECT_EQ(histc(tensor({-3e38, 3e38}).to(device()), 10, -3e38, 3e38)(9).item(), 1);
  EXPECT_EQ(histc(ones({5000}, {bfloat16, device()}), 1)(0).item(), 4992);  // the nearest of 5000
  EXPECT_EQ(histc(tensor({0.7}).to(device()), 10, 0, 1)(7).item(), 1);      // as PyTorch's float32
}

TEST_P(Search, RefusesWhatDoesNotMatch) {
  const Tensor edges = arange(3, {float32, device()}), x = zeros({2, 3}, {float32, device()});
  EXPECT_THROW((void)searchsorted(edges, x.to(float64)), DTypeError);
  EXPECT_THROW((void)searchsorted(zeros({3, 3}, device()), x), ShapeError);
  EXPECT_THROW((void)searchsorted(zeros({}, device()), x), ShapeError);
  EXPECT_THROW((void)bucketize(x, zeros({2, 3}, device())), ShapeError);
  EXPECT_THROW((void)histc(x, 0), ValueError);
  EXPECT_THROW((void)histc(x, 3, 2, 1), ValueError);
  EXPECT_THROW((void)histc(x, 3, 0, INFINITY), ValueError);
  EXPECT_THROW((void)histc(full({2}, NAN, device())), ValueError);
}

// Few elements are compared, many are searched for.
TEST_P(Search, IsinOfManyIsThatOfFew) {
  for (const double most : {3.0, double{INFINITY}, double{NAN}}) {
    const Tensor x = tensor({1.0, 2.5, most, -4.0, 0.0, double{INFINITY}}, {float32, device()}),
                 elements = tensor({most, 0.0, 7.0, 2.5}, {float32, device()});
    const Tensor few = isin(x, elements);
    EXPECT_EQ(few.to_vector<bool>(), (std::vector<bool>{false, true, most == most, false, true, most == INFINITY}));
    EXPECT_TRUE(equal(isin(x.unsqueeze(0).expand({50, 6}), elements), few.unsqueeze(0).expand({50, 6})));
  }
}

TEST_P(Search, UniqueGivesOnlyWhatIsAskedFor) {
  const Unique found = tensor({3, 1, 3}, device()).unique();
  EXPECT_EQ(found.values.to_vector<int>(), (std::vector<int>{1, 3}));
  EXPECT_FALSE(found.inverse.defined());
  EXPECT_FALSE(found.counts.defined());
}

}  // namespace
}  // namespace minnow::test
