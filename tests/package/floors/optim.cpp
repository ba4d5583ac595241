// Optimizers, without layers and data.
#include <cstdio>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>

int main() {
  using namespace minnow;
  Tensor x = ones({2});
  x.requires_grad_();
  optim::SGD optimizer({x}, {.lr = 0.5});
  sum(x).backward();
  optimizer.step();
  std::printf("%s\n", to_string(x).c_str());
  return x(0).item() != 0.5;
}
