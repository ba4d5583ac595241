// Training in float16 and bfloat16: forward, backward, step, save and load, on every device.

#include <filesystem>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <unistd.h>
#include <minnow/minnow.h>

namespace minnow {
namespace {

struct Small : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(1, 4, 3));
  nn::Linear fc = child("fc", nn::Linear(36, 3));
  Tensor forward(const Tensor& x) override { return fc(max_pool2d(relu(conv(x)), 2).flatten(1)); }
};

class HalfOn : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  static Device device() { return std::get<0>(GetParam()); }
  static DType dtype() { return std::get<1>(GetParam()); }
  /// The relative error of one rounding.
  static double step() { return dtype() == DType::float16 ? 0x1p-10 : 0x1p-7; }
};
INSTANTIATE_TEST_SUITE_P(Devices, HalfOn,
                         ::testing::Combine(test::all_devices(), ::testing::Values(DType::float16, DType::bfloat16)),
                         [](const auto& p) {
                           std::string name =
                               std::get<0>(p.param).str() + "_" + std::string(name_of(std::get<1>(p.param)));
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

/// Three classes, each with its own quarter of the image lit.
std::pair<Tensor, Tensor> lit_quarters() {
  Tensor images = rand({24, 1, 8, 8}) * 0.5;
  const Tensor labels = arange(24) % 3;
  for (std::int64_t i = 0; i < 24; ++i) {
    const std::int64_t y = i % 3 == 0 ? 0 : 4, x = i % 3 == 1 ? 0 : 4;
    add_(images(i, 0, slice(y, y + 4), slice(x, x + 4)), 1.0);
  }
  return {images, labels};
}

TEST_P(HalfOn, TrainsFromForwardToSavedWeights) {
  manual_seed(4);
  const auto [images, labels] = lit_quarters();
  Small exact;
  Small half = nn::clone(exact);
  half.to(device(), dtype());
  const Tensor x = images.to(device(), dtype()), y = labels.to(device());

  // One forward and backward are those of float32 within some roundings.
  const Tensor want = nn::cross_entropy(exact(images), labels), got = nn::cross_entropy(half(x), y);
  EXPECT_EQ(got.dtype(), dtype());
  EXPECT_NEAR(got.item(), want.item(), 8 * step());
  want.backward();
  got.backward();
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor g = half.parameters()[i].grad(), e = exact.parameters()[i].grad();
    EXPECT_EQ(g.dtype(), dtype());
    EXPECT_EQ(g.device(), device());
    const double largest = amax(abs(e)).item();
    EXPECT_LT(amax(abs(g.cpu().to(float32) - e)).item(), 8 * step() * largest + 1e-3)
        << half.named_parameters()[i].name;
  }

  optim::Adam adam(half.parameters(), {.lr = 0.01, .eps = 1e-4});
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    const Tensor loss = nn::cross_entropy(half(x), y);
    adam.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(half.parameters(), 5);
    adam.step();
    (i ? last : first) = loss.item();
  }
  EXPECT_LT(last, 0.2 * first);
  EXPECT_EQ(half.fc.weight.dtype(), dtype());
  EXPECT_EQ(sum(argmax(half(x), 1) == y).item(), 24);

  const auto path =
      std::filesystem::temp_directory_path() / ("minnow_half_" + std::to_string(::getpid()) + ".safetensors");
  save(half.state_dict(), path.string());
  const StateDict loaded = load(path.string(), device());
  std::filesystem::remove(path);
  Small again;
  again.to(device(), dtype());
  again.load_state_dict(loaded);
  for (const auto& [name, tensor] : half.state_dict()) {
    EXPECT_EQ(loaded.at(name).dtype(), dtype());
    EXPECT_EQ(loaded.at(name).to_vector<double>(), tensor.to_vector<double>()) << name;
  }
  EXPECT_EQ(again(x).to_vector<double>(), half(x).to_vector<double>());
}

TEST_P(HalfOn, MomentumAndWeightDecayStayNearFloat32) {
  manual_seed(5);
  const Tensor start = randn({300});
  const Tensor p = start.to(device(), dtype()).requires_grad_(), q = start.clone().requires_grad_();
  optim::SGD a({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  optim::SGD b({q}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  for (int i = 0; i < 5; ++i) {
    const Tensor g = randn({300});
    p.set_grad(g.to(device(), dtype()));
    q.set_grad(g);
    a.step();
    b.step();
  }
  EXPECT_EQ(p.dtype(), dtype());
  EXPECT_LT(amax(abs(p.detach().cpu().to(float32) - q.detach())).item(), 16 * step());
}

}  // namespace
}  // namespace minnow
