#pragma once
// All of minnow that is for users.

#define MINNOW_VERSION "0.1.0"

#include <minnow/tensor/captured_step.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/cuda_math.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/half.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/index.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/memory.h>
#include <minnow/tensor/profile.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>
#include <minnow/tensor/storage.h>
#include <minnow/tensor/stream.h>
#include <minnow/tensor/tensor.h>
#include <minnow/tensor/threads.h>
#include <minnow/tensor/transfer_report.h>
#include <minnow/tensor/warning.h>

#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/hook_handle.h>
#include <minnow/autograd/record.h>
#include <minnow/autograd/saved.h>

#include <minnow/ops/arithmetic.h>
#include <minnow/ops/attention.h>
#include <minnow/ops/batch_norm.h>
#include <minnow/ops/conv.h>
#include <minnow/ops/cross_entropy.h>
#include <minnow/ops/distance.h>
#include <minnow/ops/dropout.h>
#include <minnow/ops/einsum.h>
#include <minnow/ops/index.h>
#include <minnow/ops/layer_norm.h>
#include <minnow/ops/masked.h>
#include <minnow/ops/matmul.h>
#include <minnow/ops/pair.h>
#include <minnow/ops/pool.h>
#include <minnow/ops/rearrange.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/softmax.h>
#include <minnow/ops/statistics.h>
#include <minnow/ops/unary.h>

#include <minnow/nn/activation.h>
#include <minnow/nn/basic.h>
#include <minnow/nn/batch_norm.h>
#include <minnow/nn/clone.h>
#include <minnow/nn/containers.h>
#include <minnow/nn/conv.h>
#include <minnow/nn/embedding.h>
#include <minnow/nn/functional.h>
#include <minnow/nn/init.h>
#include <minnow/nn/layer_norm.h>
#include <minnow/nn/likelihood_loss.h>
#include <minnow/nn/linear.h>
#include <minnow/nn/loss.h>
#include <minnow/nn/margin_loss.h>
#include <minnow/nn/module.h>
#include <minnow/nn/parameter.h>
#include <minnow/nn/pool.h>
#include <minnow/nn/recurrent.h>
#include <minnow/nn/summary.h>
#include <minnow/nn/transformer.h>

#include <minnow/optim/averaged_model.h>
#include <minnow/optim/clip.h>
#include <minnow/optim/lbfgs.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizer.h>
#include <minnow/optim/optimizers.h>

#include <minnow/data/batch.h>
#include <minnow/data/dataset.h>
#include <minnow/data/idx.h>
#include <minnow/data/image_dataset.h>
#include <minnow/data/loader.h>
#include <minnow/data/loader_options.h>
#include <minnow/data/mnist.h>
#include <minnow/data/progress.h>
#include <minnow/data/random.h>
#include <minnow/data/sampler.h>
#include <minnow/data/subset.h>
#include <minnow/data/synthetic_digits.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
