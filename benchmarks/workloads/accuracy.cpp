#include <chrono>
#include <minnow/data/mnist.h>
#include <minnow/minnow.h>
#include "workloads/models.h"

// Seconds until the CNN, trained on MNIST with Adam in batches of 64, has 99 % on the test images.  A test every half
// epoch, which counts.

namespace bench {
namespace {

using namespace minnow;

struct Digits {
  Tensor images, labels;

  Digits(const Settings& s, const char* part) {
    const auto dataset = data::mnist(part, {.root = s.data});
    data::DataLoader loader(dataset, {.batch_size = static_cast<std::int64_t>(dataset.size())});
    for (const auto& [x, y] : loader) images = x, labels = y;
  }
};

double accuracy(const nn::Sequential& model, const Digits& test) {
  const NoGradGuard no_grad;
  double right = 0;
  for (std::int64_t at = 0; at < test.labels.size(0); at += 500)
    right += sum(eq(argmax(model(test.images.narrow(0, at, 500)), 1), test.labels.narrow(0, at, 500))).item();
  return 100 * right / static_cast<double>(test.labels.size(0));
}

}  // namespace

Ready time_to_accuracy(const Settings& s) {
  const Digits train(s, "train"), test(s, "test");
  manual_seed(static_cast<std::uint64_t>(s.seed));
  nn::Sequential model = cnn();
  optim::Adam adam(model.parameters(), {.lr = 1e-3});
  Ready done;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < 10; ++epoch) {
    const Tensor order = randperm(train.labels.size(0));
    for (std::int64_t i = 0; i * 64 < order.size(0); ++i) {
      const Tensor chosen = order.narrow(0, i * 64, std::min<std::int64_t>(64, order.size(0) - i * 64));
      const Tensor loss =
          nn::cross_entropy(model(index_select(train.images, 0, chosen)), index_select(train.labels, 0, chosen));
      adam.zero_grad();
      loss.backward();
      adam.step();
      if (i % 469 != 468) continue;
      model.eval();
      done.values.push_back(accuracy(model, test));
      model.train();
      if (done.values.back() < 99) continue;
      done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return done;
    }
  }
  throw std::runtime_error("99 % was not reached in 10 epochs");
}

}  // namespace bench
