// Distributions, without layers, optimizers and data.
#include <cstdio>
#include <minnow/distributions/continuous.h>
#include <minnow/tensor/create.h>

int main() {
  using namespace minnow;
  const distributions::Normal p(0, 1);
  std::printf("%s\n", to_string(p.sample({3})).c_str());
  return kl_divergence(p, p).item() != 0;
}
