// expect: use of deleted function|overload resolution selected deleted operator
// Assignments to a temporary tensor would be lost.
#include <minnow/minnow.h>

void lose(minnow::Tensor x, const minnow::Tensor& y) {
  x(0) = y;
  x(0) += 1;
  x = minnow::relu(y);
  x.grad() = y;         // must not compile
  x.grad() = {};        // must not compile
  x.select(0, 1) = y;   // must not compile
  minnow::relu(x) = y;  // must not compile
  (x + y) += 1;         // must not compile
  x.view(-1) *= y;      // must not compile
}
