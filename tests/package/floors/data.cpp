// Datasets and the loader, without layers and optimizers.
#include <cstdio>
#include <minnow/data/loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/tensor/create.h>

int main() {
  using namespace minnow;
  data::DataLoader loader(data::TensorDataset{arange(6)}, {.batch_size = 2});
  int batches = 0;
  for (const auto& [x] : loader) batches += x.shape() == Shape{2};
  std::printf("%d batches\n", batches);
  return batches != 3;
}
