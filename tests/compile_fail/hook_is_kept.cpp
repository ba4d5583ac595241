// expect: nodiscard|unused-result
// A hook is removed when its handle is destroyed.
#include <minnow/autograd/engine.h>
#include <minnow/nn/layers/linear.h>

using namespace minnow;

void hook(const Tensor& x, nn::Linear& fc) {
  register_hook(x, [](const Tensor& g) { return g; }).detach();
  const auto see = [](nn::Module&, const Tensor&, const Tensor&) {};
  (void)see;
  register_hook(x, [](const Tensor& g) { return g; });  // must not compile
  fc.register_forward_hook(see);                        // must not compile
}
