// Layers, without optimizers and data.
#include <cstdio>
#include <minnow/nn/layers/linear.h>
#include <minnow/tensor/create.h>

int main() {
  using namespace minnow;
  nn::Linear layer(3, 2);
  const Tensor y = layer(ones({4, 3}));
  std::printf("%s\n", to_string(y).c_str());
  return y.shape() != Shape{4, 2};
}
