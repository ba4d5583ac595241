// Several processes, in the seventh tutorial: docs/tutorials/speed.md.
#include <minnow/distributed/distributed.h>
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

int main() {
  // [ranks]
  const dist::Process process;                 // the first line of main()
  if (process.rank() == 0) section("epochs");  // [hidden]
  nn::Sequential net(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 10));
  net.to(process.device());
  dist::DataParallel parallel(net);  // one set of weights; backward averages gradients
  optim::Adam adam(net.parameters(), {.lr = 1e-3});

  const data::SyntheticDigits set(4000);
  data::DataLoader train(set, data::DistributedSampler(set.size(), process.rank(), process.size()),
                         {.batch_size = 32, .device = process.device()});
  for (int epoch = 0; epoch < 3; ++epoch) {
    metrics::Accuracy accuracy;
    for (auto& [images, labels] : train) {
      const Tensor scores = net(images);
      const Tensor loss = nn::cross_entropy(scores, labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      accuracy.update(scores, labels);
    }
    const double right = dist::joined(accuracy).value();  // of all ranks
    if (process.rank() == 0)
      std::printf("%d ranks, epoch %d: %.1f %%\n", process.size(), epoch, 100 * right);
  }
  // [end]
}
