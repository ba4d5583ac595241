// expect: nodiscard
// to(), cpu() and so on return another tensor; the tensor itself does not move.
#include <minnow/tensor/tensor.h>

void move(const minnow::Tensor& t) {
  t.to("cuda:0");         // must not compile
  t.to(minnow::float64);  // must not compile
  t.cpu();                // must not compile
  t.cuda();               // must not compile
  t.contiguous();         // must not compile
  t.clone();              // must not compile
  t.detach();             // must not compile
  (void)t;
}
