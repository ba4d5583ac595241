// Tensors and gradients, without layers, optimizers and data.
#include <cstdio>
#include <minnow/autograd/engine.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

int main() {
  using namespace minnow;
  Tensor x = arange(3, {.dtype = float32});
  x.requires_grad_();
  sum(x * x).backward();
  std::printf("%s\n", to_string(x.grad()).c_str());
  return x.grad()(2).item() != 4;
}
