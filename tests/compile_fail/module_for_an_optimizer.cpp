// expect: an optimizer takes the parameters of a module: net.parameters\(\)
// messages: 4
#include <minnow/nn/layers/linear.h>
#include <minnow/optim/optimizers.h>

using namespace minnow;

void train(nn::Linear& net) {
  optim::Adam good(net.parameters(), {.lr = 1e-3});
  optim::Adam module(net);                     // must not compile
  optim::SGD options(net, {.momentum = 0.9});  // must not compile
  optim::SGD number(net, 1e-3);                // must not compile
}
