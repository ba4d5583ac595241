// expect: the learning rate is called lr: \{\.lr = 1e-3\}
// messages: 4
#include <minnow/nn/layers/linear.h>
#include <minnow/optim/optimizers.h>

using namespace minnow;

void train(nn::Linear& net) {
  optim::Adam good(net.parameters(), {.lr = 1e-3}), none(net.parameters(), {}), rate(net.parameters(), {1e-3});
  optim::SGD two(net.parameters(), {0.1, 0.9}), named(net.parameters(), {.momentum = 0.9, .weight_decay = 1e-4});
  optim::Adam alone(net.parameters(), {.learning_rate = 1e-3});                         // must not compile
  optim::SGD more(net.parameters(), {.learning_rate = 0.1, .momentum = 0.9});           // must not compile
  optim::AdamW decay(net.parameters(), {.learning_rate = 1e-3, .weight_decay = 0.01});  // must not compile
}
