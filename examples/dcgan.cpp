// A generative adversarial network of convolutions (Radford et al. 2015) draws
// digits:  ./run dcgan --out digits.png
#include <cstdio>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>

#include "support/program.h"

using namespace minnow;

namespace {

constexpr std::int64_t kCodes = 32, kWidth = 16;

/// Codes [N, kCodes, 1, 1]  ->  images [N, 1, 28, 28] in [-1, 1].
nn::Sequential make_generator() {
  return nn::Sequential(
      nn::ConvTranspose2d(kCodes, 2 * kWidth, 7, {.bias = false}), nn::BatchNorm2d(2 * kWidth), nn::ReLU(),
      nn::ConvTranspose2d(2 * kWidth, kWidth, 4, {.stride = 2, .padding = 1, .bias = false}), nn::BatchNorm2d(kWidth),
      nn::ReLU(), nn::ConvTranspose2d(kWidth, 1, 4, {.stride = 2, .padding = 1}), nn::Tanh());
}

/// Images  ->  [N, 1], positive for those that are taken for real ones.
nn::Sequential make_discriminator() {
  return nn::Sequential(nn::Conv2d(1, kWidth, 4, {.stride = 2, .padding = 1}), nn::LeakyReLU(0.2),
                        nn::Conv2d(kWidth, 2 * kWidth, 4, {.stride = 2, .padding = 1, .bias = false}),
                        nn::BatchNorm2d(2 * kWidth), nn::LeakyReLU(0.2), nn::Flatten(), nn::Linear(2 * kWidth * 49, 1));
}

/// Radford et al.: normal, with a standard deviation of 0.02; of norms
/// around 1.
void set_weights(nn::Module& net) {
  for (const auto& [name, p] : net.named_parameters())
    if (p.dim() > 1) nn::init::normal_(p, 0, 0.02);
}

/// The correlation of two images, in percent.
double correlation(const Tensor& a, const Tensor& b) {
  const Tensor x = (a - a.mean()).flatten(), y = (b - b.mean()).flatten();
  return 100 * cosine_similarity(x, y, 0).item();
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 3;
  std::string out = "dcgan.png";
  Program program("Trains a generative adversarial network on synthetic digits.");
  program.option("--epochs", epochs, "passes over the digits");
  program.image("--out", out, "PNG file of digits that the network draws");
  return program.run(argc, argv, [&](Device device) {
    data::DataLoader train(data::SyntheticDigits(4000, {.mean = 0.5, .std = 0.5}),
                           {.batch_size = 64, .shuffle = true, .drop_last = true, .device = device});
    nn::Sequential generator = make_generator(), discriminator = make_discriminator();
    for (nn::Sequential* net : {&generator, &discriminator}) {
      set_weights(*net);
      net->to(device);
    }
    optim::Adam of_generator(generator.parameters(), {.lr = 1e-3, .betas = {0.5, 0.999}});
    optim::Adam of_discriminator(discriminator.parameters(), {.lr = 5e-4, .betas = {0.5, 0.999}});
    const Tensor ones_ = ones({64, 1}, device), zeros_ = zeros({64, 1}, device);
    const auto loss_of = [](const Tensor& x, const Tensor& y) { return nn::binary_cross_entropy_with_logits(x, y); };
    Tensor real_mean;
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      double judged = 0, made = 0;
      for (auto& [images, labels] : train) {
        const Tensor fakes = generator(randn({64, kCodes, 1, 1}, device));
        const Tensor judges = loss_of(discriminator(images), ones_) + loss_of(discriminator(fakes.detach()), zeros_);
        of_discriminator.zero_grad();
        judges.backward();
        of_discriminator.step();

        const Tensor makes = loss_of(discriminator(fakes), ones_);
        of_generator.zero_grad();
        makes.backward();
        of_generator.step();
        judged = judges.item(), made = makes.item();
        real_mean = real_mean.defined() ? 0.95 * real_mean + 0.05 * images.mean(0) : images.mean(0);
      }
      std::printf("epoch %lld: loss of the discriminator %.2f, of the generator %.2f\n", static_cast<long long>(epoch),
                  judged, made);
    }
    const NoGradGuard no_grad;
    const Tensor fakes = generator(randn({64, kCodes, 1, 1}, device));
    vision::save_image(fakes / 2 + 0.5, out);
    const double score = correlation(fakes.mean(0), real_mean);
    std::printf(
        "the mean of its digits and the mean of real ones correlate by "
        "%.0f %%; see %s\n",
        score, out.c_str());
    return score;
  });
}
