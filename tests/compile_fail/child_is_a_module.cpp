// expect: child\(\) registers a module
// messages: 4
// A tensor is registered by parameter() or buffer().
#include <minnow/nn/layers/linear.h>
#include <minnow/tensor/create.h>

using namespace minnow;

struct Net : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(3, 4));
  Tensor scale = child("scale", ones({3}));  // must not compile
};

void make() { Net net; }
