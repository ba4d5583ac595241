#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenIndex : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenIndex, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;

template <class F> Case view(F function) {
  return {[function](const Tensors& x) { return Tensors{function(x[0])}; }};
}

TEST_P(GoldenIndex, AgreesWithPyTorch) {
  const auto joined = [](auto join, int dim) -> Case {
    return {[=](const Tensors& x) { return Tensors{join(x, dim, SourceLocation::current())}; }};
  };
  const auto select = [](auto pick, int dim) -> Case {
    return {[=](const Tensors& x) { return Tensors{pick(x[0], dim, x[1])}; }};
  };
  check(Book("index", device()),
        {{"cat", joined(cat, 1)},
         {"cat/-1", joined(cat, -1)},
         {"cat/promoted", joined(cat, 0)},
         {"stack", joined(stack, 1)},
         {"stack/-1", joined(stack, -1)},
         {"gather", select(gather, 1)},
         {"gather/small", select(gather, 0)},
         {"index_select", select(index_select, 2)},
         {"one_hot", view([](const Tensor& x) { return one_hot(x); })},
         {"one_hot/6", view([](const Tensor& x) { return one_hot(x, 6); })},
         {"slices", view([](const Tensor& x) { return x(0, all, slice(1, 4, 2)); })},
         {"newaxis", view([](const Tensor& x) { return x(ellipsis, newaxis, -1); })},
         {"permute", view([](const Tensor& x) {
            return x.permute({2, 0, 1}) * 2;
          })},
         {"transpose,reshape", view([](const Tensor& x) {
            return x.transpose(0, 2).reshape({6, 4});
          })},
         {"expand", view([](const Tensor& x) {
            return x.expand({3, 2, 4}) * 2;
          })},
         {"flatten", view([](const Tensor& x) { return x.flatten(1) * 2; })},
         {"narrow,select", view([](const Tensor& x) { return x.narrow(1, 1, 2).select(2, 3); })},
         {"unsqueeze,squeeze", view([](const Tensor& x) { return x.unsqueeze(1).squeeze(2) * 2; })}});
}

}  // namespace
}  // namespace minnow::test
