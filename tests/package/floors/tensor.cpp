// The lowest floor alone: tensors, views, kernels and files, without autograd.
#include <cstdio>
#include <minnow/tensor/create.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/print.h>
#include <minnow/tensor/raw/view.h>

int main(int, char** arguments) {
  using namespace minnow;
  const Tensor x = ones({2, 3}), y = raw::transpose(raw::reshape(arange(6), {3, 2}), 0, 1);
  save({{"sum", raw::binary(raw::kBinary<kernels::Add>, x, y)}}, arguments[1]);
  const Tensor sum = load(arguments[1]).at("sum");
  std::printf("%s\n", raw::to_string(sum).c_str());
  return sum.to_vector<float>() != std::vector<float>{1, 3, 5, 2, 4, 6};
}
