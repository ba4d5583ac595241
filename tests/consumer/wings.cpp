// A user's project that names the libraries over minnow.
#include <minnow/distributions/distributions.h>
#include <minnow/minnow.h>
#include <minnow/tensorboard/tensorboard.h>
#include <minnow/text/text.h>
#include <minnow/vision/vision.h>

#include <cstdio>

int main() {
  using namespace minnow;
  const auto tokens = text::ByteTokenizer().encode("minnow");
  vision::write_png(full({1, 2, 3}, 7, uint8), "wings.png");
  const Tensor image = vision::read_image("wings.png");
  const double p = distributions::Normal(0, 1).log_prob(tensor(0.0)).item<double>();
  tensorboard::Writer writer("wings-run");
  writer.add_scalar("p", p, 1);
  const auto scalars = tensorboard::read_scalars(writer.path());
  std::printf("%zu tokens, a pixel of %lld, log p = %.3f\n", tokens.size(),
              static_cast<long long>(sum(image).item<std::int64_t>() / image.numel()), p);
  return tokens.size() == 6 && sum(image).item<std::int64_t>() == 42 && p < -0.9 && p > -0.92 && scalars.size() == 1
             ? 0
             : 1;
}
