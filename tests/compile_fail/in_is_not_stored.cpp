// expect: deleted
// An In refers to a tensor of the caller's expression: no copy, no assignment, no address, none on the heap.
#include <utility>
#include <vector>
#include <minnow/tensor/in.h>

struct Kept {
  minnow::In x;
};

void op(const minnow::In& a, minnow::In b) {
  b = a;                                      // must not compile
  auto p = &a;                                // must not compile
  new minnow::In(a.tensor);                   // must not compile
  Kept kept{a};                               // must not compile
  const auto late = [a] { return a.where; };  // must not compile
  minnow::In copy = std::move(b);             // must not compile
}
