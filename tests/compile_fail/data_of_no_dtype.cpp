// expect: there is no dtype for this type
// Host access is typed: only a C++ type that is a dtype's own has data.
#include <minnow/tensor/tensor.h>

struct Mine {};

void read(const minnow::Tensor& t) {
  t.data<float>();
  t.data<Mine>();   // must not compile
  t.data<char*>();  // must not compile
}
