#include "workloads/models.h"

#include <cmath>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>

namespace bench {

using namespace minnow;

nn::Sequential mlp() { return nn::Sequential(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)); }

nn::Sequential cnn() {
  return nn::Sequential(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Dropout(0.25), nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Dropout(0.5),
                        nn::Linear(128, 10));
}

void place(const Settings& s, nn::Sequential& model) {
  model.to(Device(s.device));
  const NoGradGuard no_grad;
  double scale = 1;
  std::uint32_t seed = 100;
  for (const Tensor& p : model.parameters()) {
    if (p.dim() > 1) scale = 1 / std::sqrt(static_cast<double>(p.numel() / p.size(0)));
    copy_(p, formula(s, seed++, p.shape(), scale));
  }
}

Tensor digit_labels(const Settings& s, std::int64_t n) {
  const Tensor labels = empty({n}, {DType::int64});
  for (std::int64_t i = 0; i < n; ++i) labels.data<std::int64_t>()[i] = i * 7 % 10;
  return labels.to(Device(s.device));
}

}  // namespace bench
