// Before the snippets of each file (docs/snippets.py).
#include <iostream>
#include <minnow/minnow.h>

using namespace minnow;

namespace {
void run_snippet(const char* name, void (*snippet)()) {
  std::cout.copyfmt(std::ios(nullptr));  // as a program begins
  std::cout << '\x1e' << name << '\n';
  snippet();
  std::cout << std::flush;
}
}  // namespace
