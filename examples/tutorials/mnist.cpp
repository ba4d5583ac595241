// The fourth tutorial: docs/tutorials/mnist.md.  `mnist files` takes the real digits, `mnist` draws some.
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

// [net]
struct Net : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 16, 3, {.padding = 1}));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(16, 32, 3, {.padding = 1}));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.25));
  nn::Linear fc = child("fc", nn::Linear(32 * 7 * 7, 10));

  Tensor forward(const Tensor& images) override {   // [N, 1, 28, 28]
    Tensor x = max_pool2d(relu(conv1(images)), 2);  // [N, 16, 14, 14]
    x = max_pool2d(relu(conv2(x)), 2);              // [N, 32, 7, 7]
    return fc(dropout(x.flatten(1)));               // [N, 10]
  }
};
// [end]

template <class F> void show_error(F&& mistake) {
  try {
    mistake();
    throw std::logic_error("the mistake was accepted");
  } catch (const Error& error) { std::cout << error.what() << '\n'; }
}

int main(int argc, char** argv) {
  const bool files = argc > 1 && std::string(argv[1]) == "files";
  if (files) {
    try {
      data::mnist("test");
    } catch (const IoError& error) {
      std::cerr << error.what() << '\n';
      return 77;  // its test is skipped
    }
  }
  manual_seed(1);

  section("device");
  // [device]
  const Device device = cuda::is_available() ? Device("cuda") : Device("sim");
  std::cout << "training on " << device << '\n';
  // [end]

  const auto digits = [&](const char* split, std::int64_t count,
                          std::int64_t first) -> data::ImageDataset {
    if (files) return data::mnist(split);
    return data::SyntheticDigits(count, {.first = first});
  };
  const data::ImageDataset train_set = digits("train", 6000, 0),
                           test_set = digits("test", 1000, 1'000'000);

  section("train");
  // [train]
  data::DataLoader train(train_set, {.batch_size = 64, .shuffle = true, .device = device});
  data::DataLoader test(test_set, {.batch_size = 500, .device = device});

  Net net;
  net.to(device);                                    // parameters move to the device ...
  optim::Adam adam(net.parameters(), {.lr = 1e-3});  // ... before or after the optimizer is made

  for (int epoch = 1; epoch <= 2; ++epoch) {
    net.train();  // dropout is on
    metrics::Mean mean_loss;
    for (auto& [images, labels] : train) {  // both are on the device already
      const Tensor loss = nn::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      mean_loss.update(loss);  // does not wait for the device
    }
    net.eval();  // dropout is off
    const NoGradGuard no_grad;
    metrics::Accuracy accuracy;
    for (auto& [images, labels] : test) accuracy.update(net(images), labels);
    std::printf("epoch %d: loss %.3f, %.2f %% of the test digits are right\n", epoch,
                mean_loss.value(), 100 * accuracy.value());
  }
  // [end]

  section("overlap");
  // [overlap]
  const data::LoaderStats stats = train.stats();
  std::printf("%lld batches were copied\n", static_cast<long long>(stats.batches));
  // [end]

  section("errors");
  // [errors]
  const Tensor image = rand({1, 1, 28, 28});  // on the CPU
  show_error([&] { net(image); });
  const Tensor there = image.to(device);
  show_error([&] { there.data<float>(); });  // a pointer that the CPU cannot follow
  // [end]

  section("pinned");
  // [pinned]
  const Tensor batch =
      rand({64, 1, 28, 28}).pin_memory();  // memory that a device can copy by itself
  const Tensor moved = batch.to(device, {.non_blocking = true});
  const NoGradGuard no_grad;
  const Tensor scores = net(moved);  // computed when the copy is done
  std::cout << scores.shape() << ' ' << scores.device() << '\n';
  // [end]
}
