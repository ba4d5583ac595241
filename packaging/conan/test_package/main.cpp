// A user's project: it includes minnow.h, links the target and computes something.
#include <minnow/minnow.h>

#include <cstdio>

int main() {
  using namespace minnow;
  Tensor x = full({2, 3}, 2.0).requires_grad_();
  sum(x * x).backward();
  const double slope = x.grad().to_vector<double>()[5];
  std::printf("minnow %s: d(x x)/dx at 2 is %g\n", MINNOW_VERSION, slope);
  return slope == 4.0 ? 0 : 1;
}
