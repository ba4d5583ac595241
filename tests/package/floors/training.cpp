// Checkpoints, of tensors and numbers alone.
#include <cstdio>
#include <minnow/tensor/create.h>
#include <minnow/training/checkpoint.h>

int main(int, char** argv) {
  using namespace minnow;
  const std::string folder = std::string(argv[1]) + ".checkpoints";
  Tensor x = ones({2});
  int steps = 3;
  Checkpoint checkpoint(folder);
  checkpoint.add("x", x).add("steps", steps);
  checkpoint.save();
  x.fill_(5);
  steps = 4;
  const auto found = checkpoint.resume();
  std::printf("%s\n", found ? found->path.c_str() : "nothing");
  return !found || steps != 3 || x.to_vector<float>() != std::vector<float>{1, 1};
}
