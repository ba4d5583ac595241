// A variational autoencoder (Kingma and Welling 2013) learns to draw digits:  ./run vae --out digits.png
#include <cstdio>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>

#include "support/program.h"

using namespace minnow;

namespace {

constexpr std::int64_t kCodes = 16;

struct Vae : nn::ModuleOf<std::tuple<Tensor, Tensor, Tensor>(Tensor)> {
  nn::Linear fc1 = child("fc1", nn::Linear(784, 256));
  nn::Linear mean = child("mean", nn::Linear(256, kCodes));
  nn::Linear log_variance = child("log_variance", nn::Linear(256, kCodes));
  nn::Sequential decoder = child("decoder", nn::Sequential(nn::Linear(kCodes, 256), nn::ReLU(), nn::Linear(256, 784)));

  /// Images [N, 784]  ->  logits of their pixels, mean and logarithm of the variance of their codes.
  std::tuple<Tensor, Tensor, Tensor> forward(Tensor x) override {
    const Tensor hidden = relu(fc1(x)), m = mean(hidden), v = log_variance(hidden);
    const Tensor code = is_training() ? m + exp(v / 2) * randn_like(m) : m;
    return {decoder(code), m, v};
  }
};

/// Cross-entropy of the pixels, and the codes' divergence from the standard normal distribution, for an image.
Tensor loss_of(const Tensor& logits, const Tensor& x, const Tensor& m, const Tensor& v) {
  const Tensor pixels = nn::binary_cross_entropy_with_logits(logits, x, {.reduction = nn::Reduction::sum});
  const Tensor divergence = -0.5 * sum(1 + v - square(m) - exp(v));
  return (pixels + divergence) / x.size(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 15;
  std::string out = "vae.png";
  Program program("Trains a variational autoencoder on synthetic digits, and draws others.");
  program.option("--epochs", epochs, "passes over the digits");
  program.image("--out", out, "PNG file: digits, what the network makes of them, and digits of its own");
  return program.run(argc, argv, [&](Device device) {
    const data::SyntheticDigitsOptions bytes{.mean = 0, .std = 1};
    data::DataLoader train(data::SyntheticDigits(5000, bytes),
                           {.batch_size = 64, .shuffle = true, .drop_last = true, .device = device});
    Vae net;
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = 1e-3});
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      Tensor total = zeros({}, device);
      for (auto& [images, labels] : train) {
        const Tensor x = images.flatten(1);
        const auto [logits, m, v] = net(x);
        const Tensor loss = loss_of(logits, x, m, v);
        adam.zero_grad();
        loss.backward();
        adam.step();
        total += loss.detach();
      }
      std::printf("epoch %lld: loss %.1f\n", static_cast<long long>(epoch), total.item() / (5000 / 64));
    }
    const NoGradGuard no_grad;
    net.eval();
    data::DataLoader test(data::SyntheticDigits(32, {.first = 1'000'000, .mean = 0, .std = 1}), {.batch_size = 32});
    double explained = 0;
    for (auto& [images, labels] : test) {
      const Tensor x = images.to(device).flatten(1);
      const Tensor again = sigmoid(std::get<0>(net(x)));
      explained = 100 * (1 - mean(square(again - x)).item() / mean(square(x - x.mean(0, true))).item());
      const Tensor own = sigmoid(net.decoder(randn({32, kCodes}, device)));
      vision::save_image(cat({x, again, own}).view({96, 1, 28, 28}), out, {.columns = 16});
    }
    std::printf("%.1f %% of the variance of new digits is in their codes; see %s\n", explained, out.c_str());
    return explained;
  });
}
