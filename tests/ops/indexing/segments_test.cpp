#include <cmath>
#include <cstdint>
#include <limits>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/segments.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "devices.h"
#include "op_cases.h"
#include "thrown.h"

namespace minnow::test {
namespace {

OpCase segmented(const char* function, const std::string& variant, const Function& call, std::vector<Inputs> inputs) {
  return {.function = function,
          .variant = variant,
          .call = call,
          .inputs = std::move(inputs),
          .golden = {std::string("composed: ") + function + "/" + variant}};
}

/// With lengths of which the last one takes what the others leave.
Function reduced(Scatter reduce, SegmentOptions options) {
  return one([=](const Tensors& x) {
    const Tensor others = x[1].narrow(-1, 0, x[1].size(-1) - 1);
    const Tensor rest = sub(x[0].size(options.axis), sum(others, -1, true));
    return segment_reduce(x[0], reduce, cat({others, rest}, -1), options);
  });
}

OpCases segments() {
  const std::vector<Inputs> first{{values({5, 2}), indices({4}, 2)}, {values({4}), indices({2}, 3)}};
  const std::vector<Inputs> one_segment{{values({5, 2}), indices({1}, 1)}};
  const std::vector<Inputs> second{{values({2, 5, 2}), indices({2, 3}, 3)}};
  OpCases cases;
  for (const auto& [name, reduce] : std::initializer_list<std::pair<std::string, Scatter>>{{"sum", Scatter::sum},
                                                                                           {"prod", Scatter::prod},
                                                                                           {"mean", Scatter::mean},
                                                                                           {"max", Scatter::amax},
                                                                                           {"min", Scatter::amin}}) {
    const bool total = reduce == Scatter::sum || reduce == Scatter::prod;  // others are not finite without elements
    cases.push_back(segmented("segment_reduce", name, reduced(reduce, {}), total ? first : one_segment));
    cases.push_back(segmented("segment_reduce", name + ",initial", reduced(reduce, {.initial = 0.5}), first));
    cases.push_back(segmented("segment_reduce", name + ",1", reduced(reduce, {.axis = 1}),
                              total ? second : std::vector<Inputs>{{values({2, 5, 2}), indices({2, 1}, 1)}}));
    for (std::size_t i = 1; i <= 3; ++i) cases[cases.size() - i].exact = reduce != Scatter::prod;
  }
  cases.push_back(segmented("scatter_softmax", "0",
                            one([](const Tensors& x) { return scatter_softmax(x[0], x[1], 0); }),
                            {{values({5, 2}), indices({5, 1}, 3)}, {values({0, 2}), indices({0, 1}, 3)}}));
  cases.push_back(segmented("scatter_softmax", "-1",
                            one([](const Tensors& x) { return scatter_softmax(x[0], x[1], -1, 4); }),
                            {{values({2, 5}), indices({5}, 4)}, {values({}), indices({}, 1)}}));
  return cases;
}
const Register kSegments(segments);

class Segments : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Segments, all_devices(), device_test_name);

TEST_P(Segments, OfOneGroupAreASoftmax) {
  const Tensor x = randn({3, 7}, {float64, device()}), index = zeros({7}, {int64, device()});
  EXPECT_TRUE(allclose(scatter_softmax(mul(x, 300), index), softmax(mul(x, 300), -1)));
}

TEST_P(Segments, WithoutElementsHaveTheNeutralValue) {
  const Tensor x = ones({2}, {float32, device()}), lengths = tensor({0, 2}, device());
  EXPECT_TRUE(std::isnan(segment_reduce(x, Scatter::mean, lengths).to_vector<float>()[0]));
  EXPECT_EQ(segment_reduce(x, Scatter::amax, lengths).to_vector<float>()[0], -INFINITY);
  EXPECT_EQ(segment_reduce(x, Scatter::amin, lengths).to_vector<float>()[0], INFINITY);
  EXPECT_EQ(segment_reduce(x, Scatter::prod, lengths).to_vector<float>()[0], 1);
}

TEST_P(Segments, OfInfinitiesKeepTheirGradient) {
  for (const Scatter reduce : {Scatter::amax, Scatter::amin}) {
    const double worst = reduce == Scatter::amax ? -INFINITY : INFINITY;
    const Tensor x = tensor({worst, worst, 1.0}, float32).to(device()).requires_grad_();
    segment_reduce(x, reduce, tensor({2, 0, 1}, device())).sum().backward();
    EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0.5, 0.5, 1}));
    const Tensor source = x.detach().requires_grad_(), index = tensor({0, 0, 1}).to(device());
    const Tensor base = zeros({3}, {float32, device()}).requires_grad_();
    scatter_reduce(base, 0, index, source, reduce, false).sum().backward();
    EXPECT_EQ(source.grad().to_vector<float>(), (std::vector<float>{0.5, 0.5, 1}));
    EXPECT_EQ(base.grad().to_vector<float>(), (std::vector<float>{0, 0, 1}));
  }
}

TEST_P(Segments, RefuseNumbersThatOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = ones({3}, {float32, device()});
  EXPECT_THROW((void)segment_reduce(x, Scatter::sum, tensor({most, most, std::int64_t{5}}, device())), ValueError);
  EXPECT_THROW((void)scatter_softmax(x, tensor({std::int64_t{0}, most, std::int64_t{1}}, device())), IndexError);
  EXPECT_THROW((void)scatter_softmax(x, tensor({-7, -7, -7}, device())), IndexError);
}

TEST_P(Segments, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({4, 2}, device()), lengths = tensor({1, 3}, device());
  EXPECT_THROW((void)segment_reduce(x, Scatter::sum, tensor({1, 2}, device())), ValueError);
  EXPECT_THROW((void)segment_reduce(x, Scatter::sum, tensor({5, -1}, device())), ValueError);
  EXPECT_THROW((void)segment_reduce(x, Scatter::sum, lengths.to(float32)), DTypeError);
  EXPECT_THROW((void)segment_reduce(x.to(int64), Scatter::sum, lengths), DTypeError);
  EXPECT_THROW((void)segment_reduce(x, Scatter::sum, lengths, {.axis = 1}), ShapeError);
  expect_contains(error_of<IndexError>([&] { (void)segment_reduce(x, Scatter::sum, lengths, {.axis = -9}); }),
                  "dimension -9 is out of range");
  EXPECT_THROW((void)scatter_softmax(x, tensor({1, 3, 1}, device())), ShapeError);
  EXPECT_THROW((void)scatter_softmax(x.to(int64), tensor({1, 3}, device())), DTypeError);
  EXPECT_THROW(finish([&] { (void)scatter_softmax(x, tensor({1, 3}, device()), -1, 2); }), IndexError);
  EXPECT_THROW((void)scatter_softmax(x, tensor({0, 1}, device()), 2), IndexError);
}

}  // namespace
}  // namespace minnow::test
