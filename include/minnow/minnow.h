#pragma once
// All of minnow that is for users.

#if __cplusplus < 202002L
#error minnow needs C++20: compile with -std=c++20 or later
#else  // without the includes, whose messages would hide this one

#define MINNOW_VERSION "0.1.0"

#include <minnow/tensor/activation.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/half.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/index.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/metadata.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/io/save.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/profile/memory_report.h>
#include <minnow/tensor/profile/module_table.h>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/profile/step_times.h>
#include <minnow/tensor/profile/trace.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/captured_step.h>
#include <minnow/tensor/runtime/cuda_math.h>
#include <minnow/tensor/runtime/deterministic.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/runtime/threads.h>
#include <minnow/tensor/runtime/warning.h>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>
#include <minnow/tensor/storage.h>
#include <minnow/tensor/tensor.h>

#include <minnow/autograd/anomaly.h>
#include <minnow/autograd/autocast.h>
#include <minnow/autograd/checkpoint.h>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/functional.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/hook_handle.h>
#include <minnow/autograd/record.h>
#include <minnow/autograd/row_gradient.h>
#include <minnow/autograd/saved.h>

#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/prelu.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/fft.h>
#include <minnow/ops/indexing/embedding_bag.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/indexing/segments.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/layer_norm.h>
#include <minnow/ops/norms/local_response_norm.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/pair.h>
#include <minnow/ops/products/attention.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/products/rope.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/random/sample.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/ops/signal.h>

#include <minnow/nn/attention/transformer.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/batch_norm.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/dropout.h>
#include <minnow/nn/layers/embedding.h>
#include <minnow/nn/layers/layer_norm.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/layers/padding.h>
#include <minnow/nn/layers/pairs.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/layers/prelu.h>
#include <minnow/nn/layers/resample.h>
#include <minnow/nn/losses/ctc_loss.h>
#include <minnow/nn/losses/likelihood_loss.h>
#include <minnow/nn/losses/linear_cross_entropy_loss.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/losses/margin_loss.h>
#include <minnow/nn/module/clone.h>
#include <minnow/nn/module/containers.h>
#include <minnow/nn/module/finite_check.h>
#include <minnow/nn/module/functional.h>
#include <minnow/nn/module/functional_call.h>
#include <minnow/nn/module/init.h>
#include <minnow/nn/module/module.h>
#include <minnow/nn/module/parameter.h>
#include <minnow/nn/module/parameter_vector.h>
#include <minnow/nn/module/parametrizations.h>
#include <minnow/nn/module/quantize.h>
#include <minnow/nn/module/replace.h>
#include <minnow/nn/module/save.h>
#include <minnow/nn/module/summary.h>
#include <minnow/nn/recurrent/packed_sequence.h>
#include <minnow/nn/recurrent/recurrent.h>

#include <minnow/optim/adafactor.h>
#include <minnow/optim/averaged_model.h>
#include <minnow/optim/clip.h>
#include <minnow/optim/composed_optimizer.h>
#include <minnow/optim/grad_scaler.h>
#include <minnow/optim/lbfgs.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/muon.h>
#include <minnow/optim/optimizer.h>
#include <minnow/optim/optimizers.h>

#include <minnow/data/batch.h>
#include <minnow/data/csv.h>
#include <minnow/data/dataset.h>
#include <minnow/data/file_dataset.h>
#include <minnow/data/idx.h>
#include <minnow/data/image_dataset.h>
#include <minnow/data/loader.h>
#include <minnow/data/loader_options.h>
#include <minnow/data/mnist.h>
#include <minnow/data/progress.h>
#include <minnow/data/random.h>
#include <minnow/data/sampler.h>
#include <minnow/data/stream_loader.h>
#include <minnow/data/subset.h>
#include <minnow/data/synthetic_digits.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>

#include <minnow/training/checkpoint.h>
#include <minnow/training/early_stopping.h>
#include <minnow/training/find_lr.h>
#include <minnow/training/history.h>
#include <minnow/training/interrupt.h>
#include <minnow/training/metrics.h>
#include <minnow/training/report.h>
#include <minnow/training/run.h>

#endif
