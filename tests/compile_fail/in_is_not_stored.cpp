// expect: deleted
// An In refers to a tensor of the caller's expression: no assignment, no address, none on the heap.
#include <minnow/tensor/in.h>

void op(minnow::In a, minnow::In b) {
  a = b;                     // must not compile
  auto p = &a;               // must not compile
  new minnow::In(a.tensor);  // must not compile
  (void)b;
}
