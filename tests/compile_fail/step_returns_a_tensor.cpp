// expect: a step returns a tensor or nothing
// messages: 4
// The caller reads the result of a captured step after each run.
#include <minnow/tensor/runtime/captured_step.h>

using namespace minnow;

void capture() {
  CapturedStep good([](const Tensor& x) { return x; });
  CapturedStep number([](const Tensor& x) { return x.item<double>(); });  // must not compile
}
