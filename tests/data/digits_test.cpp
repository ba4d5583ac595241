#include <gtest/gtest.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

/// Test accuracy of a model that was trained on digits for some epochs.
double accuracy(nn::Module& model, const data::SyntheticDigits& train, const data::SyntheticDigits& test) {
  optim::Adam adam(model.parameters(), {.lr = 2e-3});
  data::DataLoader loader(train, {.batch_size = 50, .shuffle = true, .seed = 1});
  for (int epoch = 0; epoch < 4; ++epoch)
    for (auto& [images, labels] : loader) {
      const Tensor loss = nn::cross_entropy(model(images.flatten(1)), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  const NoGradGuard no_grad;
  for (auto& [images, labels] : data::DataLoader(test, {.batch_size = test.size()}))
    return sum(argmax(model(images.flatten(1)), 1) == labels).item() / static_cast<double>(test.size());
  return 0;
}

TEST(SyntheticDigits, AnMlpBeatsALinearModel) {
  manual_seed(1);
  const int threads = num_threads();
  set_num_threads(1);  // steps are too small for several threads
  const data::SyntheticDigits train(4000), test(1000, {.first = 1'000'000});
  nn::Sequential linear(nn::Linear(784, 10));
  nn::Sequential mlp(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
  const double simple = accuracy(linear, train, test), deep = accuracy(mlp, train, test);
  EXPECT_GT(simple, 0.5);  // better than chance
  EXPECT_GT(deep, simple + 0.08) << "linear " << simple << ", MLP " << deep;
  set_num_threads(threads);
  std::printf("SyntheticDigits: linear %.3f, MLP %.3f\n", simple, deep);
}

TEST(SyntheticDigits, ClassesAreUniformAndPixelsAreNormalized) {
  const data::SyntheticDigits digits(5000);
  EXPECT_EQ(digits.classes(), 10);
  EXPECT_EQ(digits.images().shape(), (Shape{5000, 1, 28, 28}));
  std::vector<double> counts(10);
  for (const auto label : digits.labels().span<std::int64_t>()) ++counts.at(static_cast<std::size_t>(label));
  for (const double count : counts) EXPECT_NEAR(count, 500, 90);
  data::DataLoader whole(digits, {.batch_size = 5000});
  for (auto& [images, labels] : whole) {
    EXPECT_NEAR(mean(images).item(), 0, 0.1);
    EXPECT_NEAR(stddev(images).item(), 1, 0.1);
  }
}

}  // namespace
}  // namespace minnow
