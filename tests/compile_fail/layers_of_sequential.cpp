// expect: nn::Sequential takes modules, and functions of one tensor
// messages: 4
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/containers.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/softmax.h>

using namespace minnow;

void build() {
  nn::Sequential good(
      nn::Linear(3, 4), relu, [](const Tensor& x) { return x; }, nn::Functional(softmax, 1));
  nn::Sequential number(nn::Linear(3, 4), 3);                      // must not compile
  nn::Sequential nothing(nn::Linear(3, 4), [](const Tensor&) {});  // must not compile
  nn::Sequential two(nn::Linear(3, 4), softmax);                   // must not compile
}
