// The lowest floor alone: tensors, views, kernels and files, without autograd.
#include <cstdio>
#include <minnow/tensor/create.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

int main(int, char** arguments) {
  using namespace minnow;
  const Tensor x = ones({2, 3}), y = raw::binary(raw::kBinary<kernels::Add>, x, raw::transpose(arange(6).reshape({3, 2}), 0, 1));
  save({{"y", y}}, arguments[1]);
  const Tensor again = load(arguments[1]).at("y");
  std::printf("%s\n", again.to_string().c_str());
  return again.item<float>() == 1;
}
