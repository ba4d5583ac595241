#include <minnow/autograd/ops/conv.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenConv : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenConv, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;

Tensor third(const Tensors& x) { return x.size() > 2 ? x[2] : Tensor(); }

TEST_P(GoldenConv, Conv2dAgreesWithPyTorch) {
  const auto conv = [](const Conv2dOptions& options) -> Case {
    return {[options](const Tensors& x) { return Tensors{conv2d(x[0], x[1], third(x), options)}; }};
  };
  check(Book("conv", device()), {{"plain", conv({})},
                                 {"no bias", conv({})},
                                 {"stride 2,1", conv({.stride = {2, 1}})},
                                 {"padding 1,2", conv({.padding = {1, 2}})},
                                 {"dilation 2,1", conv({.dilation = {2, 1}})},
                                 {"groups 2", conv({.groups = 2})},
                                 {"depthwise", conv({.padding = 1, .groups = 4})},
                                 {"all", conv({.stride = 2, .padding = 2, .dilation = {1, 2}, .groups = 2})},
                                 {"1x1", conv({})},
                                 {"kernel 5x1", conv({.padding = {2, 0}})},
                                 {"whole image", conv({})},
                                 {"float64", conv({})}});
}

TEST_P(GoldenConv, PoolingAgreesWithPyTorch) {
  const auto largest = [](Pair kernel, const MaxPool2dOptions& options = {}) -> Case {
    return {[=](const Tensors& x) { return Tensors{max_pool2d(x[0], kernel, options)}; }};
  };
  const auto mean = [](Pair kernel, const AvgPool2dOptions& options = {}) -> Case {
    return {[=](const Tensors& x) { return Tensors{avg_pool2d(x[0], kernel, options)}; }};
  };
  check(Book("pool", device()),
        {{"max/2", largest(2)},
         {"avg/2", mean(2)},
         {"max/3,stride 2,padding 1", largest(3, {.stride = 2, .padding = 1})},
         {"avg/3,stride 2,padding 1", mean(3, {.stride = 2, .padding = 1})},
         {"max/3x2,stride 1x2", largest({3, 2}, {.stride = {1, 2}})},
         {"avg/3x2,stride 1x2", mean({3, 2}, {.stride = {1, 2}})},
         {"max/2,dilation 2", largest(2, {.dilation = 2})},
         {"max/ties", largest(2)},
         {"max/nan", largest(2)},
         {"avg/3,stride 2,padding 1,without pad", mean(3, {.stride = 2, .padding = 1, .count_include_pad = false})}});
}

}  // namespace
}  // namespace minnow::test
