// A training ends with the same bits for any number of threads of the CPU and of workers of the loader.
#include <cstring>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

/// Samples with noise of their own: what workers may not change.
struct Pictures {
  std::int64_t size() const { return 48; }
  std::pair<Tensor, std::int64_t> get(std::int64_t i, data::Random& random) const {
    const Tensor x = full({3, 16, 16}, static_cast<double>(i % 5) / 5);
    float* const pixels = x.data<float>();
    for (std::int64_t at = 0; at < x.numel(); ++at) pixels[at] += static_cast<float>(random.normal());
    return {x, i % 4};
  }
};

/// Words, of which a class is to be found.
struct Words {
  std::int64_t size() const { return 40; }
  std::pair<Tensor, std::int64_t> get(std::int64_t i) const { return {(arange(0, 24) * (i + 3)).remainder(50), i % 4}; }
};

struct ImageNet : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(3, 24, 3, {.padding = 1}));
  nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(24));
  nn::Conv2d depthwise = child("depthwise", nn::Conv2d(24, 24, 3, {.groups = 24}));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
  nn::Linear last = child("last", nn::Linear(24 * 7 * 7, 4));
  Tensor forward(const Tensor& x) override {
    const Tensor y = relu(depthwise(relu(norm(conv(x)))));
    return last(dropout(adaptive_avg_pool2d(y, 7).flatten(1)));
  }
};

struct TextNet : nn::Module {
  nn::Embedding words = child("words", nn::Embedding(50, 32));
  nn::TransformerEncoderLayer layer = child("layer", nn::TransformerEncoderLayer(32, 4));
  nn::LSTM lstm = child("lstm", nn::LSTM(32, 24));
  nn::LayerNorm norm = child("norm", nn::LayerNorm(24));
  nn::Linear last = child("last", nn::Linear(24, 4));
  Tensor forward(const Tensor& x) override {
    const Tensor y = std::get<0>(lstm(layer(words(x)).transpose(0, 1)));
    return last(norm(y.mean(0)));
  }
};

/// The bytes of parameters, buffers and the optimizer's state.
template <class Net, class Dataset> std::string trained(int threads, int workers, bool half) {
  set_num_threads(threads);
  manual_seed(11);
  Net net;
  optim::AdamW adam(net.parameters(), {.lr = 0.01});
  data::DataLoader loader{Dataset(), {.batch_size = 8, .shuffle = true, .num_workers = workers, .seed = 4}};
  for (int epoch = 0; epoch < 2; ++epoch)
    for (auto& [x, y] : loader) {
      adam.zero_grad();
      Tensor loss;
      {
        const Autocast autocast(bfloat16, {.enabled = half});
        loss = nn::cross_entropy(net(x), y);
      }
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 1);
      adam.step();
    }
  std::string bytes;
  for (const StateDict& dict : {net.state_dict(), adam.state_dict()})
    for (const auto& [name, t] : dict) {
      const Tensor c = t.contiguous();
      bytes.append(static_cast<const char*>(c.raw_data()), static_cast<std::size_t>(c.nbytes()));
    }
  return bytes;
}

template <class Net, class Dataset> void expect_same_bits() {
  const int before = num_threads();
  for (const bool half : {false, true}) {
    const std::string one = trained<Net, Dataset>(1, 0, half);
    for (const int threads : {1, 2, 3, 4, 5, 7, 8, 13, 16})
      EXPECT_TRUE((trained<Net, Dataset>(threads, threads % 5, half) == one))
          << threads << " threads, " << threads % 5 << " workers" << (half ? ", bfloat16" : "");
  }
  set_num_threads(before);
}

TEST(SameBits, OfATrainingOnImages) { expect_same_bits<ImageNet, Pictures>(); }
TEST(SameBits, OfATrainingOnWords) { expect_same_bits<TextNet, Words>(); }

}  // namespace
}  // namespace minnow
