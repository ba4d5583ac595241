// The first tutorial: docs/tutorials/tensors.md.
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

int main() {
  section("make");
  // [make]
  const Tensor a = tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  const Tensor zero = zeros({2, 3});
  const Tensor count = arange(6).reshape({2, 3});
  std::cout << a << '\n' << count << '\n';
  std::cout << a.shape() << ' ' << a.dtype() << ' ' << a.device() << '\n';
  std::cout << count.shape() << ' ' << count.dtype() << ' ' << count.device() << '\n';
  // [end]

  section("arithmetic");
  // [arithmetic]
  std::cout << a * 2 + 1 << '\n';         // each element
  std::cout << exp(-a) << '\n';           // functions too
  std::cout << (a > 2.5) << '\n';         // comparisons give bool
  std::cout << matmul(a, a.t()) << '\n';  // the product of matrices: [2, 3] times [3, 2]
  // [end]

  section("broadcast");
  // [broadcast]
  const Tensor row = tensor({10.0f, 20.0f, 30.0f});    // [3]
  const Tensor column = tensor({{100.0f}, {200.0f}});  // [2, 1]
  std::cout << a + row << '\n' << a + column << '\n';
  // [end]

  section("index");
  // [index]
  std::cout << a(0) << '\n';              // the first row
  std::cout << a(all, 1) << '\n';         // the second column
  std::cout << a(all, slice(1)) << '\n';  // columns from 1 on
  std::cout << a(a > 2.5) << '\n';        // where a condition holds
  Tensor b = a.clone();
  b(0) = 0;  // what was selected can be written
  b(all, 2) += 10;
  std::cout << b << '\n';
  // [end]

  section("reduce");
  // [reduce]
  std::cout << a.sum() << ' ' << a.mean() << '\n';  // of all elements
  std::cout << a.sum(0) << '\n';                    // along dimension 0: a sum for each column
  std::cout << a.argmax(1) << '\n';  // along dimension 1: where the largest of each row is
  // [end]

  section("read");
  // [read]
  const double total = a.sum().item();                      // one element
  const std::vector<float> numbers = a.to_vector<float>();  // all of them
  std::cout << total << ' ' << numbers[4] << '\n';
  // [end]

  section("share");
  // [share]
  Tensor original = zeros({3});
  Tensor same = original;          // a handle to the same memory
  Tensor copy = original.clone();  // memory of its own
  same(0) = 1;
  copy(1) = 1;
  std::cout << original << ' ' << copy << '\n';
  // [end]

  section("error");
  // [error]
  try {
    std::cout << a + ones({2, 4});
  } catch (const Error& error) { std::cout << error.what() << '\n'; }
  // [end]
}
