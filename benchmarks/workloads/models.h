#pragma once

#include <minnow/nn/module/containers.h>
#include "workloads/workloads.h"

namespace bench {

minnow::nn::Sequential mlp();
minnow::nn::Sequential cnn();

/// Moves a model to the device and gives it parameters by formula, uniform in ±1 / sqrt(inputs).
void place(const Settings& s, minnow::nn::Sequential& model);

/// Labels 0 to 9, the same in every implementation.
minnow::Tensor digit_labels(const Settings& s, std::int64_t n);

}  // namespace bench
