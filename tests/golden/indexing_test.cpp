#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/masked.h>
#include <minnow/autograd/ops/matmul.h>
#include <minnow/autograd/ops/reduce.h>
#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenIndexing : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenIndexing, all_devices(), device_test_name);

using Tensors = std::vector<Tensor>;

template <class F> Case one(F function) {
  return {[function](const Tensors& x) { return Tensors{function(x)}; }};
}

/// A copy of the first tensor that function writes to.
template <class F> Case written(F function) {
  return {[function](const Tensors& x) {
    Tensor y = x[0] * 1;
    function(y, x);
    return Tensors{y};
  }};
}

using Cases = std::map<std::string, Case>;

Cases reads() {
  return {{"get/rows", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/columns", one([](const Tensors& x) { return x[0](all, x[1]); })},
          {"get/last", one([](const Tensors& x) { return x[0](ellipsis, x[1]); })},
          {"get/matrix", one([](const Tensors& x) { return x[0][x[1]]; })},
          {"get/scalar", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/int32", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/two", one([](const Tensors& x) { return x[0](x[1], x[2]); })},
          {"get/two,inner", one([](const Tensors& x) { return x[0](all, x[1], x[2]); })},
          {"get/apart", one([](const Tensors& x) { return x[0](x[1], all, x[2]); })},
          {"get/broadcast", one([](const Tensors& x) { return x[0](x[1](all, newaxis), x[2]); })},
          {"get/beside integer", one([](const Tensors& x) { return x[0](1, x[1]); })},
          {"get/beside slice", one([](const Tensors& x) { return x[0](slice(1, 4, 2), newaxis, x[1]); })},
          {"get/mask", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/mask rows", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/mask inner", one([](const Tensors& x) { return x[0](all, x[1]); })},
          {"get/mask none", one([](const Tensors& x) { return x[0](x[1]); })},
          {"get/none", one([](const Tensors& x) { return x[0](x[1]); })}};
}

Cases writes() {
  return {{"put/row", written([](Tensor& y, const Tensors& x) { y(1) = x[1]; })},
          {"put/slice", written([](Tensor& y, const Tensors& x) { y(slice(1, 3), all, 2) = x[1]; })},
          {"put/broadcast", written([](Tensor& y, const Tensors& x) { y(slice(0, 3)) = x[1]; })},
          {"put/rows", written([](Tensor& y, const Tensors& x) { y(x[2]) = x[1]; })},
          {"put/columns", written([](Tensor& y, const Tensors& x) { y(all, x[2]) = x[1]; })},
          {"put/two", written([](Tensor& y, const Tensors& x) { y(x[2], x[3]) = x[1]; })},
          {"put/apart", written([](Tensor& y, const Tensors& x) { y(x[2], all, x[3]) = x[1]; })},
          {"put/inner slice", written([](Tensor& y, const Tensors& x) { y(slice(1, 4, 2), x[2]) = x[1]; })},
          {"put/mask", written([](Tensor& y, const Tensors& x) { y[x[2]] = x[1]; })},
          {"put/mask number", written([](Tensor& y, const Tensors& x) { y(x[1]) = -1.5; })},
          {"put/mask rows number", written([](Tensor& y, const Tensors& x) { y(x[1]) = 2; })},
          {"put/add", written([](Tensor& y, const Tensors& x) { y(x[2]) += x[1]; })}};
}

Cases masks_triangles_and_repeats() {
  Cases cases{{"masked_fill", one([](const Tensors& x) { return x[0].masked_fill(x[1], 2.5); })},
              {"masked_select", one([](const Tensors& x) { return masked_select(x[0], x[1]); })},
              {"masked_select/broadcast", one([](const Tensors& x) { return x[0].masked_select(x[1]); })},
              {"nonzero", one([](const Tensors& x) { return nonzero(x[0]); })},
              {"nonzero/scalar", one([](const Tensors& x) { return x[0].nonzero(); })},
              {"repeat", one([](const Tensors& x) {
                 return x[0].repeat({2, 1, 3});
               })},
              {"repeat/more", one([](const Tensors& x) {
                 return x[0].repeat({2, 1, 1, 2});
               })},
              {"flip", one([](const Tensors& x) {
                 return x[0].flip({0, -1});
               })},
              {"roll", one([](const Tensors& x) { return x[0].roll(2, -1); })},
              {"roll/back", one([](const Tensors& x) { return x[0].roll(-7, 0); })},
              {"mm", one([](const Tensors& x) { return mm(x[0], x[1]); })},
              {"bmm", one([](const Tensors& x) { return bmm(x[0], x[1]); })},
              {"mv", one([](const Tensors& x) { return mv(x[0], x[1]); })},
              {"dot", one([](const Tensors& x) { return dot(x[0], x[1]); })},
              {"outer", one([](const Tensors& x) { return outer(x[0], x[1]); })},
              {"lerp/number", one([](const Tensors& x) { return lerp(x[0], x[1], 0.3); })},
              {"add/alpha", one([](const Tensors& x) { return x[0].add(x[1], -0.5); })},
              {"sub/alpha", one([](const Tensors& x) { return x[0].sub(x[1], 2); })},
              {"max/two", one([](const Tensors& x) { return max(x[0], x[1]); })}};
  for (const int diagonal : {-2, 0, 1}) {
    cases["tril/" + std::to_string(diagonal)] = one([=](const Tensors& x) { return x[0].tril(diagonal); });
    cases["triu/" + std::to_string(diagonal)] = one([=](const Tensors& x) { return triu(x[0], diagonal); });
  }
  return cases;
}

TEST_P(GoldenIndexing, AgreesWithPyTorch) {
  Cases cases = reads();
  cases.merge(writes());
  cases.merge(masks_triangles_and_repeats());
  check(Book("indexing", device()), cases);
}

}  // namespace
}  // namespace minnow::test
