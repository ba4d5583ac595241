#include <minnow/autograd/ops/matmul.h>
#include <minnow/autograd/ops/softmax.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenOps : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenOps, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;

Tensor third(const Tensors& x) { return x.size() > 2 ? x[2] : Tensor(); }

TEST_P(GoldenOps, MatmulAgreesWithPyTorch) {
  const Book book("matmul", device());
  std::map<std::string, Case> cases;
  const Function linear_of = [](const Tensors& x) { return Tensors{linear(x[0], x[1], third(x))}; };
  for (const std::string& name : book.cases()) cases[name] = {name.starts_with("linear") ? linear_of : of(matmul)};
  EXPECT_GT(cases.size(), 16u);
  cases["transposed"] = {[](const Tensors& x) { return Tensors{matmul(x[0].mT(), x[1].mT())}; }};
  check(book, cases);
}

TEST_P(GoldenOps, SoftmaxAgreesWithPyTorch) {
  std::map<std::string, Case> cases;
  for (const auto& [name, op] :
       std::map<std::string, Tensor (*)(const In&, int)>{{"softmax", softmax}, {"log_softmax", log_softmax}}) {
    const auto along = [op = op](int dim) -> Case {
      return {[=](const Tensors& x) { return Tensors{op(x[0], dim)}; }};
    };
    for (const int dim : {0, 1, -1}) cases[name + "/" + std::to_string(dim)] = along(dim);
    cases[name + "/odd"] = along(1);
    cases[name + "/float64"] = cases[name + "/0-dim"] = along(0);
  }
  check(Book("softmax", device()), cases);
}

}  // namespace
}  // namespace minnow::test
