// expect: nodiscard
// A result that is not used is a mistake: these functions do not change their operands.
#include <minnow/minnow.h>

void drop(const minnow::Tensor& x) {
  x.add_(x);
  x + x;               // must not compile
  minnow::relu(x);     // must not compile
  x.exp();             // must not compile
  x.reshape({-1});     // must not compile
  x(0);                // must not compile
  minnow::zeros({2});  // must not compile
  minnow::sum(x);      // must not compile
  minnow::max(x, 0);   // must not compile
}
