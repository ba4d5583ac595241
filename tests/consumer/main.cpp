// What a user's project does with the package: include the umbrella, link the target, compute something.
#include <minnow/minnow.h>

#include <cstdio>

int main() {
  std::printf("minnow %s\n", MINNOW_VERSION);
  return 0;
}
