// What `compare.py --start` measures: a process that makes a tensor, adds and prints, also its peak memory.

#include <fstream>
#include <iostream>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>

int main() {
  const minnow::Tensor x = minnow::tensor({1.0, 2.0, 3.0});
  std::cout << x + x << '\n';
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) std::cout << line << '\n';
}
