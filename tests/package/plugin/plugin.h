#pragma once
// What the application of this test calls in its plugin.
#include <minnow/minnow.h>

struct Plugin {
  bool (*records)();
  minnow::Tensor (*random)();
  minnow::Tensor (*cube)(const minnow::Tensor& x);
  std::string (*current_sim)();
  void (*fail)();
};
