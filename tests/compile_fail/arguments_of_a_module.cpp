// expect: derive from nn::ModuleOf<Result\(Arguments...\)>
// messages: 4
// Arguments other than tensors need a ModuleOf.
#include <minnow/nn/layers/linear.h>

using namespace minnow;

void call(const nn::Linear& fc, const Tensor& x) {
  (void)fc(x);
  (void)fc(x, 3);  // must not compile
  (void)fc();      // must not compile
}
