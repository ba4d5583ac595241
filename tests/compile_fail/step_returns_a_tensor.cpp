// expect: a step returns a tensor or nothing
// messages: 4
// The result of a captured step is read by its caller.
#include <minnow/tensor/captured_step.h>

using namespace minnow;

void capture() {
  CapturedStep good([](const Tensor& x) { return x; });
  CapturedStep number([](const Tensor& x) { return x.item<double>(); });  // must not compile
}
