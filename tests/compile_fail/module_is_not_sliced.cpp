// expect: protected|deleted
// A module is copied with its own type, and a tensor does not become its parameter.
#include <minnow/nn/layers/linear.h>

void use(minnow::nn::Linear& a, minnow::nn::Linear& b, const minnow::Tensor& t) {
  minnow::nn::Module part = a;  // must not compile
  a = b;                        // must not compile
  a.weight = t;                 // must not compile
  minnow::nn::Parameter p(t);   // must not compile
}
